//! Turns, one by one: each `result` record.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Unit, Value, View,
    heads,
    sum::{Spot, Spotted, place_columns, text},
};
use crate::{
    facts::ledger::Turn,
    measure::{Millis, Usd, add},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(turns),
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List turns: how long, at what cost, how they ended",
        details: "One row for each `result` record. Its cost is the difference to the total before it, so that the rows add \
            up.",
        examples: &[
            ("What each turn of a run cost", "ccstat turns run.jsonl"),
            ("The dearest turns of a night of runs", "ccstat turns runs/ --sort cost_usd --limit 10"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("turns", "Turns, one a row: how long, at what cost, how they ended.", || {
        heads(&columns())
    })
};

#[derive(Default)]
struct Row {
    turn: Option<Turn>,
    num_turns: u64,
    wall: Option<Millis>,
    api: Option<Millis>,
    cost: Option<Usd>,
    spot: Spot,
}

impl Spotted for Row {
    fn spot(&self) -> &Spot {
        &self.spot
    }
}

fn columns() -> Vec<Column<Row>> {
    let mut columns = vec![
        Column::new(
            Unit::Time,
            "ended",
            "Ended",
            "When it ended: its own time, else that of the last row before it.",
            |row: &Row| row.turn.as_ref().and_then(|turn| turn.mark.time).into(),
        ),
        Column::new(Unit::Text, "session", "Session", "Id of its session.", |row: &Row| {
            row.spot.session.clone()
        }),
        Column::new(Unit::Text, "project", "Project", "The folder of its session.", |row: &Row| {
            row.spot.project.clone()
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "subtype", "End", "How it ended, in the CLI's word.", |row: &Row| {
            text(row.turn.as_ref().map(|turn| &*turn.subtype))
        }),
        Column::new(
            Unit::Flag,
            "ok",
            "Ok",
            "Whether it succeeded: the CLI also writes `success` for turns that failed.",
            |row: &Row| row.turn.as_ref().map_or(Value::Missing, |turn| Value::Flag(turn.ok)),
        )
        .maybe(),
        Column::new(Unit::Millis, "wall_ms", "Wall", "Wall time.", |row: &Row| row.wall.into()).maybe(),
        Column::new(Unit::Millis, "api_ms", "API", "Time that the API took.", |row: &Row| row.api.into())
            .maybe(),
        Column::new(
            Unit::Millis,
            "first_token_ms",
            "First token",
            "Time until the first token came.",
            |row: &Row| row.turn.as_ref().and_then(|turn| turn.first_token).into(),
        )
        .maybe()
        .alone()
        .shown(Shown::Roomy),
        Column::new(Unit::Count, "num_turns", "Steps", "The CLI's own `num_turns`.", |row: &Row| {
            row.num_turns.into()
        }),
        Column::new(
            Unit::Usd,
            "cost_usd",
            "Cost",
            "What the CLI reported for this turn: the difference to the total before it.",
            |row: &Row| row.cost.into(),
        ),
        Column::new(Unit::Text, "place", "Place", "Where it stands.", |row: &Row| row.spot.place.clone())
            .shown(Shown::Screen),
    ];
    columns.extend(place_columns());
    columns
}

/// One row a `result`, the latest last.
fn turns(view: &View<'_>) -> Report {
    let row = |turn: &Turn| Row {
        spot: Spot::of(view, &turn.mark),
        num_turns: turn.num_turns,
        wall: turn.wall,
        api: turn.api,
        cost: turn.cost,
        turn: Some(turn.clone()),
    };
    let mut rows: Vec<Row> = view.ledger.turns.iter().filter(|turn| turn.counted).map(row).collect();
    rows.sort_by_key(|row| {
        row.turn.as_ref().map(|turn| (turn.mark.time.is_none(), turn.mark.time, turn.mark.at))
    });
    let total = rows.iter().fold(Row::default(), |mut total, row| {
        total.num_turns += row.num_turns;
        add(&mut total.wall, row.wall);
        add(&mut total.api, row.api);
        add(&mut total.cost, row.cost);
        total
    });
    let columns = columns();
    let table = Table::of("Turns", &columns, &rows).with_total(&columns, &total).on_screen(50);
    let saved = view.ledger.waits.len() as u64;
    let note = (saved > 0).then(|| {
        Line::new(Tone::Plain)
            .count(saved, " turn", " turns")
            .words(" of saved sessions only say how long they took; `{sessions}` counts that")
    });
    Report::of(SPEC.name, table, note.into_iter().collect())
}
