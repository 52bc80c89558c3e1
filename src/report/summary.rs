//! `summarize`: what happened, in one object for programs and on one screen for people.

use std::collections::BTreeMap;

use super::{CommandGroup, CommandSpec, Data, Ending, Line, Report, ReportSpec, Section, Text, Tone, Value};
use crate::{
    facts::{Account, Arrived, Detail, Input, Latencies, ModelCost, Name, ToolCount, Unknown},
    input::SourceId,
    measure::Tokens,
};

mod keys;
mod screen;

pub(super) use screen::doubted;

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::TOTALS,
    is_gated: true,
    sample: &["summarize"],
    command: Some(CommandSpec {
        name: Some("summarize"),
        group: CommandGroup::Run,
        about: "Say what happened: how it ended, what needs a look, its cost",
        details: "Reads stream-json output, saved sessions, and what hosts and bridges write, in any mixture.",
        examples: &[
            (
                "A run, when it has ended",
                "claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize",
            ),
            ("The saved sessions of a project", "ccstat summarize ~/.claude/projects/my-project"),
            (
                "A screen for the log of a job, and files for later",
                "ccstat summarize run.jsonl -o run.json -o run.md",
            ),
            ("A run that goes on, as it goes on", "ccstat summarize --follow run.jsonl"),
            (
                "A step of a workflow on GitHub, and its result as a test",
                "ccstat summarize run.jsonl --github -o run.xml",
            ),
        ],
        has_arguments: true,
    }),
    ..ReportSpec::tree(
        "summary",
        "What happened: how it ended, what needs attention, tools, tokens, cost and kinds of records.",
        keys::KEYS,
    )
};

/// The names of the sources, by their number.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a>(pub &'a [Name]);

impl<'a> Names<'a> {
    /// The name of a source; that of standard input for one without.
    pub fn get(&self, source: SourceId) -> &'a str {
        self.0.get(source.0 as usize).map_or("-", |name| name)
    }

    /// The same, shared.
    pub(super) fn text(&self, source: SourceId) -> Text {
        self.0.get(source.0 as usize).map_or(Text::fixed("-"), Text::from)
    }
}

/// The report of everything.
pub fn summary(account: &Account, names: Names<'_>) -> Report {
    let pairs = |entries: Vec<(&str, Value)>| {
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    };
    let data = pairs(vec![
        ("input", input(account, names)),
        ("kinds", Value::counts(&account.kinds)),
        ("blocks", Value::counts(&account.blocks)),
        (
            "unknown",
            Value::map([
                ("kinds", unknown(&account.unknown_kinds, names)),
                ("blocks", unknown(&account.unknown_blocks, names)),
            ]),
        ),
        ("sessions", account.sessions.into()),
        ("prompts", account.prompts.into()),
        ("responses", account.responses.into()),
        ("turns", turns(account)),
        ("tools", tools(account)),
        (
            "denials",
            Value::map([
                ("total", account.denials.total.into()),
                ("by_tool", Value::counts(&account.denials.by_tool)),
            ]),
        ),
        ("errors", errors(account)),
        ("tokens", Value::map(token_keys(&account.tokens, true))),
        ("cost", cost(account)),
        ("duration", duration(account)),
        ("models", list(&account.models)),
        ("versions", list(&account.versions)),
        ("by_arrival", Value::Missing),
    ]);
    let (screen, notes) = (screen::screen(account, names), screen::notes(account));
    let endings = vec![Ending { run: None, wall: account.duration.wall, failure: screen::failure(account) }];
    Report { name: SPEC.name, data: Data::Tree(data), notes, verdicts: Vec::new(), endings, screen }
}

/// Says how much was read, if reading was stopped before its end.
pub fn interrupted(input: &Input) -> Option<Line> {
    let total = input.interrupted?.total;
    let line = Line::new(Tone::Warning).word("Interrupted: ").value(Value::Bytes(input.bytes));
    // A total that is too small is that of packed files.
    let line = match total.filter(|total| *total >= input.bytes) {
        Some(total) => line.word(" of ").value(Value::Bytes(total)),
        None => line,
    };
    Some(line.word(" read"))
}

/// The same with what only those know who saw it arrive.
#[must_use]
pub fn arrived(mut report: Report, account: &Account, arrived: &Arrived) -> Report {
    let tools = arrived.tools.iter().map(|(tool, latencies)| (&**tool, latency(*latencies)));
    let told = Value::map([
        ("elapsed_ms", arrived.elapsed.into()),
        ("first_record_ms", arrived.first.into()),
        ("tools", Value::map(tools)),
    ]);
    if let Data::Tree(entries) = &mut report.data {
        entries
            .iter_mut()
            .filter(|(key, _)| key == "by_arrival")
            .for_each(|(_, value)| *value = told.clone());
    }
    // Where the log has times, these say it too.
    let table = if account.duration.tool.is_none() { screen::arrived(arrived) } else { None };
    report.screen.extend(table.map(Section::Table));
    report
}

