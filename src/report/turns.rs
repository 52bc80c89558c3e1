//! The list of results: how the work on each prompt ended.

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
        about: "List results of prompts: duration, cost and outcome",
        details: "One row per `result` record, which a printed run writes when the work on a prompt ends. Saved sessions have none: see \
            `ccstat prompts`. The cost is the difference to the previous total, so the rows add up.",
        examples: &[
            ("The cost of each prompt of a run", "ccstat turns run.jsonl"),
            ("The most expensive prompts of several runs", "ccstat turns runs/ --sort cost_usd --limit 10"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("turns", "Results of prompts, one per row: duration, cost and outcome.", || {
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
        time ended "Ended" "Time of the end, or of the last row before it."
            => row.turn.context.time;
        text session "Session" "Session id." => &row.context.session;
        text project "Project" [data] "Working directory of the session." => &row.context.project;
        text subtype "End" "Subtype of the result." => &row.turn.subtype;
        flag ok "Ok" [nullable] "Whether it succeeded; the CLI also writes the subtype `success` for some failures."
            => row.turn.ok;
        millis wall_ms "Wall" [nullable] "Wall time." => row.turn.wall;
        millis api_ms "API" [nullable] "Time spent in the API." => row.turn.api;
        millis first_token_ms "First token" [nullable, no_sum, wide] "Time to the first token, from the start of the turn."
            => row.turn.first_token;
        millis time_to_request_ms "Request" [nullable, no_sum, data] "Time to the first request, from the start of the turn."
            => row.turn.time_to_request;
        count num_turns "Steps" "Responses of the model: `num_turns` as reported by the CLI." => row.turn.num_turns;
        usd cost_usd "Cost" "Reported cost of this prompt: the difference to the previous total." => row.turn.cost;
        text place "Location" [wide_screen] "Location of the record." => &row.context.place;
        ..place_columns();
    }
}

/// One row per `result`, latest last.
fn turns(view: &View<'_>) -> Report {
    let mut turns: Vec<&Turn> = view.ledger.turns.iter().filter(|turn| turn.counted).collect();
    turns.sort_by_key(|turn| (turn.context.time.is_none(), turn.context.time, turn.context.location));
    let rows = turns.into_iter().map(|turn| Row { turn, context: RowContext::of(view, &turn.context) });
    let table = Table::of("Results", &columns(), rows).with_sums().on_screen(50).keeping_last();
    let saved = view.ledger.interactive_turns.len() as u64;
    let note = (saved > 0).then(|| {
        Line::new(Tone::Plain)
            .count(saved, " prompt", " prompts")
            .words(" of saved sessions have no result: see `{prompts}`")
    });
    Report::of(SPEC.name, table, note.into_iter().collect())
}
