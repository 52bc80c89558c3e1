//! The summary on screen: headline, findings that need attention, then tables.

use super::Names;
use crate::{
    facts::{Account, Arrived, Input, InvalidPlace, Latencies, ModelCost, Name, ToolCount, Unknown},
    measure::{Time, Tokens, Usd},
    report::{Column, Line, Section, Table, Tone, column::columns, unique_prefix},
};
use std::collections::BTreeMap;

/// Maximum number of rows of a table.
const ROWS: usize = 15;

/// Maximum number of names or locations in a line.
const EXAMPLES: usize = 3;

/// A tool and its calls.
type Tool = (String, ToolCount);

fn tools_columns() -> Vec<Column<Tool>> {
    columns! { |row: Tool|
        text tool "Tool" "Name of the tool." => &row.0;
        count calls "Calls" "Number of calls." => row.1.calls;
        count ok "Ok" "Successful calls." => row.1.ok;
        count errors "Errors" "Failed calls." => row.1.errors;
        count denied "Denied" "Denied calls." => row.1.denied;
        count open "Open" "Calls without a result." => row.1.open;
        millis p50_ms "p50" [no_sum] "Median latency." => row.1.latency.map(|all| all.p50);
        millis p90_ms "p90" [no_sum, wide] "Latency, 90th percentile." => row.1.latency.map(|all| all.p90);
        millis max_ms "Max" [no_sum, wide] "Longest latency." => row.1.latency.map(|all| all.max);
    }
}

/// A model with its tokens and cost.
type Model = (String, ModelCost);

fn models_columns() -> Vec<Column<Model>> {
    columns! { |row: Model|
        text model "Model" "Name of the model." => &row.0;
        count input "Input" "Input tokens." => row.1.tokens.input;
        count output "Output" "Output tokens." => row.1.tokens.output;
        count cache_read "Cache read" "Tokens read from the cache." => row.1.tokens.cache_read;
        count cache_write_5m "Write 5m" [wide] "Tokens written to the cache for five minutes."
            => row.1.tokens.cache_write_5m;
        count cache_write_1h "Write 1h" [wide] "Tokens written to the cache for an hour."
            => row.1.tokens.cache_write_1h;
        usd cost_usd "Cost" "Cost, if known." => row.1.total;
    }
}

fn kinds_columns() -> Vec<Column<(String, u64)>> {
    columns! { |row: (String, u64)|
        text kind "Kind of record" "Type and discriminator." => &row.0;
        count records "Records" "Number of records." => row.1;
    }
}

/// A tool and the latencies of its calls.
type Seen = (Name, Latencies);

fn arrivals_columns() -> Vec<Column<Seen>> {
    columns! { |row: Seen|
        text tool "Tool" "Name of the tool." => &row.0;
        count calls "Calls" "Calls whose request and result were both observed." => row.1.count;
        millis p50_ms "p50" [no_sum] "Median latency." => row.1.p50;
        millis p90_ms "p90" [no_sum] "Latency, 90th percentile." => row.1.p90;
        millis max_ms "Max" [no_sum] "Longest latency." => row.1.max;
    }
}

/// Table of latencies measured while the stream arrived.
pub(super) fn arrived(arrived: &Arrived) -> Option<Table> {
    let mut tools: Vec<(Name, Latencies)> =
        arrived.tools.iter().map(|(tool, latencies)| (tool.clone(), *latencies)).collect();
    tools.sort_by_key(|(_, latencies)| std::cmp::Reverse(latencies.total));
    (!tools.is_empty()).then(|| cut(&arrivals_columns(), "Latency by arrival", &mut tools, "tools"))
}

pub(super) fn screen(account: &Account, names: Names<'_>) -> Vec<Section> {
    let mut sections = vec![Section::Verdict(verdict(account))];
    sections.extend(about(account).map(Section::About));
    let attention = attention(account, names);
    if !attention.is_empty() {
        sections.push(Section::Attention(attention));
    }
    let kinds = kinds(account).filter(|_| !account.unknown_kinds.is_empty());
    sections.extend([tools(account), models(account), kinds].into_iter().flatten().map(Section::Table));
    sections
}

