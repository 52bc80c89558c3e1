//! Suggests rules that would have allowed the denied calls.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use serde_json::Value as Json;

use super::super::{
    Column, Line, Report, ReportSpec, Table, Tone, Value, View, column::columns, heads, spec::CALLED,
};
use super::input_of;
use crate::{
    facts::{
        Detail,
        ledger::{Call as RecordedCall, CallIndex, End},
        trace::permission::{decisions, subject},
    },
    permission::{self, Breadth, Call, Suggested},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| suggestions(view, Breadth::Exact)),
    keeps: CALLED.and(Detail::DECISIONS),
    sample: &["permissions", "--suggest"],
    ..ReportSpec::rows(
        "suggestions",
        "Suggested allow rules for denied calls, and denied calls without a rule, with the reason.",
        || heads(&columns()),
    )
};

#[derive(Clone, Default)]
struct Row {
    rule: Value,
    calls: u64,
    runs: u64,
    covers: Vec<Value>,
    what: Value,
    warning: Value,
    places: Vec<Value>,
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text rule "Rule" "Allow rule; missing for calls without a rule." => &row.rule;
        count calls "Calls" "Denied calls that it covers." => row.calls;
        count runs "Runs" [wide] "Runs with such calls; rules that help the most runs come first." => row.runs;
        text what "First input" [wide] "Input of the first of these calls. This is content." => &row.what;
        text warning "Note" "What to consider before using the rule, or why there is none." => &row.warning;
        list covers "Covers" [data] "Ids of the calls that it covers." => Value::List(row.covers.clone());
        list places "Places" [data] "Locations of the calls." => Value::List(row.places.clone());
    }
}

/// Why a call of a lean log gets no rule.
const NO_INPUT: &str = "a lean archive keeps no input of calls";

/// Suggests rules of this breadth for denied calls. Calls that no rule can allow get the reason instead.
pub fn suggestions(view: &View<'_>, breadth: Breadth) -> Report {
    let (decisions, _) = decisions(view.ledger);
    let denied = view.ledger.calls.iter().zip(&decisions).filter(|(call, _)| call.end == End::Denied);
    let (blocked, denied): (Vec<_>, Vec<_>) = denied.partition(|(_, decision)| decision.obstacle.is_some());
    let (lean, denied): (Vec<_>, Vec<_>) =
        denied.into_iter().partition(|(call, _)| view.is_lean(&call.context));
    let denied: Vec<&RecordedCall> = denied.into_iter().map(|(call, _)| call).collect();
    let inputs: Vec<Json> = denied.iter().map(|call| input_of(call)).collect();
    let suggested = permission::suggest(&tested(view, &denied, &inputs), breadth, None);
    let made = |calls: &[usize]| calls.iter().filter_map(|&at| denied.get(at).copied()).collect::<Vec<_>>();
    let rules = suggested.rules.iter().map(|one| {
        let warning = one.warning.map_or(Value::Missing, Value::text);
        row(view, &made(&one.covers), one.rule.to_string().into(), warning)
    });
    let refused = suggested.refused.iter().map(|one| (made(&[one.call]), one.reason.clone()));
    let blocked = blocked
        .into_iter()
        .filter_map(|(call, decision)| Some((vec![call], decision.obstacle?.reason().to_owned())));
    let lean = lean.into_iter().map(|(call, _)| (vec![call], NO_INPUT.to_owned()));
    let refused: Vec<(Vec<&RecordedCall>, String)> = refused.chain(blocked).chain(lean).collect();
    let without = refused.iter().map(|(calls, reason)| row(view, calls, Value::Missing, (&**reason).into()));
    let mut rows: Vec<Row> = rules.chain(without).collect();
    rows.sort_by_key(|row| (row.rule == Value::Missing, Reverse(row.runs), Reverse(row.calls)));
    let table = Table::of("Suggested rules", &columns(), &rows).on_screen(30);
    let reasons = refused.iter().map(|(_, reason)| &**reason);
    let report = Report::of(SPEC.name, table, notes(&suggested.rules, reasons));
    // Notes say for people why calls have no rule.
    rows.retain(|row| row.rule != Value::Missing);
    if rows.is_empty() {
        return Report { screen: Vec::new(), ..report };
    }
    report.with_screen_rows(Table::of("Suggested rules", &columns(), &rows).on_screen(30))
}

/// Calls as rules see them.
fn tested<'a>(view: &View<'a>, calls: &[&'a RecordedCall], inputs: &'a [Json]) -> Vec<Call<'a>> {
    let project =
        |call: &RecordedCall| view.session(&call.context).and_then(|session| session.project.as_deref());
    let tested =
        |(call, input): (&&'a RecordedCall, &'a Json)| Call { tool: &call.tool, input, cwd: project(call) };
    calls.iter().zip(inputs).map(tested).collect()
}

