//! Rules that would have let the refused calls through.

use serde_json::Value as Json;

use super::super::{Column, Entry as Listed, Line, Report, Shown, Table, Tone, Unit, Value, View, heads};
use super::input_of;
use crate::{
    facts::{
        ledger::{Call as Made, End},
        trace::permission::subject,
    },
    permission::{self, Breadth, Call, Suggested, Suggestions},
};

pub(in crate::report) const ENTRY: Listed = Listed::rows(
    "suggestions",
    "Allow rules that would have let refused calls through, and calls that get none, with the reason.",
    || heads(&columns()),
);

#[derive(Clone, Default)]
struct Row {
    rule: Value,
    calls: u64,
    covers: Vec<Value>,
    what: Value,
    warning: Value,
    places: Vec<Value>,
}

fn columns() -> Vec<Column<Row>> {
    vec![
        Column::new(
            Unit::Text,
            "rule",
            "Rule",
            "The rule to allow; missing for calls that get none.",
            |row: &Row| row.rule.clone(),
        ),
        Column::new(Unit::Count, "calls", "Calls", "Refused calls that it covers.", |row: &Row| {
            row.calls.into()
        }),
        Column::new(
            Unit::Text,
            "what",
            "What",
            "What the first of them was called with. This is content.",
            |row: &Row| row.what.clone(),
        )
        .shown(Shown::Roomy),
        Column::new(
            Unit::Text,
            "warning",
            "Mind",
            "What to think of before the rule is taken, or why there is none.",
            |row: &Row| row.warning.clone(),
        ),
        Column::new(Unit::List, "covers", "Covers", "Ids of the calls that it covers.", |row: &Row| {
            Value::List(row.covers.clone())
        })
        .shown(Shown::Data),
        Column::new(Unit::List, "places", "Places", "Where they were asked.", |row: &Row| {
            Value::List(row.places.clone())
        })
        .shown(Shown::Data),
    ]
}

/// Suggests rules of this breadth for the calls that were refused.
pub fn suggestions(view: &View<'_>, breadth: Breadth) -> Report {
    let denied: Vec<&Made> = view.ledger.calls.iter().filter(|call| call.end == End::Denied).collect();
    let inputs: Vec<Json> = denied.iter().map(|call| input_of(call)).collect();
    let project = |call: &Made| view.session(&call.mark).and_then(|session| session.project.as_deref());
    let calls: Vec<Call<'_>> = denied
        .iter()
        .zip(&inputs)
        .map(|(call, input)| Call { tool: &call.tool, input, cwd: project(call) })
        .collect();
    let suggested = permission::suggest(&calls, breadth, None);
    let row = |calls: &[usize], rule: Value, warning: Value| {
        let made: Vec<&Made> = calls.iter().filter_map(|&at| denied.get(at).copied()).collect();
        Row {
            rule,
            warning,
            calls: made.len() as u64,
            what: made.first().and_then(|call| subject(call)).into(),
            covers: made.iter().filter_map(|call| call.id.as_deref()).map(Value::text).collect(),
            places: made.iter().map(|call| view.place(call.mark.at)).collect(),
        }
    };
    let rules = suggested.rules.iter().map(|one| {
        row(&one.covers, one.rule.to_string().into(), one.warning.map_or(Value::Missing, Value::text))
    });
    let refused =
        suggested.refused.iter().map(|one| row(&[one.call], Value::Missing, one.reason.clone().into()));
    let rows: Vec<Row> = rules.chain(refused).collect();
    let table = Table::of("Suggested rules", &columns(), &rows).on_screen(30);
    Report::of(ENTRY.name, table, notes(&suggested, denied.is_empty()))
}

fn notes(suggested: &Suggestions, nothing: bool) -> Vec<Line> {
    if nothing {
        return vec![Line::new(Tone::Good).word("no call was refused: there is nothing to suggest")];
    }
    let mut notes = Vec::new();
    let (warned, safe): (Vec<Suggested>, Vec<Suggested>) =
        suggested.rules.iter().cloned().partition(|one| one.warning.is_some());
    if !warned.is_empty() {
        let many = warned.len() as u64;
        let line = Line::new(Tone::Warning).count(many, " rule needs", " rules need");
        notes.push(line.word(" a second look, and is not among those below"));
    }
    let refused = suggested.refused.len() as u64;
    if refused > 0 {
        notes
            .push(Line::new(Tone::Warning).count(refused, " call gets", " calls get").word(" no suggestion"));
    }
    if !safe.is_empty() {
        let rules: Vec<String> =
            safe.iter().map(|one| Json::from(one.rule.to_string()).to_string()).collect();
        // With blanks, at which a narrow screen can break it.
        let snippet = format!("{{\"permissions\": {{\"allow\": [{}]}}}}", rules.join(", "));
        notes.push(Line::new(Tone::Plain).word("for settings.json: ").value(snippet));
        notes.push(Line::new(Tone::Plain).word("for the command: ").value(permission::allowed_tools(&safe)));
    }
    notes
}
