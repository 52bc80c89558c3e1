//! Rules tried on one command, without a log.

use super::trial::{Trial, warnings};
use crate::{
    permission::{Call, Decision, check, check_parts, input_for},
    report::{Column, Line, Reads, Report, ReportSpec, Table, Tone, Value, column::columns, heads},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    reads: Reads::Nothing,
    sample: &[
        "permissions",
        "test",
        "Bash(npm run *)",
        "--folder",
        "/p",
        "--command",
        "npm run build && rm -rf x",
    ],
    ..ReportSpec::rows(
        "verdicts",
        "A command and its parts, and what rules would do to each (`permissions test`).",
        || heads(&columns()),
    )
};

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct TestedCall<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its command, its path, its address.
    pub text: &'a str,
    /// The folder of the project.
    pub folder: &'a str,
}

struct Row {
    kind: &'static str,
    text: String,
    would: Decision,
    by: String,
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text sort "Sort" [required] "`whole`, or `part` of a compound command." => row.kind;
        text what "What" [required] "The command or the part. This is content." => &row.text;
        text would "Would" [required] "What would happen: allow, deny, ask, or `tool decides` where it depends on more."
            => row.would.to_string();
        text would_by "By" [required] "The rule with its scope, the mode, or what else would have decided." => &row.by;
        flag allowed "Allowed" [required, data] "Whether it would run without a question." => row.would == Decision::Allow;
    }
}

/// What rules would do to a command, and to each part of it by itself.
pub fn verdicts(trial: &Trial, tried: &TestedCall<'_>) -> Report {
    let input = input_for(tried.tool, tried.text);
    let call = Call { tool: tried.tool, input: &input, cwd: Some(tried.folder) };
    let whole = check(&trial.context, &call);
    let mut rows = vec![Row {
        kind: "whole",
        text: tried.text.to_owned(),
        would: whole.decision,
        by: whole.by.to_string(),
    }];
    let parts = check_parts(&trial.context, &call);
    if parts.len() > 1 {
        rows.extend(parts.into_iter().map(|part| Row {
            kind: "part",
            text: part.text,
            would: part.outcome.decision,
            by: part.outcome.by.to_string(),
        }));
    }
    let verdict = match whole.decision {
        Decision::Allow => Line::new(Tone::Good).word("it would run"),
        Decision::Deny => Line::new(Tone::Bad).word("it would be refused"),
        Decision::Ask => Line::new(Tone::Warning).word("a person would be asked"),
        Decision::ToolDecides => Line::new(Tone::Warning).word("the rules do not decide it"),
    };
    let mut notes = vec![verdict.word(": ").value(Value::from(rows[0].by.as_str()))];
    notes.extend(warnings(trial));
    Report::of(SPEC.name, Table::of("Verdicts", &columns(), &rows), notes)
}
