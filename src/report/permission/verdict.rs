//! Tests rules on one command, without a log.

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
        "A command and its parts, and the decision of the rules on each (`permissions test`).",
        || heads(&columns()),
    )
};

/// A call to test.
#[derive(Clone, Copy, Debug)]
pub struct TestedCall<'a> {
    pub tool: &'a str,
    /// Command, path or URL.
    pub text: &'a str,
    /// Folder of the project.
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
        text sort "Kind" [required] "`whole`, or `part` of a compound command." => row.kind;
        text what "Command" [required] "The command or its part. This is content." => &row.text;
        text would "Would" [required] "Decision: allow, deny, ask, or `tool decides` if the rules are not sufficient."
            => row.would.to_string();
        text would_by "By" [required] "The rule with its scope, the mode, or another reason for the decision." => &row.by;
        flag allowed "Allowed" [required, data] "Whether it would run without asking." => row.would == Decision::Allow;
    }
}

/// Decisions of the rules on a command and on each of its parts.
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
        Decision::Deny => Line::new(Tone::Bad).word("it would be denied"),
        Decision::Ask => Line::new(Tone::Warning).word("a person would be asked"),
        Decision::ToolDecides => Line::new(Tone::Warning).word("the rules do not decide it"),
    };
    let mut notes = vec![verdict.word(": ").value(Value::from(rows[0].by.as_str()))];
    notes.extend(warnings(trial));
    Report::of(SPEC.name, Table::of("Verdicts", &columns(), &rows), notes)
}