/// The headline: outcome, prompts, steps, cost, duration.
fn verdict(account: &Account) -> Line {
    let mut line = doubted(ending(account), &account.input);
    if account.sessions > 1 {
        line = line.word(" · ").count(account.sessions, " session", " sessions");
    }
    // Streams have a result for each prompt, saved sessions have the prompts themselves.
    let prompts = account.turns.total.max(account.prompts);
    let is_said = How::of(account) == How::Failed && account.turns.errors < account.turns.total;
    if prompts > 0 && !(is_said && prompts == account.turns.total) {
        line = line.word(" · ").count(prompts, " prompt", " prompts");
    }
    if account.responses > 0 {
        line = line.word(" · ").count(account.responses, " step", " steps");
    }
    line = cost(line, account);
    match account.duration.wall {
        Some(wall) => line.word(" · ").value(wall),
        None => match account.duration.first.zip(account.duration.last) {
            Some((first, last)) => {
                line.word(" · ").value(last.since(first)).word(" from first to last record")
            }
            None => line,
        },
    }
}

/// Appends the cost, or a lower bound of it.
fn cost(line: Line, account: &Account) -> Line {
    let cost = &account.cost;
    match (cost.total, cost.unbilled) {
        (None, None) => line.word(" · cost unknown"),
        (Some(total), _) if cost.complete => line.word(" · ").value(total),
        (total, unbilled) => line.word(" · at least ").value(total.into_iter().chain(unbilled).sum::<Usd>()),
    }
}

/// Which run it is: session, folder, date and models, if there is only one.
fn about(account: &Account) -> Option<Line> {
    let only = account.only_session.as_ref()?;
    let line = Line::new(Tone::Plain).word("session ").value(unique_prefix(&only.id, None, None));
    let project = only.project.as_deref();
    let line = project.map_or(line.clone(), |project| line.word(" · ").value(project));
    let line = only.started.map_or(line.clone(), |started| line.word(" · ").value(started));
    let models = account.models.iter().take(EXAMPLES).enumerate();
    let line = models
        .fold(line, |line, (index, model)| line.word(if index == 0 { " · " } else { ", " }).value(&**model));
    Some(and_more(line, account.models.len()))
}

/// The headline of a run that goes on: the step, the running call and the cost so far.
pub(super) fn running(account: &Account, now: Time) -> Option<Line> {
    if How::of(account) != How::NoResult {
        return None;
    }
    let mut line = Line::new(Tone::Running).word("Running");
    if account.sessions > 1 {
        line = line.word(" · ").count(account.turns.no_result_sessions, " session", " sessions");
    }
    if account.responses > 0 {
        line = line.word(" · step ").value(account.responses);
    }
    if let Some((tool, since)) = account.only_session.as_ref().and_then(|only| only.open_call.as_ref()) {
        line = line.word(" · ").value(&**tool);
        line = since.map_or(line.clone(), |since| line.word(" ").value(now.since(since)));
    }
    Some(cost(line, account))
}

/// How everything that was read ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Reading was interrupted.
    Interrupted,
    Nothing,
    /// No run has a result.
    NoResult,
    /// The logs do not say.
    Unsaid,
    /// Every run failed, or some did.
    Failed,
    Success,
}

impl How {
    fn of(account: &Account) -> Self {
        let turns = &account.turns;
        match () {
            () if account.input.interrupted.is_some() => Self::Interrupted,
            () if account.input.records == 0 => Self::Nothing,
            () if turns.total == 0 && turns.no_result_sessions > 0 => Self::NoResult,
            () if turns.total == 0 => Self::Unsaid,
            () if turns.errors > 0 => Self::Failed,
            () => Self::Success,
        }
    }
}

