//! Limits that a run met: of the subscription, of models, of the context, of turns and money.

use super::{
    Column, Entry, Line, Report, Shown, Table, Tone, Unit, Value, View, heads,
    sum::{Spot, Spotted, place_columns, text},
};
use crate::{
    facts::trace::limit::{Limit, limits as met},
    measure::Millis,
};

pub(super) const ENTRY: Entry = Entry::rows(
    "limits",
    "Limits that were met: rate limits, model fallbacks, refusals, compactions, stops at turns or budget.",
    || heads(&columns()),
);

struct Row {
    limit: Limit,
    spot: Spot,
}

impl Spotted for Row {
    fn spot(&self) -> &Spot {
        &self.spot
    }
}

fn columns() -> Vec<Column<Row>> {
    let mut columns = Vec::from(what_columns());
    columns.extend(figure_columns());
    columns.extend(whose_columns());
    columns.extend(place_columns());
    columns
}

fn what_columns() -> [Column<Row>; 6] {
    [
        Column::new(Unit::Time, "time", "Time", "When, where the log says it.", |row: &Row| {
            row.limit.mark.time.into()
        }),
        Column::new(
            Unit::Text,
            "sort",
            "Sort",
            "`rate_limit`, `fallback`, `refusal`, `compaction`, `microcompaction` or `stop`.",
            |row: &Row| row.limit.sort.name().into(),
        )
        .known(),
        Column::new(
            Unit::Text,
            "what",
            "What",
            "What the log says of it: status and window, trigger, category, `max_turns` or `max_budget_usd`.",
            |row: &Row| text(row.limit.what.as_deref()),
        ),
        Column::new(Unit::Text, "models", "Models", "The model, and the one instead.", |row: &Row| {
            let Limit { model, fallback, .. } = &row.limit;
            match (model, fallback) {
                (Some(model), Some(fallback)) => Value::text(format!("{model} → {fallback}")),
                (one, other) => text(one.as_deref().or(other.as_deref())),
            }
        })
        .shown(Shown::Screen),
        Column::new(Unit::Text, "model", "Model", "The model that was asked.", |row: &Row| {
            text(row.limit.model.as_deref())
        })
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "fallback_model",
            "Fallback",
            "The model that was asked instead.",
            |row: &Row| text(row.limit.fallback.as_deref()),
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
            |row: &Row| row.limit.before.into(),
        )
        .alone()
        .maybe(),
        Column::new(
            Unit::Count,
            "context",
            "After",
            "Tokens of the conversation after a compaction.",
            |row: &Row| row.limit.after.into(),
        )
        .alone()
        .maybe(),
        Column::new(Unit::Millis, "wall_ms", "Took", "How long a compaction took.", |row: &Row| {
            row.limit.took.into()
        }),
        Column::new(Unit::Share, "used", "Used", "How much of a rate limit is used.", |row: &Row| {
            row.limit.used.map_or(Value::Missing, Value::Share)
        }),
        Column::new(Unit::Time, "resets", "Resets", "When a rate limit is lifted.", |row: &Row| {
            row.limit.resets.into()
        }),
    ]
}

fn whose_columns() -> [Column<Row>; 4] {
    [
        Column::new(Unit::Text, "agent", "Agent", "`main`, or the type of the subagent.", |row: &Row| {
            row.spot.agent.clone()
        })
        .shown(Shown::Roomy),
        Column::new(Unit::Text, "session", "Session", "Id of the session.", |row: &Row| {
            row.spot.session.clone()
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "project", "Project", "The folder of the session.", |row: &Row| {
            row.spot.project.clone()
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "place", "Place", "Where it stands.", |row: &Row| row.spot.place.clone())
            .shown(Shown::Screen),
    ]
}

/// One row for each time that a limit was met, in the order they stand.
pub fn limits(view: &View<'_>) -> Report {
    let row = |limit: Limit| Row { spot: Spot::of(view, &limit.mark), limit };
    let rows: Vec<Row> = met(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Limits", &columns(), &rows).on_screen(50);
    let notes = notes(view, rows.is_empty());
    Report::of(ENTRY.name, table, notes)
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
    vec![line.word(": see `ccstat errors`")]
}
