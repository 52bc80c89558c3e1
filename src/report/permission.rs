//! Permissions: decisions about calls, the effect of other settings, and suggested rules.

mod suggestion;
mod trial;
mod verdict;

pub(crate) use suggestion::SPEC as SUGGESTIONS;
pub(super) use suggestion::exact_rules;
pub use suggestion::suggestions;
pub use trial::Trial;
use trial::apply;
pub(crate) use verdict::SPEC as VERDICTS;
pub use verdict::{TestedCall, verdicts};

use serde_json::Value as Json;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Value, View,
    column::columns,
    heads,
    spec::CALLED,
    sum::{HasLocation, has, place_columns},
};
use crate::{
    facts::{
        Detail,
        ledger::{Call as RecordedCall, Context, Location},
        trace::permission::{Decision as Recorded, ModeChange, decisions, subject},
    },
    measure::Time,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| permissions(view, None)),
    keeps: CALLED.and(Detail::DECISIONS),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "Show who allowed or denied calls; test settings, suggest rules",
        details: "One row per call: the decision, who made it and by which rule as far as the log says, and the permission mode; \
            changes of the mode are rows too. With --settings it shows what those rules would have done to each recorded \
            call, with --suggest which rules would have allowed the denied calls. `permissions test` tests rules on a \
            command without a log. This report shows content: the input of tools.",
        examples: &[
            ("Which calls were denied in a run, and by whom", "ccstat permissions run.jsonl"),
            (
                "The effect of new settings on the runs of a week",
                "ccstat permissions --settings .claude/settings.json --since 7d ~/.claude/projects",
            ),
            ("Rules for denied calls", "ccstat permissions --suggest --breadth prefix run.jsonl"),
            (
                "Test what a rule does",
                "ccstat permissions test 'Bash(npm run *)' -- 'npm run build && rm -rf x'",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "permissions",
        "Calls and who allowed or denied them, and changes of the mode. With settings: what those would have done.",
        || heads(&[columns(), would_columns()].concat()),
    )
};

#[derive(Clone, Default)]
struct Row {
    kind: &'static str,
    tool: Value,
    what: Value,
    recorded: Recorded,
    would: Value,
    by: Value,
    differs: Option<bool>,
    why: Option<&'static str>,
    time: Option<Time>,
    id: Value,
    agent: Value,
    session: Value,
    source: Value,
    place: Value,
    at: Option<Location>,
}

has! { HasLocation for Row: source, at }

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text sort "Kind" [data] "`call`, or `mode` for the first mode and its changes." => row.kind;
        text tool "Tool" "Name of the tool." => &row.tool;
        text what "Input" "Input of the call in one line: its command, file, URL or question. This is content."
            => &row.what;
        text decision "Decision" "`allowed` or `denied`; missing if there was no decision, or the log does not say."
            => row.recorded.allowed.map_or(Value::Missing, |allowed| if allowed { "allowed" } else { "denied" }.into());
        text decided_by "By" "Who decided, according to the log: config, hook, user_reject, host and so on."
            => &row.recorded.source;
        text reason "Reason" "Reason, according to the log: rule, mode, hook and so on." => &row.recorded.reason;
        text rule "Rule" "The rule or its scope, if the log has it." => &row.recorded.rule;
        flag asked "Asked" [nullable, wide] "Whether a person or a host was asked."
            => if row.kind == "call" { Value::Flag(row.recorded.asked) } else { Value::Missing };
        text mode "Mode" [wide] "Permission mode of the call, or the new mode." => &row.recorded.mode;
        time started "Started" [wide] "Time of the call." => row.time;
        text agent "Agent" [data] "`main`, or the type of the subagent." => &row.agent;
        text session "Session" [data] "Session id." => &row.session;
        text id "Id" [data] "Id of the call." => &row.id;
        text place "Location" [wide_screen] "Location of the call." => &row.place;
        ..place_columns();
    }
}

/// Columns that exist only with `--settings`.
fn would_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text would "Would" [optional]
            "What the settings would do: allow, deny, ask, or `tool decides` if the log is not sufficient."
            => &row.would;
        text would_by "By" [optional] "The rule with its scope, the mode, or another reason for that decision." => &row.by;
        flag differs "Differs" [nullable, optional]
            "Whether that differs from the recorded decision; missing if unknown."
            => row.differs;
        text why "Why" [wide, optional] "Possible reason for the difference." => row.why;
    }
}