fn ending(account: &Account) -> Line {
    match How::of(account) {
        How::Interrupted => super::interrupted(&account.input).unwrap_or(Line::new(Tone::Warning)),
        How::Nothing => Line::new(Tone::Bad).word("No records"),
        How::NoResult if account.turns.no_result_sessions > 1 => {
            Line::new(Tone::Bad).word("No result: the runs were killed, or are still running")
        }
        How::NoResult => Line::new(Tone::Bad).word("No result: the run was killed, or is still running"),
        How::Unsaid => with_denials(Line::new(Tone::Plain).word(written(account)), account),
        How::Failed => failed(account),
        How::Success => with_denials(Line::new(Tone::Good).word("Success"), account),
    }
}

/// Says how many prompts failed, and why.
fn failed(account: &Account) -> Line {
    let turns = &account.turns;
    let reasons = || turns.failed_by_reason.iter().map(|(reason, &count)| (reason_words(reason), count));
    let line = Line::new(Tone::Bad);
    if turns.errors < turns.total {
        let line = line.value(turns.errors).word(" of ").value(turns.total).word(" prompts failed");
        return listed(line, reasons());
    }
    let line = line.word("Failed");
    match &reasons().collect::<Vec<_>>()[..] {
        [(reason, _)] => line.word(": ").value(*reason),
        _ => listed(line, reasons()),
    }
}

/// Names without a meaning to the reader are spelled out.
fn reason_words(reason: &str) -> &str {
    match reason {
        "is_error" => "the result says is_error",
        "unknown" => "API error",
        other => other,
    }
}

/// Qualifies the headline if there are more invalid lines than records. Such a log is never reported as good.
pub(in crate::report) fn doubted(headline: Line, input: &Input) -> Line {
    if input.invalid <= input.records {
        return headline;
    }
    let tone = match headline.tone {
        Tone::Bad => Tone::Bad,
        Tone::Good | Tone::Warning | Tone::Running | Tone::Plain => Tone::Warning,
    };
    let mut line = Line::new(tone).word("This may not be a Claude Code log: ");
    line = line.count(input.invalid, " invalid line, ", " invalid lines, ");
    line = line.count(input.records, " record", " records");
    if input.records > 0 {
        line = line.word(" · ");
        line.parts.extend(headline.parts);
    }
    line
}

/// Why the run counts as failed: a turn failed, or a run has no result.
pub(super) fn failure(account: &Account) -> Option<Line> {
    let ending = ending(account);
    match ending.tone {
        Tone::Bad => Some(doubted(ending, &account.input)),
        Tone::Good | Tone::Warning | Tone::Running | Tone::Plain => without_result(account),
    }
}

fn without_result(account: &Account) -> Option<Line> {
    let count = account.turns.no_result_sessions;
    let line = Line::new(Tone::Bad).count(count, " session", " sessions");
    (count > 0).then(|| line.word(" without a result: killed, or still running"))
}

/// Headline for logs that do not say how the run ended.
fn written(account: &Account) -> &'static str {
    let has = |dialect: &str| account.input.dialects.contains_key(dialect);
    match () {
        () if has("transcript") && account.sessions == 1 => "Saved session",
        () if has("transcript") => "Saved sessions",
        () if has("stream") || has("bridge") => "No result",
        () => "The host's side of a run",
    }
}

/// Mentions denials in the headline, since the CLI reports `success` despite denied calls.
fn with_denials(mut line: Line, account: &Account) -> Line {
    let denials = &account.denials;
    if denials.total == 0 {
        return line;
    }
    line.tone = Tone::Warning;
    let line = line.word(", but ").count(denials.total, " call was denied", " calls were denied");
    listed(line, denials.by_tool.iter().map(|(name, &count)| (&**name, count)))
}

