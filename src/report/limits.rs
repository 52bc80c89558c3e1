//! Limits that a run met: of the subscription, of models, of the context, of turns and money.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Unit, Value, View,
    heads,
    spec::TRACED,
    sum::{Spot, Told, agent_column, place_column, place_columns, session_columns, text},
};
use crate::{
    facts::trace::limit::{Limit, limits as met},
    measure::Millis,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: TRACED,
    make: Some(limits),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "List limits: rate limits, fallbacks, refusals, compactions",
        details: "Retries of the API are among the failures: see `ccstat errors`.",
        examples: &[
            ("Where a run was held up or cut short", "ccstat limits run.jsonl"),
            (
                "Every compaction of a month, for a spreadsheet",
                "ccstat limits ~/.claude/projects --since 30d --format csv",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "limits",
        "Limits that were met: rate limits, model fallbacks, refusals, compactions, stops at turns or budget.",
        || heads(&columns()),
    )
};

type Row = Told<Limit>;

fn columns() -> Vec<Column<Row>> {
    let mut columns = Vec::from(what_columns());
    columns.extend(figure_columns());
    columns.push(agent_column("`main`, or the type of the subagent.").shown(Shown::Roomy));
    columns.extend(session_columns());
    columns.push(place_column("Where it stands."));
    columns.extend(place_columns());
    columns
}

fn what_columns() -> [Column<Row>; 6] {
    [
        Column::new(Unit::Time, "time", "Time", "When, where the log says it.", |row: &Row| {
            row.fact.mark.time.into()
        }),
        Column::new(
            Unit::Text,
            "sort",
            "Sort",
            "`rate_limit`, `fallback`, `refusal`, `compaction`, `microcompaction` or `stop`.",
            |row: &Row| row.fact.sort.name().into(),
        )
        .known(),
        Column::new(
            Unit::Text,
            "what",
            "What",
            "What the log says of it: status and window, trigger, category, `max_turns` or `max_budget_usd`.",
            |row: &Row| text(row.fact.what.as_deref()),
        ),
        Column::new(Unit::Text, "models", "Models", "The model, and the one instead.", |row: &Row| {
            let Limit { model, fallback, .. } = &row.fact;
            match (model, fallback) {
                (Some(model), Some(fallback)) => Value::text(format!("{model} → {fallback}")),
                (one, other) => text(one.as_deref().or(other.as_deref())),
            }
        })
        .shown(Shown::Screen),
        Column::new(Unit::Text, "model", "Model", "The model that was asked.", |row: &Row| {
            text(row.fact.model.as_deref())
        })
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "fallback_model",
            "Fallback",
            "The model that was asked instead.",
            |row: &Row| text(row.fact.fallback.as_deref()),
        )
        .shown(Shown::Data),
    ]
}

fn figure_columns() -> [Column<Row>; 5] {
    [
        Column::new(
            Unit::Count,
            "context_before",
            "Before",
            "Tokens of the conversation before a compaction.",
            |row: &Row| row.fact.before.into(),
        )
        .alone()
        .maybe(),
        Column::new(
            Unit::Count,
            "context",
            "After",
            "Tokens of the conversation after a compaction.",
            |row: &Row| row.fact.after.into(),
        )
        .alone()
        .maybe(),
        Column::new(Unit::Millis, "wall_ms", "Took", "How long a compaction took.", |row: &Row| {
            row.fact.took.into()
        }),
        Column::new(Unit::Share, "used", "Used", "How much of a rate limit is used.", |row: &Row| {
            row.fact.used.map_or(Value::Missing, Value::Share)
        }),
        Column::new(Unit::Time, "resets", "Resets", "When a rate limit is lifted.", |row: &Row| {
            row.fact.resets.into()
        }),
    ]
}

/// One row for each time that a limit was met, in the order they stand.
fn limits(view: &View<'_>) -> Report {
    let row = |fact: Limit| Row { spot: Spot::of(view, &fact.mark), fact };
    let rows: Vec<Row> = met(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Limits", &columns(), &rows).on_screen(50);
    let notes = notes(view, rows.is_empty());
    Report::of(SPEC.name, table, notes)
}

/// Waiting for the API is a limit too, but a failure first: it is told there.
fn notes(view: &View<'_>, nothing: bool) -> Vec<Line> {
    let faults = &view.ledger.faults;
    let mut line = Line::new(Tone::Plain);
    if faults.is_empty() {
        return nothing.then(|| Line::new(Tone::Good).word("no limit was met")).into_iter().collect();
    }
    if nothing {
        line = line.word("no limit was met, but ");
    }
    line = line.count(faults.len() as u64, " failure of the API", " failures of the API");
    if faults.iter().any(|fault| fault.wait.is_some()) {
        let waited: Millis = faults.iter().filter_map(|fault| fault.wait).sum();
        line = line.word(" with ").value(waited).word(" of waiting");
    }
    vec![line.words(": see `{errors}`")]
}