/// Decisions about calls; with a trial, also what it would have decided, differences first.
pub fn permissions(view: &View<'_>, trial: Option<&Trial>) -> Report {
    let (told, modes) = decisions(view.ledger);
    let mut rows: Vec<Row> =
        view.ledger.calls.iter().zip(told).map(|(call, recorded)| Row::of(view, call, recorded)).collect();
    let mut notes: Vec<Line> = nothing(&rows).into_iter().chain(view.lean_note()).collect();
    let mut columns = columns();
    match trial {
        None => {
            rows.extend(modes.into_iter().map(|change| Row::of_mode(view, change)));
            rows.sort_by_key(|row| (row.at.is_none(), row.at));
            notes.extend(counted(&rows));
        }
        Some(trial) => {
            notes.extend(apply(view, trial, &mut rows));
            rows.sort_by_key(|row| (row.differs != Some(true), row.at.is_none(), row.at));
            // With settings, their decision is more important than the recorded one.
            for column in &mut columns {
                if ["decided_by", "reason", "rule", "asked", "mode", "place"].contains(&column.head.key) {
                    column.head.shown = Shown::Data;
                }
            }
            let after = columns.iter().position(|column| column.head.key == "decided_by").unwrap_or(0);
            columns.splice(after..after, would_columns());
        }
    }
    let table = Table::of("Permissions", &columns, &rows).on_screen(30);
    let report = Report::of(SPEC.name, table, notes);
    if trial.is_some() {
        return report;
    }
    // People look for denials; programs read the log in order.
    rows.sort_by_key(|row| (row.kind == "mode", row.recorded.allowed != Some(false)));
    // On a narrow screen, the mode has no column of its own.
    for row in rows.iter_mut().filter(|row| row.kind == "mode") {
        row.what = row.recorded.mode.as_deref().map(|mode| format!("the mode from here on: {mode}")).into();
    }
    report.with_screen_rows(Table::of("Permissions", &columns, &rows).on_screen(30))
}

fn nothing(rows: &[Row]) -> Option<Line> {
    rows.is_empty().then(|| Line::new(Tone::Good).word("no tool was called"))
}

fn counted(rows: &[Row]) -> Option<Line> {
    let count = |wanted| rows.iter().filter(|row| row.recorded.allowed == Some(wanted)).count() as u64;
    let (allowed, denied) = (count(true), count(false));
    (allowed + denied > 0).then(|| {
        let tone = if denied > 0 { Tone::Bad } else { Tone::Good };
        let line = Line::new(tone)
            .count(allowed, " call allowed, ", " calls allowed, ")
            .value(denied)
            .word(" denied");
        line.words(if denied > 0 { " (for rules that would allow them: {suggestions})" } else { "" })
    })
}

impl Row {
    fn at_context(view: &View<'_>, context: &Context) -> Self {
        Self {
            time: context.time,
            agent: view.agent(context).into(),
            session: view.session_id(context),
            source: view.source(context.location),
            place: view.place(context.location),
            at: context.location,
            ..Self::default()
        }
    }

    fn of(view: &View<'_>, call: &RecordedCall, recorded: Recorded) -> Self {
        Self {
            kind: "call",
            tool: call.tool.as_str().into(),
            what: subject(call).into(),
            id: call.id.as_deref().map_or(Value::Missing, Value::text),
            recorded,
            ..Self::at_context(view, &call.context)
        }
    }

    fn of_mode(view: &View<'_>, change: ModeChange) -> Self {
        let recorded = Recorded { mode: Some(change.mode), ..Recorded::default() };
        Self {
            kind: "mode",
            what: "the mode from here on".into(),
            recorded,
            ..Self::at_context(view, &change.context)
        }
    }
}

/// Input of a call as JSON; null if it was not kept.
pub(super) fn input_of(call: &RecordedCall) -> Json {
    call.input_text.as_deref().and_then(|input| serde_json::from_str(input).ok()).unwrap_or(Json::Null)
}
