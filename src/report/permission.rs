//! Permissions: what was allowed and refused, by whom; what other settings would have done; which rules would help.

mod suggestion;
mod trial;
mod verdict;

pub(crate) use suggestion::SPEC as SUGGESTIONS;
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
        about: "Show who allowed or refused calls; try settings, get rules",
        details: "One row a call: the decision, who took it and by which rule as far as the log says, and the mode in force; \
            modes are rows where they change. With --settings it says what those rules would have done to every recorded \
            call, with --suggest which rules would have let the refused calls through. `permissions test` tries rules on \
            a command without a log. This report shows content: what tools were called with.",
        examples: &[
            ("Who refused what in a run", "ccstat permissions run.jsonl"),
            (
                "What new settings would have done to the runs of a week",
                "ccstat permissions --settings .claude/settings.json --since 7d ~/.claude/projects",
            ),
            ("Rules for what was refused", "ccstat permissions --suggest --breadth prefix run.jsonl"),
            (
                "Whether a rule does what it should",
                "ccstat permissions test 'Bash(npm run *)' -- 'npm run build && rm -rf x'",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "permissions",
        "Calls, and who allowed or refused them; modes as they change. With settings: what those would have done.",
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
        text sort "Sort" [data] "`call`, or `mode` where the mode begins or changes." => row.kind;
        text tool "Tool" "The tool that was called." => &row.tool;
        text what "What" "What it was called with: its command, file, address or question, in one line. This is content."
            => &row.what;
        text decision "Decision" "`allowed` or `denied`; missing where it never came to that, or the log does not say."
            => row.recorded.allowed.map_or(Value::Missing, |allowed| if allowed { "allowed" } else { "denied" }.into());
        text decided_by "By" "Who decided, as the log says: config, hook, user_reject, host and so on."
            => &row.recorded.source;
        text reason "Reason" "Why, as the log says: rule, mode, hook and so on." => &row.recorded.reason;
        text rule "Rule" "The rule, or the scope of the rule, where the log says it." => &row.recorded.rule;
        flag asked "Asked" [nullable, wide] "Whether a person or a host was asked."
            => if row.kind == "call" { Value::Flag(row.recorded.asked) } else { Value::Missing };
        text mode "Mode" "The mode in force, or the one that begins." => &row.recorded.mode;
        time started "Started" [wide] "When it was asked." => row.time;
        text agent "Agent" [data] "`main`, or the type of the subagent." => &row.agent;
        text session "Session" [data] "Id of the session." => &row.session;
        text id "Id" [data] "Id of the call." => &row.id;
        text place "Place" [screen] "Where it was asked." => &row.place;
        ..place_columns();
    }
}

/// What is there only where settings are tried.
fn would_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text would "Would" [optional]
            "What the settings would have done: allow, deny, ask, or `tool decides` where a log cannot know."
            => &row.would;
        text would_by "By" [optional] "The rule with its scope, the mode, or what else would have decided." => &row.by;
        flag differs "Differs" [nullable, optional]
            "Whether that is another end than the one it had: missing where that cannot be said."
            => row.differs;
        text why "Why" [wide, optional] "What may be the reason, where it differs." => row.why;
    }
}

/// What was allowed and refused; with a trial, also what it would have done, the differences first.
pub fn permissions(view: &View<'_>, trial: Option<&Trial>) -> Report {
    let (told, modes) = decisions(view.ledger);
    let mut rows: Vec<Row> =
        view.ledger.calls.iter().zip(told).map(|(call, recorded)| Row::of(view, call, recorded)).collect();
    let mut notes = nothing(&rows).into_iter().collect::<Vec<Line>>();
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
            // How it came to pass is of less interest then than what would come to pass.
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
    Report::of(SPEC.name, table, notes)
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
        line.words(if denied > 0 { " (rules that would let them through: {suggestions})" } else { "" })
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

/// A call as the rules see it: its input, and the folder of its session.
pub(super) fn input_of(call: &RecordedCall) -> Json {
    call.input_text.as_deref().and_then(|input| serde_json::from_str(input).ok()).unwrap_or(Json::Null)
}
