//! Turns, one by one: each `result` record.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, View,
    column::columns,
    heads,
    sum::{HasContext, RowContext, has, place_columns},
};
use crate::facts::ledger::Turn;

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

struct Row<'a> {
    turn: &'a Turn,
    context: RowContext,
}

has! { HasContext for Row<'_>: context -> RowContext }

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        time ended "Ended" "When it ended: its own time, else that of the last row before it."
            => row.turn.context.time;
        text session "Session" "Id of its session." => &row.context.session;
        text project "Project" [data] "The folder of its session." => &row.context.project;
        text subtype "End" "How it ended, in the CLI's word." => &row.turn.subtype;
        flag ok "Ok" [nullable] "Whether it succeeded: the CLI also writes `success` for turns that failed."
            => row.turn.ok;
        millis wall_ms "Wall" [nullable] "Wall time." => row.turn.wall;
        millis api_ms "API" [nullable] "Time that the API took." => row.turn.api;
        millis first_token_ms "First token" [nullable, no_sum, wide] "Time until the first token came."
            => row.turn.first_token;
        count num_turns "Steps" "The CLI's own `num_turns`." => row.turn.num_turns;
        usd cost_usd "Cost" "What the CLI reported for this turn: the difference to the total before it." => row.turn.cost;
        text place "Place" [screen] "Where it stands." => &row.context.place;
        ..place_columns();
    }
}

/// One row a `result`, the latest last.
fn turns(view: &View<'_>) -> Report {
    let mut turns: Vec<&Turn> = view.ledger.turns.iter().filter(|turn| turn.counted).collect();
    turns.sort_by_key(|turn| (turn.context.time.is_none(), turn.context.time, turn.context.location));
    let rows = turns.into_iter().map(|turn| Row { turn, context: RowContext::of(view, &turn.context) });
    let table = Table::of("Turns", &columns(), rows).with_sums().on_screen(50);
    let saved = view.ledger.interactive_turns.len() as u64;
    let note = (saved > 0).then(|| {
        Line::new(Tone::Plain)
            .count(saved, " turn", " turns")
            .words(" of saved sessions only say how long they took; `{sessions}` counts that")
    });
    Report::of(SPEC.name, table, note.into_iter().collect())
}
