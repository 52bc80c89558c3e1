//! What the model asked people, one question a row: a report that exists to show content.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Unit, Value, View,
    heads,
    spec::TRACED,
    sum::{Spot, Told, place_column, place_columns, session_columns, text},
};
use crate::facts::trace::question::{self, Question};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: TRACED,
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

type Row = Told<Question>;

fn columns() -> Vec<Column<Row>> {
    let mut columns = content();
    columns.extend([
        Column::new(
            Unit::Millis,
            "latency_ms",
            "Waited",
            "Time from the question to what became of it; the questions of a call wait together.",
            |row: &Row| row.fact.wait.into(),
        )
        .alone(),
        Column::new(Unit::Time, "started", "Asked", "When it was asked.", |row: &Row| {
            row.fact.mark.time.into()
        }),
    ]);
    columns.extend(session_columns());
    columns.extend([
        Column::new(Unit::Text, "version", "Version", "The CLI version that asked.", |row: &Row| {
            text(row.fact.mark.version.as_deref())
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "id", "Id", "Id of the call, which may ask several.", |row: &Row| {
            text(row.fact.call.as_deref())
        })
        .shown(Shown::Data),
        place_column("Where it was asked."),
    ]);
    columns.extend(place_columns());
    columns
}

/// The questions and answers themselves.
fn content() -> Vec<Column<Row>> {
    vec![
        Column::new(Unit::Text, "header", "Header", "Its short label.", |row: &Row| {
            text(row.fact.header.as_deref())
        }),
        Column::new(Unit::Text, "question", "Question", "Its words.", |row: &Row| {
            text(row.fact.question.as_deref())
        }),
        Column::new(Unit::List, "options", "Options", "The labels to choose from.", |row: &Row| {
            Value::List(row.fact.options.iter().map(|label| Value::text(label.as_str())).collect())
        }),
        Column::new(
            Unit::Flag,
            "multi_select",
            "Several",
            "Whether several may be chosen.",
            |row: &Row| row.fact.multi_select.map_or(Value::Missing, Value::Flag),
        )
        .maybe()
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "answer",
            "Answer",
            "What was chosen or written; several labels have commas between them.",
            |row: &Row| text(row.fact.answer.as_deref()),
        ),
        Column::new(
            Unit::Text,
            "end",
            "End",
            "What became of it: answered, denied, unanswered, not available (the tool does not exist in this mode, \
             nobody was asked) or error.",
            |row: &Row| row.fact.fate.name().into(),
        )
        .known(),
    ]
}

/// One row a question, in the order they were asked.
fn questions(view: &View<'_>) -> Report {
    let row = |fact: Question| Row { spot: Spot::of(view, &fact.mark), fact };
    let mut rows: Vec<Row> = question::questions(view.ledger).into_iter().map(row).collect();
    rows.sort_by_key(|row| (row.fact.mark.time.is_none(), row.fact.mark.time, row.fact.mark.at));
    let table = Table::of("Questions", &columns(), &rows).on_screen(50);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no question was asked"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