/// The rules that would allow exactly these calls, or why no rule can. A compound command may need several.
pub(in crate::report) fn exact_rules(
    view: &View<'_>,
    denied: &[CallIndex],
) -> HashMap<CallIndex, Result<String, String>> {
    // The same input needs the same rules.
    let mut same: BTreeMap<(&str, u64), Vec<CallIndex>> = BTreeMap::new();
    let mut found: HashMap<CallIndex, Result<String, String>> = HashMap::new();
    for &at in denied {
        let call = &view.ledger.calls[at];
        if view.is_lean(&call.context) {
            found.insert(at, Err(NO_INPUT.to_owned()));
            continue;
        }
        same.entry((&*call.tool, call.input)).or_default().push(at);
    }
    let same: Vec<Vec<CallIndex>> = same.into_values().collect();
    let first: Vec<&RecordedCall> = same.iter().map(|all| &view.ledger.calls[all[0]]).collect();
    let inputs: Vec<Json> = first.iter().map(|call| input_of(call)).collect();
    let suggested = permission::suggest(&tested(view, &first, &inputs), Breadth::Exact, None);
    for one in &suggested.rules {
        for &call in one.covers.iter().flat_map(|&at| &same[at]) {
            let rules = found.entry(call).or_insert_with(|| Ok(String::new()));
            if let Ok(rules) = rules {
                let comma = if rules.is_empty() { "" } else { ", " };
                *rules = format!("{rules}{comma}{}", one.rule);
            }
        }
    }
    for one in suggested.refused {
        found.extend(same[one.call].iter().map(|&call| (call, Err(one.reason.clone()))));
    }
    found
}

fn row(view: &View<'_>, calls: &[&RecordedCall], rule: Value, warning: Value) -> Row {
    Row {
        rule,
        warning,
        calls: calls.len() as u64,
        runs: calls.iter().map(|call| call.context.session).collect::<BTreeSet<_>>().len() as u64,
        what: calls.first().and_then(|call| subject(call)).into(),
        covers: calls.iter().filter_map(|call| call.id.as_deref()).map(Value::text).collect(),
        places: calls.iter().map(|call| view.place(call.context.location)).collect(),
    }
}

/// Maximum number of rules with a warning that are listed in full below the table.
const WARNED: usize = 10;

fn notes<'a>(rules: &[Suggested], refused: impl Iterator<Item = &'a str>) -> Vec<Line> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    refused.for_each(|reason| *reasons.entry(reason).or_default() += 1);
    if rules.is_empty() && reasons.is_empty() {
        return vec![Line::new(Tone::Good).word("no call was denied: nothing to suggest")];
    }
    let (warned, safe): (Vec<Suggested>, Vec<Suggested>) =
        rules.iter().cloned().partition(|one| one.warning.is_some());
    let mut notes: Vec<Line> = Vec::new();
    for (reason, count) in reasons {
        let line = Line::new(Tone::Warning).count(count, " call gets", " calls get");
        notes.push(line.word(" no rule: ").value(reason));
    }
    for one in warned.iter().take(WARNED) {
        let line = Line::new(Tone::Warning).word("review this rule before use (");
        notes.push(line.value(one.warning.unwrap_or_default()).word("): ").verbatim(one.rule.to_string()));
    }
    if let Some(more @ 1..) = warned.len().checked_sub(WARNED) {
        let line = Line::new(Tone::Warning).word("and ").count(more as u64, " more rule", " more rules");
        notes.push(line.words(" to review before use ({data} lists all)"));
    }
    if !safe.is_empty() {
        let rules: Vec<String> =
            safe.iter().map(|one| Json::from(one.rule.to_string()).to_string()).collect();
        let snippet = format!("{{\"permissions\": {{\"allow\": [{}]}}}}", rules.join(", "));
        notes.push(Line::new(Tone::Plain).word("for settings.json: ").verbatim(snippet));
        let only_settings = |one: &&Suggested| !permission::fits_command_line(&one.rule);
        let unfit = safe.iter().filter(only_settings).count();
        if unfit < safe.len() {
            notes.push(
                Line::new(Tone::Plain).word("for the command: ").verbatim(permission::allowed_tools(&safe)),
            );
        }
        if unfit > 0 {
            let line = Line::new(Tone::Warning).count(unfit as u64, " rule works", " rules work");
            notes.push(
                line.word(" in settings.json only: the command line does not honour escaped parentheses"),
            );
        }
    }
    notes
}
