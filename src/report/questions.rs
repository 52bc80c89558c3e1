//! Questions of the model to people, one per row. This report shows content.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Section, Table, Tone, Value, View,
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
        about: "List questions of the model to people, and the answers",
        details: "One row per question of AskUserQuestion. This report shows content: questions, options and answers as in the \
            log, even without --content.",
        examples: &[
            ("Questions and answers of a run", "ccstat questions run.jsonl"),
            (
                "The questions of a month that waited longest",
                "ccstat questions ~/.claude/projects --since 30d --sort latency_ms --limit 10",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "questions",
        "Questions of the model to people, one per row: options, answer and outcome.",
        || heads(&columns()),
    )
};

type QuestionRow = Row<Question>;

fn columns() -> Vec<Column<QuestionRow>> {
    columns! { |row: QuestionRow|
        ..content();
        millis latency_ms "Waited" [no_sum] "Time from the question to its outcome; questions of one call wait together."
            => row.fact.wait;
        time started "Asked" "Time of the question." => row.fact.context.time;
        ..session_columns();
        text version "Version" [data] "CLI version." => &row.fact.context.version;
        text id "Id" [data] "Id of the call, which may contain several questions." => &row.fact.call;
        ..[place_column("Location of the question.")];
        ..place_columns();
    }
}

/// The questions and answers themselves.
fn content() -> Vec<Column<QuestionRow>> {
    columns! { |row: QuestionRow|
        text header "Header" "Short label of the question." => &row.fact.header;
        text question "Question" "Text of the question." => &row.fact.question;
        list options "Options" "The labels to choose from."
            => Value::List(row.fact.options.iter().map(|label| Value::text(label.as_str())).collect());
        flag multi_select "Several" [nullable, data] "Whether several may be chosen." => row.fact.multi_select;
        text answer "Answer" "Chosen or written answer; several labels are separated by commas." => &row.fact.answer;
        text end "End" [required] "Outcome: answered, denied, unanswered, not available (the tool does not exist in this mode, so nobody \
             was asked) or error."
            => row.fact.fate.name();
    }
}

/// One row per question, in chronological order.
fn questions(view: &View<'_>) -> Report {
    let row = |fact: Question| Row { context: RowContext::of(view, &fact.context), fact };
    let mut questions = question::questions(view.ledger);
    // A lean log does not even say how many questions a call contains.
    questions.retain(|one| one.question.is_some() || !view.is_lean(&one.context));
    let mut rows: Vec<QuestionRow> = questions.into_iter().map(row).collect();
    rows.sort_by_key(|row| {
        (row.fact.context.time.is_none(), row.fact.context.time, row.fact.context.location)
    });
    let table = Table::of("Questions", &columns(), &rows).on_screen(50);
    let lean = view.lean_note();
    let none = Line::new(Tone::Plain).word("no question was asked");
    let none = (rows.is_empty() && lean.is_none()).then_some(none);
    let report = Report::of(SPEC.name, table, none.into_iter().chain(lean).collect());
    Report { screen: vec![Section::Cards], ..report }
}
