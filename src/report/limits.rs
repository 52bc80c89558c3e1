//! Limits that a run reached: of the subscription, model, context, steps or budget.

mod forecast;

pub(crate) use forecast::SPEC as FORECAST;
pub use forecast::forecast;

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Value, View,
    column::columns,
    heads,
    sum::{Row, RowContext, agent_column, place_column, place_columns, session_columns, text},
};
use crate::{
    facts::{
        Detail,
        trace::limit::{Limit, limits as met},
    },
    measure::Millis,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::LIMITS),
    make: Some(limits),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "List limits: rate limits, fallbacks, refusals, compactions",
        details: "API retries are listed by `ccstat errors`. With --forecast, estimates which rate limit is reached first, and when.",
        examples: &[
            ("Where a run was delayed or stopped", "ccstat limits run.jsonl"),
            (
                "Every compaction of a month, for a spreadsheet",
                "ccstat limits ~/.claude/projects --since 30d --format csv",
            ),
            ("Which rate limit will be reached, and when", "ccstat limits --forecast runs/"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "limits",
        "Limits that were reached: rate limits, model fallbacks, refusals, compactions, stops at steps or budget.",
        || heads(&columns()),
    )
};

type LimitRow = Row<Limit>;

fn columns() -> Vec<Column<LimitRow>> {
    let mut columns = what_columns();
    columns.extend(figure_columns());
    columns.push(agent_column("`main`, or the type of the subagent.").shown(Shown::Wide));
    columns.extend(session_columns());
    columns.push(place_column("Location of the record.").wide_screen());
    columns.extend(place_columns());
    columns
}

fn what_columns() -> Vec<Column<LimitRow>> {
    columns! { |row: LimitRow|
        time time "Time" "Time, if the log has it." => row.fact.context.time;
        text sort "Kind" [required] "`rate_limit`, `fallback`, `refusal`, `compaction`, `microcompaction` or `stop`."
            => row.fact.kind.name();
        text what "Details" "Details in the log: status and window, trigger, category, `max_turns` or `max_budget_usd`."
            => &row.fact.what;
        text models "Models" [screen] "The model and its fallback."
            => {
            let Limit { model, fallback, .. } = &row.fact;
            match (model, fallback) {
                (Some(model), Some(fallback)) => Value::text(format!("{model} → {fallback}")),
                (one, other) => text(one.as_deref().or(other.as_deref())),
            }
        };
        text model "Model" [data] "Requested model." => &row.fact.model;
        text fallback_model "Fallback" [data] "Model used instead." => &row.fact.fallback;
    }
}

fn figure_columns() -> Vec<Column<LimitRow>> {
    columns! { |row: LimitRow|
        count context_before "Before" [no_sum, nullable] "Tokens of the conversation before a compaction."
            => row.fact.before;
        count context "After" [no_sum, nullable] "Tokens of the conversation after a compaction." => row.fact.after;
        millis wall_ms "Took" [wide] "Duration of a compaction." => row.fact.took;
        share used "Used" "Share of a rate limit that is used." => row.fact.used;
        time resets "Resets" "Time at which a rate limit resets." => row.fact.resets;
    }
}

/// One row per limit that was reached, in log order.
fn limits(view: &View<'_>) -> Report {
    let row = |fact: Limit| Row { context: RowContext::of(view, &fact.context), fact };
    let rows: Vec<LimitRow> = met(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Limits", &columns(), &rows).on_screen(50).keeping_last();
    let notes = notes(view, rows.is_empty());
    Report::of(SPEC.name, table, notes)
}

/// Points to `errors` for API failures, which are not listed here.
fn notes(view: &View<'_>, nothing: bool) -> Vec<Line> {
    let api_failures = &view.ledger.api_failures;
    let mut line = Line::new(Tone::Plain);
    if api_failures.is_empty() {
        return nothing.then(|| Line::new(Tone::Good).word("no limit was reached")).into_iter().collect();
    }
    if nothing {
        line = line.word("no limit was reached, but ");
    }
    line = line.count(api_failures.len() as u64, " API failure", " API failures");
    if api_failures.iter().any(|failure| failure.wait.is_some()) {
        let waited: Millis = api_failures.iter().filter_map(|failure| failure.wait).sum();
        line = line.word(" with ").value(waited).word(" of waiting");
    }
    vec![line.words(": see `{errors}`")]
}