fn list(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| Value::text(&**text)).collect())
}

fn input(account: &Account, names: Names<'_>) -> Value {
    let input = &account.input;
    let places = input.invalid_places.iter().map(|place| {
        Value::map([
            ("source", names.get(place.source).into()),
            ("line", place.line.into()),
            ("offset", place.offset.into()),
            ("reason", (&*place.reason).into()),
        ])
    });
    Value::map([
        ("sources", input.sources.into()),
        ("bytes", Value::Bytes(input.bytes)),
        ("lines", input.lines.into()),
        ("blank", input.blank.into()),
        ("records", input.records.into()),
        ("invalid", input.invalid.into()),
        ("truncated", input.truncated.into()),
        ("copies", input.copies.into()),
        ("dialects", Value::counts(&input.dialects)),
        ("invalid_places", Value::List(places.collect())),
        ("interrupted", Value::Flag(input.interrupted.is_some())),
    ])
}

fn unknown(unknown: &BTreeMap<String, Unknown>, names: Names<'_>) -> Value {
    Value::map(unknown.iter().map(|(name, unknown)| {
        let place = Value::map([
            ("count", unknown.count.into()),
            ("source", names.get(unknown.source).into()),
            ("line", unknown.line.into()),
            ("version", unknown.version.clone().into()),
        ]);
        (&**name, place)
    }))
}

fn turns(account: &Account) -> Value {
    let turns = &account.turns;
    Value::map([
        ("total", turns.total.into()),
        ("ok", turns.ok.into()),
        ("errors", turns.errors.into()),
        ("by_subtype", Value::counts(&turns.by_subtype)),
        ("failed_by_subtype", Value::counts(&turns.failed_by_subtype)),
        ("num_turns", turns.num_turns.into()),
        ("no_result_sessions", turns.no_result_sessions.into()),
    ])
}

fn tools(account: &Account) -> Value {
    let tools = &account.tools;
    let mut keys = call_keys(&tools.total);
    keys.push(("orphans", tools.orphans.into()));
    let by_name = tools.by_name.iter().map(|(name, tool)| {
        let mut keys = call_keys(tool);
        keys.push(("latency_ms", tool.latency.map_or(Value::Missing, latency)));
        (&**name, Value::map(keys))
    });
    keys.push(("by_name", Value::map(by_name)));
    Value::map(keys)
}

fn call_keys(tool: &ToolCount) -> Vec<(&'static str, Value)> {
    vec![
        ("calls", tool.calls.into()),
        ("ok", tool.ok.into()),
        ("errors", tool.errors.into()),
        ("denied", tool.denied.into()),
        ("open", tool.open.into()),
    ]
}

fn latency(latency: Latencies) -> Value {
    Value::map([
        ("count", latency.count.into()),
        ("total", latency.total.into()),
        ("p50", latency.p50.into()),
        ("p90", latency.p90.into()),
        ("p95", latency.p95.into()),
        ("p99", latency.p99.into()),
        ("max", Value::from(latency.max)),
    ])
}

fn errors(account: &Account) -> Value {
    let errors = &account.errors;
    Value::map([
        ("tool", errors.tool.into()),
        ("turn", errors.turn.into()),
        ("api", errors.api.into()),
        ("api_retries", errors.api_retries.into()),
        ("by_type", Value::counts(&errors.by_type)),
    ])
}

fn token_keys(tokens: &Tokens, searches: bool) -> Vec<(&'static str, Value)> {
    let mut keys = vec![
        ("input", tokens.input.into()),
        ("output", tokens.output.into()),
        ("cache_read", tokens.cache_read.into()),
        ("cache_write_5m", tokens.cache_write_5m.into()),
        ("cache_write_1h", tokens.cache_write_1h.into()),
    ];
    if searches {
        keys.push(("web_searches", tokens.web_searches.into()));
    }
    keys
}

fn cost(account: &Account) -> Value {
    let cost = &account.cost;
    let by_model = |(name, model): (&String, &ModelCost)| {
        let mut keys = vec![("total_usd", model.total.into())];
        keys.extend(token_keys(&model.tokens, false));
        (name.clone(), Value::map(keys))
    };
    Value::map([
        ("total_usd", cost.total.into()),
        ("reported_usd", cost.reported.into()),
        ("computed_usd", cost.computed.into()),
        ("complete", Value::Flag(cost.complete)),
        ("unpriced_models", list(&cost.unpriced_models)),
        ("by_model", Value::map(cost.by_model.iter().map(by_model))),
    ])
}

fn duration(account: &Account) -> Value {
    let duration = &account.duration;
    Value::map([
        ("wall_ms", duration.wall.into()),
        ("api_ms", duration.api.into()),
        ("tool_ms", duration.tool.into()),
        ("first", duration.first.into()),
        ("last", Value::from(duration.last)),
    ])
}
