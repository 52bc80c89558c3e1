//! The list of charges: the cost of sessions, divided over responses, models and tools.

use std::{collections::HashSet, io};

use super::{
    Column, Report, ReportSpec, RowSink, Table, Value, View,
    column::columns,
    heads,
    sessions::cost_notes,
    stream::send,
    sum::{HasLocation, has, place_columns, text},
};
use crate::{
    facts::{
        Name,
        ledger::{Charge, Location, Response, ResponseIndex, Session},
    },
    measure::Usd,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(charges),
    stream: Some(stream),
    is_export: true,
    sample: &["export", "charges"],
    ..ReportSpec::rows(
        "charges",
        "Costs of sessions, divided over responses, models and tools; one part per row, so that every sum adds up.",
        || heads(&columns()),
    )
};

struct Row<'a> {
    charge: &'a Charge,
    response: Option<&'a Response>,
    session: Value,
    project: Value,
    machine: Value,
    agent: Value,
    version: Value,
    counts: Counts,
    source: Value,
    at: Option<Location>,
}

has! { HasLocation for Row<'_>: source, at }

/// Whether a charge is the first of its response: of all, of its model, and of its tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    response: bool,
    model: bool,
    tool: bool,
}

/// Marks the first charges of each response, in the order of the ledger.
#[derive(Default)]
struct Counter<'a> {
    response: Option<ResponseIndex>,
    models: HashSet<Option<&'a Name>>,
    tools: HashSet<Option<&'a Name>>,
}

impl<'a> Counter<'a> {
    fn count(&mut self, charge: &'a Charge) -> Counts {
        let Some(response) = charge.response else { return Counts::default() };
        let is_first = self.response.replace(response) != Some(response);
        if is_first {
            self.models.clear();
            self.tools.clear();
        }
        Counts {
            response: is_first,
            model: self.models.insert(charge.model.as_ref()),
            tool: self.tools.insert(charge.tool.as_ref()),
        }
    }
}

impl<'a> Row<'a> {
    fn of(view: &View<'a>, charge: &'a Charge, counts: Counts) -> Self {
        let context = &charge.context;
        let session = view.session(context);
        let response = charge.response.map(|at| &view.ledger.responses[at]);
        let own = |name: fn(&Session) -> Option<&Name>| text(session.and_then(name));
        // A charge without a response is in no record, but its session is.
        let source = match (context.location, session) {
            (None, Some(session)) => Value::Text(view.names.text(session.source)),
            (at, _) => view.source(at),
        };
        Self {
            charge,
            response,
            session: view.session_id(context),
            project: view.project(context),
            machine: own(|session| session.machine.as_ref()),
            agent: response.map_or(Value::Missing, |_| view.agent_text(context)),
            version: context
                .version
                .as_ref()
                .map_or_else(|| own(|session| session.version.as_ref()), Value::text),
            counts,
            source,
            at: context.location,
        }
    }

    /// An amount of the response, in the first of its charges.
    fn once(&self, amount: fn(&Response) -> Option<Usd>) -> Option<Usd> {
        self.response.filter(|_| self.counts.response).and_then(amount)
    }
}

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        time started "Time" "Time of the response; missing for charges without a response." => row.charge.context.time;
        text session "Session" "Session id." => &row.session;
        text project "Project" [data] "Working directory of the session." => &row.project;
        text machine "Machine" [data] "Machine on which the session was archived." => &row.machine;
        text agent "Agent" "`main`, or the type of the subagent; missing for charges without a response." => &row.agent;
        text model "Model" "Model that was charged." => &row.charge.model;
        text tool "Tool" "Tool that the response calls. A response that calls several tools has a row for each."
            => &row.charge.tool;
        text version "Version" [data] "CLI version." => &row.version;
        text message_id "Message id" [data] "`message.id` of the response, if the log has it."
            => row.response.and_then(|response| response.id.as_ref());
        count responses "Responses" [wide] "1 in the first row of a response, otherwise 0." => u64::from(row.counts.response);
        count model_responses "Of the model" [data] "1 in the first row of a response and its model, otherwise 0."
            => u64::from(row.counts.model);
        count tool_responses "Of the tool" [data] "1 in the first row of a response and its tool, otherwise 0."
            => u64::from(row.counts.tool);
        ..tokens();
        ..amounts();
        ..place_columns();
    }
}

fn tokens<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        count input "Input" "Input tokens that were not cached." => row.charge.tokens.input;
        count output "Output" "Output tokens." => row.charge.tokens.output;
        count cache_read "Cache read" "Tokens read from the cache." => row.charge.tokens.cache_read;
        count cache_write_5m "Write 5m" [wide] "Tokens written to the cache for five minutes."
            => row.charge.tokens.cache_write_5m;
        count cache_write_1h "Write 1h" [wide] "Tokens written to the cache for an hour."
            => row.charge.tokens.cache_write_1h;
        count web_searches "Searches" [data] "Web searches." => row.charge.tokens.web_searches;
    }
}

fn amounts<'a>() -> Vec<Column<Row<'a>>> {
    columns! { |row: Row<'a>|
        usd cost_usd "Cost" "Cost at API prices: reported by the CLI, otherwise computed from tokens." => row.charge.cost;
        flag reported "Reported" [data] "Whether the CLI reported the cost." => row.charge.reported;
        usd computed_usd "Computed" [data] "Price of all tokens of the response if their counts are final, in its first row."
            => row.once(|response| response.computed);
        usd cache_saved_usd "Cache saved" [data] "Amount saved by the cache; negative if writing it cost more."
            => row.charge.saved;
    }
}

/// One row per charge. Those of one response follow each other.
fn rows<'a>(view: &View<'a>) -> impl Iterator<Item = Row<'a>> {
    let mut counter = Counter::default();
    view.ledger.charges.iter().map(move |charge| Row::of(view, charge, counter.count(charge)))
}

fn stream(view: &View<'_>, sink: &mut RowSink<'_>) -> io::Result<()> {
    send(&columns(), rows(view), sink)
}

fn charges(view: &View<'_>) -> Report {
    let table = Table::of("Charges", &columns(), rows(view)).with_sums().on_screen(50);
    Report::of(SPEC.name, table, cost_notes(view.ledger))
}