fn attention(account: &Account, names: Names<'_>) -> Vec<Line> {
    let (turns, tools, errors, input) =
        (&account.turns, &account.tools.total, &account.errors, &account.input);
    // The headline is not repeated.
    let how = How::of(account);
    let denied = if matches!(how, How::Success | How::Unsaid) { 0 } else { account.denials.total };
    let failed = if how == How::Failed { 0 } else { turns.errors };
    let is_repeated = how == How::Failed && errors.by_type == turns.failed_by_reason;
    let bad = |count: u64| (count > 0).then(|| Line::new(Tone::Bad));
    let odd = |count: u64| (count > 0).then(|| Line::new(Tone::Warning));
    let by_tool = |count: fn(&ToolCount) -> u64| {
        account.tools.by_name.iter().map(move |(name, tool)| (&**name, count(tool)))
    };
    let reasons = turns.failed_by_reason.iter().map(|(reason, &count)| (reason_words(reason), count));
    [
        bad(failed)
            .map(|line| listed(line.count(turns.errors, " prompt failed", " prompts failed"), reasons)),
        without_result(account).filter(|_| how != How::NoResult),
        bad(denied).map(|line| {
            let line = line.count(account.denials.total, " call denied", " calls denied");
            listed(line, account.denials.by_tool.iter().map(|(name, &count)| (&**name, count)))
        }),
        bad(tools.errors).map(|line| {
            listed(line.count(tools.errors, " call failed", " calls failed"), by_tool(|tool| tool.errors))
        }),
        odd(tools.open).map(|line| {
            listed(
                line.count(tools.open, " call", " calls").word(" without a result"),
                by_tool(|tool| tool.open),
            )
        }),
        odd(account.tools.orphans).map(|line| {
            line.count(account.tools.orphans, " tool result", " tool results")
                .word(" without a call: the log with the call was not read")
        }),
        bad(errors.api + errors.api_retries).filter(|_| !is_repeated).map(|line| {
            let line = match errors.api {
                0 => line,
                count => line.count(count, " API error", " API errors"),
            };
            let line = match (errors.api, errors.api_retries) {
                (_, 0) => line,
                (0, count) => line.count(count, " API request retried", " API requests retried"),
                (_, count) => line.word(", ").count(count, " retry", " retries"),
            };
            listed(line, errors.by_type.iter().map(|(name, &count)| (&**name, count)))
        }),
        bad(input.invalid).map(|line| {
            invalid(
                line.count(input.invalid, " invalid record", " invalid records"),
                input.invalid,
                &input.invalid_places,
                names,
            )
        }),
        bad(input.truncated)
            .map(|line| line.count(input.truncated, " source ends", " sources end").word(" inside a record")),
        odd(account.unknown_kinds.len() as u64)
            .map(|line| unknown_names(line, "kind", "kinds", &account.unknown_kinds, names)),
        odd(account.unknown_blocks.len() as u64)
            .map(|line| unknown_names(line, "block", "blocks", &account.unknown_blocks, names)),
        unpriced(account),
        incomplete(account),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `: Bash 3, Write 1`, the most frequent first.
fn listed<'a>(line: Line, counts: impl Iterator<Item = (&'a str, u64)>) -> Line {
    let mut counts: Vec<(&str, u64)> = counts.filter(|&(_, count)| count > 0).collect();
    counts.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let mut line = line;
    for (index, &(name, count)) in counts.iter().take(EXAMPLES).enumerate() {
        line = line.word(if index == 0 { ": " } else { ", " }).value(name).word(" ").value(count);
    }
    and_more(line, counts.len())
}

fn and_more(line: Line, count: usize) -> Line {
    match count.saturating_sub(EXAMPLES) {
        0 => line,
        more => line.word(" and ").value(more as u64).word(" more"),
    }
}

