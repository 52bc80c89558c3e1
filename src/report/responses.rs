//! The list of API responses and the charge for each.

use std::io;

use super::{
    Column, Report, ReportSpec, RowSink, Table, Value, View,
    column::columns,
    heads,
    sessions::cost_notes,
    stream::send,
    sum::{HasCost, HasLocation, Sum, cost_columns, has, place_columns, text},
};
use crate::{
    facts::ledger::{Charge, Context, Location, Response},
    measure::Usd,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(responses),
    stream: Some(stream),
    is_export: true,
    sample: &["export", "responses"],
    ..ReportSpec::rows(
        "responses",
        "API responses, one per row: time, agent, model, tokens and cost.",
        || heads(&columns()),
    )
};

#[derive(Default)]
struct Row {
    started: Value,
    session: Value,
    project: Value,
    agent: Value,
    version: Value,
    model: Value,
    id: Value,
    context: Option<u64>,
    calls: u64,
    sum: Sum,
    price: Option<Usd>,
    is_final: Option<bool>,
    source: Value,
    at: Option<Location>,
}

has! { HasCost for Row: sum -> Sum }

has! { HasLocation for Row: source, at }

impl Row {
    fn of(view: &View<'_>, context: &Context) -> Self {
        Self {
            started: context.time.into(),
            session: view.session_id(context),
            project: view.project(context),
            version: text(context.version.as_ref()),
            source: view.source(context.location),
            at: context.location,
            ..Self::default()
        }
    }

    fn response(view: &View<'_>, response: &Response) -> Self {
        Self {
            agent: view.agent_text(&response.context),
            model: Value::text(&response.model),
            id: text(response.id.as_ref()),
            context: Some(response.tokens.prompt()),
            calls: response.calls,
            price: response.price,
            is_final: Some(response.is_final),
            ..Self::of(view, &response.context)
        }
    }

    /// A charge without a response in the log, such as background requests of the CLI.
    fn alone(view: &View<'_>, charge: &Charge) -> Self {
        let model = text(charge.model.as_ref());
        Self { model, sum: Sum::of([charge]), ..Self::of(view, &charge.context) }
    }
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        time started "Time" "Time of its first record." => &row.started;
        text session "Session" "Session id." => &row.session;
        text project "Project" [data] "Working directory of the session." => &row.project;
        text agent "Agent" "`main`, or the type of the subagent; missing for charges without a response."
            => &row.agent;
        text model "Model" "Model that was charged." => &row.model;
        text version "Version" [data] "CLI version that wrote it." => &row.version;
        text id "Id" [data] "`message.id`, if the log has it." => &row.id;
        count context "Context" [no_sum, nullable] "Prompt tokens, cached or not, as reported by the response itself."
            => row.context;
        count calls "Calls" "Tool calls in the response." => row.calls;
        ..cost_columns();
        ..figures();
        ..place_columns();
    }
}

/// Columns about the source of the cost.
fn figures() -> Vec<Column<Row>> {
    columns! { |row: Row|
        usd price_usd "Price" [wide] "Price of its tokens by the price table, regardless of the reported cost."
            => row.price;
        flag is_final "Final" [nullable, data] "Whether its token counts are final; missing for charges without a response."
            => row.is_final;
    }
}

/// One row per response, in log order, then charges without a response.
fn rows<'a>(view: &View<'a>) -> impl Iterator<Item = Row> + use<'a> {
    let (view, ledger) = (*view, view.ledger);
    let mut sums = vec![Sum::default(); ledger.responses.len()];
    for charge in &ledger.charges {
        if let Some(at) = charge.response {
            sums[at.get()].add(charge);
        }
    }
    let answered = ledger.responses.iter().zip(sums);
    let answered = answered.map(move |(one, sum)| Row { sum, ..Row::response(&view, one) });
    let alone = ledger.charges.iter().filter(|charge| charge.response.is_none());
    answered.chain(alone.map(move |charge| Row::alone(&view, charge)))
}

fn stream(view: &View<'_>, sink: &mut RowSink<'_>) -> io::Result<()> {
    send(&columns(), rows(view), sink)
}

fn responses(view: &View<'_>) -> Report {
    let table = Table::of("Responses", &columns(), rows(view)).with_sums().on_screen(50);
    Report::of(SPEC.name, table, cost_notes(view.ledger))
}
