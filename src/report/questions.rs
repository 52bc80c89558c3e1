//! What the model asked people, one question a row: a report that exists to show content.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    spec::CALLED,
    sum::{Row, RowContext, place_column, place_columns, session_columns},
};
use crate::facts::{
    Detail,
    trace::question::{self, Question},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: CALLED.and(Detail::QUESTIONS),
    make: Some(questions),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "List what the model asked people, and what they answered",
        details: "One row for each question of AskUserQuestion. This report exists to show content: questions, options and \
            answers stand in it as they do in the log, without --include-content.",
        examples: &[
            ("What was asked, and what became of it", "ccstat questions run.jsonl"),
            (
                "Questions of a month that waited longest",
                "ccstat questions ~/.claude/projects --since 30d --sort latency_ms --limit 10",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "questions",
        "What the model asked people, one question a row: options, answer, and what became of it.",
        || heads(&columns()),
    )
};

type QuestionRow = Row<Question>;

fn columns() -> Vec<Column<QuestionRow>> {
    columns! { |row: QuestionRow|
        ..content();
        millis latency_ms "Waited" [no_sum] "Time from the question to what became of it; the questions of a call wait together."
            => row.fact.wait;
        time started "Asked" "When it was asked." => row.fact.context.time;
        ..session_columns();
        text version "Version" [data] "The CLI version that asked." => &row.fact.context.version;
        text id "Id" [data] "Id of the call, which may ask several." => &row.fact.call;
        ..[place_column("Where it was asked.")];
        ..place_columns();
    }
}

/// The questions and answers themselves.
fn content() -> Vec<Column<QuestionRow>> {
    columns! { |row: QuestionRow|
        text header "Header" "Its short label." => &row.fact.header;
        text question "Question" "Its words." => &row.fact.question;
        list options "Options" "The labels to choose from."
            => Value::List(row.fact.options.iter().map(|label| Value::text(label.as_str())).collect());
        flag multi_select "Several" [nullable, data] "Whether several may be chosen." => row.fact.multi_select;
        text answer "Answer" "What was chosen or written; several labels have commas between them." => &row.fact.answer;
        text end "End" [required] "What became of it: answered, denied, unanswered, not available (the tool does not exist in this mode, \
             nobody was asked) or error."
            => row.fact.fate.name();
    }
}

/// One row a question, in the order they were asked.
fn questions(view: &View<'_>) -> Report {
    let row = |fact: Question| Row { context: RowContext::of(view, &fact.context), fact };
    let mut rows: Vec<QuestionRow> = question::questions(view.ledger).into_iter().map(row).collect();
    rows.sort_by_key(|row| {
        (row.fact.context.time.is_none(), row.fact.context.time, row.fact.context.location)
    });
    let table = Table::of("Questions", &columns(), &rows).on_screen(50);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no question was asked"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