fn invalid(line: Line, count: u64, places: &[InvalidPlace], names: Names<'_>) -> Line {
    let mut line = line;
    for (index, place) in places.iter().take(EXAMPLES).enumerate() {
        let at = format!("{}:{}", names.get(place.source), place.line);
        line = line
            .word(if index == 0 { ": " } else { "; " })
            .value(at)
            .word(" (")
            .value(&*place.reason)
            .word(")");
    }
    and_more(line, usize::try_from(count).unwrap_or(usize::MAX))
}

fn unknown_names(
    line: Line,
    one: &'static str,
    many: &'static str,
    unknown: &BTreeMap<String, Unknown>,
    names: Names<'_>,
) -> Line {
    let mut line =
        line.value(unknown.len() as u64).word(" unknown ").word(if unknown.len() == 1 { one } else { many });
    for (index, (name, first)) in unknown.iter().take(EXAMPLES).enumerate() {
        let at = format!("{}:{}", names.get(first.source), first.line);
        line = line.word(if index == 0 { ": " } else { ", " }).value(&**name).word(" at ").value(at);
    }
    and_more(line, unknown.len())
}

fn unpriced(account: &Account) -> Option<Line> {
    let models = &account.cost.unpriced_models;
    let mut line = (!models.is_empty()).then(|| Line::new(Tone::Bad).word("no price for "))?;
    for (index, model) in models.iter().take(EXAMPLES).enumerate() {
        line = line.word(if index == 0 { "" } else { ", " }).value(&**model);
    }
    Some(and_more(line, models.len()).words(": cost unknown; add a price with {a price file}"))
}

fn incomplete(account: &Account) -> Option<Line> {
    let cost = &account.cost;
    (!cost.complete && cost.unpriced_models.is_empty()).then(|| {
        Line::new(Tone::Warning).word("the cost is incomplete: some responses have no final token counts")
    })
}

/// A table of the first rows, with a line about the rest.
fn cut<R>(columns: &[Column<R>], title: &'static str, rows: &mut Vec<R>, noun: &'static str) -> Table {
    let left_out = rows.len().saturating_sub(ROWS);
    rows.truncate(if left_out > 1 { ROWS } else { ROWS + 1 });
    let mut table = Table::of(title, columns, rows);
    table.more = (left_out > 1).then(|| {
        Line::new(Tone::Plain)
            .word("and ")
            .value(left_out as u64)
            .word(" more ")
            .word(noun)
            .words(" ({data} lists all)")
    });
    table
}

fn tools(account: &Account) -> Option<Table> {
    let tools = &account.tools;
    let mut rows: Vec<(String, ToolCount)> = tools.by_name.clone().into_iter().collect();
    rows.sort_by(|one, two| two.1.calls.cmp(&one.1.calls).then_with(|| one.0.cmp(&two.0)));
    let table = (!rows.is_empty()).then(|| cut(&tools_columns(), "Tools", &mut rows, "tools"))?;
    Some(table.with_total(&tools_columns(), &("Total".to_owned(), tools.total.clone())).without_unknown())
}

fn models(account: &Account) -> Option<Table> {
    let cost = &account.cost;
    let mut rows: Vec<(String, ModelCost)> =
        cost.by_model.iter().map(|(name, &model)| (name.clone(), model)).collect();
    rows.sort_by(|one, two| two.1.total.cmp(&one.1.total).then_with(|| one.0.cmp(&two.0)));
    let table = (!rows.is_empty()).then(|| cut(&models_columns(), "Tokens and cost", &mut rows, "models"))?;
    let tokens = cost.by_model.values().map(|model| model.tokens).sum::<Tokens>();
    Some(table.with_total(&models_columns(), &("Total".to_owned(), ModelCost { total: cost.total, tokens })))
}

pub(super) fn kinds(account: &Account) -> Option<Table> {
    let mut rows: Vec<(String, u64)> =
        account.kinds.iter().map(|(name, &count)| (name.clone(), count)).collect();
    rows.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    (!rows.is_empty()).then(|| cut(&kinds_columns(), "Kinds", &mut rows, "kinds"))
}
