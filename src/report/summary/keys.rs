//! The summary as data: every key with its description, type and value.

use std::collections::BTreeMap;

use super::Names;
use crate::{
    facts::{
        Account, Arrived, Cache, Cost, Denials, Durations, Errors, Input, InvalidPlace, Latencies, ModelCost,
        OnlySession, ToolCount, Tools, Turns, Unknown,
    },
    measure::{Time, Tokens},
    report::{
        Key::{self, ByName, List, Maybe, Object, One},
        Members, Unit, Value, budget,
        spec::object,
    },
};

const COUNT: Key = One(Unit::Count);
const TEXT: Key = One(Unit::Text);
const USD: Key = Maybe(&One(Unit::Usd));
const MILLIS: Key = One(Unit::Millis);
const TIME: Key = Maybe(&One(Unit::Time));

object! { pub(super) KEYS, all(account: &Account, names: Names<'_>)
    input: "Input that was read.", Object(INPUT) => input(&account.input, names);
    kinds: "Records by kind: type, and discriminator after a slash.", ByName(&COUNT) =>
        Value::counts(&account.kinds);
    blocks: "Content blocks by role and type.", ByName(&COUNT) => Value::counts(&account.blocks);
    unknown: "Names that ccstat does not know, with the first location of each.", Object(UNKNOWN) =>
        unknown(account, names);
    sessions: "Sessions.", COUNT => account.sessions;
    prompts: "Prompts by people.", COUNT => account.prompts;
    responses: "API responses.", COUNT => account.responses;
    turns: "Turns, one per result.", Object(TURNS) => turns(&account.turns);
    tools: "Tool calls by outcome.", Object(TOOLS) => tools(&account.tools);
    denials: "Denied calls.", Object(DENIALS) => denials(&account.denials);
    errors: "Errors of tools, turns and the API.", Object(ERRORS) => errors(&account.errors);
    tokens: "Tokens of all models.", Object(TOKENS) => tokens(&account.tokens);
    cache: "Use of the prompt cache, an estimate: a log does not say which text was cached.", Object(CACHE) =>
        cache(&account.cache, account.tokens.cache_read);
    cost: "Cost, an estimate at API prices.", Object(COST) => cost(&account.cost);
    duration: "Durations.", Object(DURATION) => duration(&account.duration);
    models: "Models that responded, sorted.", List(&TEXT) => list(&account.models);
    versions: "Versions of the CLI, sorted.", List(&TEXT) => list(&account.versions);
    only_session: "The session, if there is exactly one; otherwise its keys are null.", Object(ONLY_SESSION) =>
        only_session(account.only_session.as_ref());
    by_arrival: "Measured by `run` and --live while the stream arrived, independent of times in the log; otherwise null.",
        Maybe(&Object(BY_ARRIVAL)) => Value::Missing;
    budgets: "Budgets that were given, with the cost of these logs in their current periods.", budget::BUDGETS => budget::none();
}

object! { ONLY_SESSION, only_session(session: Option<&OnlySession>)
    session: "Session id.", Maybe(&TEXT) => session.map(|session| &*session.id);
    project: "Working directory in which it started.", Maybe(&TEXT) =>
        session.and_then(|session| session.project.as_deref());
    started: "Time of its first record.", TIME => session.and_then(|session| session.started);
    open_call: "Tool of its last call without a result.", Maybe(&TEXT) => open_call(session).map(|(tool, _)| &**tool);
    open_call_time: "Time of that call.", TIME => open_call(session).and_then(|(_, time)| *time);
}

fn open_call(session: Option<&OnlySession>) -> Option<&(String, Option<Time>)> {
    session.and_then(|session| session.open_call.as_ref())
}

object! { pub(super) BY_ARRIVAL, by_arrival(arrived: &Arrived)
    elapsed_ms: "Time from the start to the end of the stream.", MILLIS => arrived.elapsed;
    first_record_ms: "Time from the start to the first record.", Maybe(&MILLIS) => arrived.first;
    tools: "Latencies by tool: from the arrival of the call to the arrival of its result.",
        ByName(&Object(LATENCY)) => by_name(&arrived.tools, latency);
}

object! { INPUT, input(input: &Input, names: Names<'_>)
    sources: "Files and streams.", COUNT => input.sources;
    bytes: "Bytes after decompression.", One(Unit::Bytes) => Value::Bytes(input.bytes);
    lines: "Physical lines.", COUNT => input.lines;
    blank: "Blank lines.", COUNT => input.blank;
    records: "JSON objects with a `type`.", COUNT => input.records;
    invalid: "Lines and values that are not records.", COUNT => input.invalid;
    truncated: "Sources that end inside a record.", COUNT => input.truncated;
    copies: "Records whose uuid was seen before.", COUNT => input.copies;
    dialects: "Records by dialect.", ByName(&COUNT) => Value::counts(&input.dialects);
    invalid_places: "The first hundred invalid lines and values.", List(&Object(INVALID_PLACE)) =>
        Value::List(input.invalid_places.iter().map(|place| invalid_place(place, names).into()).collect());
    interrupted: "Whether reading was interrupted.", One(Unit::Flag) =>
        input.interrupted.is_some();
}

object! { INVALID_PLACE, invalid_place(place: &InvalidPlace, names: Names<'_>)
    source: "Name of the source.", TEXT => names.get(place.source);
    line: "Line, starting at 1.", COUNT => place.line;
    offset: "Byte offset of its start.", COUNT => place.offset;
    reason: "Why it is invalid.", TEXT => &*place.reason;
}

object! { UNKNOWN, unknown(account: &Account, names: Names<'_>)
    kinds: "Kinds of records.", ByName(&Object(UNKNOWN_NAME)) =>
        by_name(&account.unknown_kinds, |unknown| unknown_name(unknown, names));
    blocks: "Kinds of blocks.", ByName(&Object(UNKNOWN_NAME)) =>
        by_name(&account.unknown_blocks, |unknown| unknown_name(unknown, names));
}

object! { UNKNOWN_NAME, unknown_name(unknown: &Unknown, names: Names<'_>)
    count: "Number of occurrences.", COUNT => unknown.count;
    source: "Source of the first occurrence.", TEXT => names.get(unknown.source);
    line: "Line of the first occurrence, starting at 1.", COUNT => unknown.line;
    version: "CLI version that wrote the first occurrence.", Maybe(&TEXT) => unknown.version.clone();
}

object! { TURNS, turns(turns: &Turns)
    total: "All.", COUNT => turns.total;
    ok: "Successful turns.", COUNT => turns.ok;
    errors: "Failed turns.", COUNT => turns.errors;
    by_subtype: "All turns by the subtype of their result.", ByName(&COUNT) => Value::counts(&turns.by_subtype);
    failed_by_subtype: "Failed turns by the subtype of their result.", ByName(&COUNT) =>
        Value::counts(&turns.failed_by_subtype);
    failed_by_reason: "Failed turns by reason: the type of the API error, else the subtype, else `is_error`.",
        ByName(&COUNT) => Value::counts(&turns.failed_by_reason);
    num_turns: "Sum of `num_turns` of the results.", COUNT => turns.num_turns;
    no_result_sessions: "Printed sessions without a result.", COUNT => turns.no_result_sessions;
}

object! { TOOLS, tools(tools: &Tools)
    calls: "All.", COUNT => tools.total.calls;
    ok: "Successful calls.", COUNT => tools.total.ok;
    errors: "Failed calls.", COUNT => tools.total.errors;
    denied: "Denied calls.", COUNT => tools.total.denied;
    open: "Calls without a result.", COUNT => tools.total.open;
    orphans: "Results without a call.", COUNT => tools.orphans;
    by_name: "Calls by the name of the tool.", ByName(&Object(TOOL)) => by_name(&tools.by_name, tool);
}

object! { TOOL, tool(tool: &ToolCount)
    calls: "All.", COUNT => tool.calls;
    ok: "Successful calls.", COUNT => tool.ok;
    errors: "Failed calls.", COUNT => tool.errors;
    denied: "Denied calls.", COUNT => tool.denied;
    open: "Calls without a result.", COUNT => tool.open;
    latency_ms: "Latency from call to result, if both have a time.", Maybe(&Object(LATENCY)) =>
        tool.latency.as_ref().map(latency);
}

object! { LATENCY, latency(latency: &Latencies)
    count: "Calls with a latency.", COUNT => latency.count;
    total: "Sum.", MILLIS => latency.total;
    p50: "Median.", MILLIS => latency.p50;
    p90: "90th percentile.", MILLIS => latency.p90;
    p95: "95th percentile.", MILLIS => latency.p95;
    p99: "99th percentile.", MILLIS => latency.p99;
    max: "Longest.", MILLIS => latency.max;
}

object! { DENIALS, denials(denials: &Denials)
    total: "All.", COUNT => denials.total;
    by_tool: "By the name of the tool.", ByName(&COUNT) => Value::counts(&denials.by_tool);
}

object! { ERRORS, errors(errors: &Errors)
    tool: "Failed calls.", COUNT => errors.tool;
    turn: "Failed turns.", COUNT => errors.turn;
    api: "API errors.", COUNT => errors.api;
    api_retries: "API requests that were retried.", COUNT => errors.api_retries;
    by_type: "API errors and retries by type.", ByName(&COUNT) => Value::counts(&errors.by_type);
}

object! { TOKENS, tokens(tokens: &Tokens)
    input: "Prompt tokens that were not cached.", COUNT => tokens.input;
    output: "Output tokens.", COUNT => tokens.output;
    cache_read: "Prompt tokens read from the cache.", COUNT => tokens.cache_read;
    cache_write_5m: "Prompt tokens written to the cache for five minutes.", COUNT => tokens.cache_write_5m;
    cache_write_1h: "Prompt tokens written to the cache for an hour.", COUNT => tokens.cache_write_1h;
    web_searches: "Web searches.", COUNT => tokens.web_searches;
}

object! { CACHE, cache(cache: &Cache, reused: u64)
    reused: "Prompt tokens read from the cache.", COUNT => reused;
    rebuilt_estimate: "Tokens that were written again although they had been cached, at most.", COUNT => cache.rebuilt;
    extra_estimate_usd: "Cost of writing these tokens beyond that of reading them; null if a model has no price.", USD =>
        cache.extra;
}

object! { COST, cost(cost: &Cost)
    total_usd: "Total cost: reported by the CLI, computed for sessions without a reported cost.", USD => cost.total;
    reported_usd: "Cost reported by the CLI.", USD => cost.reported;
    computed_usd: "Cost computed from tokens and prices, for responses with final token counts.", USD => cost.computed;
    unbilled_usd: "Lower bound of the cost of printed runs if none has a result, from input and cache tokens; not in the total.",
        USD => cost.unbilled;
    complete: "Whether the total is complete as far as known.", One(Unit::Flag) => cost.complete;
    unpriced_models: "Models without a price, in sessions without reported cost.", List(&TEXT) =>
        list(&cost.unpriced_models);
    by_model: "Cost and tokens by model.", ByName(&Object(MODEL)) => by_name(&cost.by_model, model);
}

object! { MODEL, model(model: &ModelCost)
    total_usd: "Cost.", USD => model.total;
    input: "Prompt tokens that were not cached.", COUNT => model.tokens.input;
    output: "Output tokens.", COUNT => model.tokens.output;
    cache_read: "Prompt tokens read from the cache.", COUNT => model.tokens.cache_read;
    cache_write_5m: "Prompt tokens written to the cache for five minutes.", COUNT =>
        model.tokens.cache_write_5m;
    cache_write_1h: "Prompt tokens written to the cache for an hour.", COUNT => model.tokens.cache_write_1h;
}

object! { DURATION, duration(duration: &Durations)
    wall_ms: "Sum of the durations of turns.", Maybe(&MILLIS) => duration.wall;
    api_ms: "Time spent in the API.", Maybe(&MILLIS) => duration.api;
    tool_ms: "Sum of tool latencies.", Maybe(&MILLIS) => duration.tool;
    first: "Earliest time in a record.", TIME => duration.first;
    last: "Latest time in a record.", TIME => duration.last;
}

fn list(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| Value::text(&**text)).collect())
}

fn by_name<K: AsRef<str>, V>(entries: &BTreeMap<K, V>, members: impl Fn(&V) -> Members) -> Value {
    Value::map(entries.iter().map(|(name, entry)| (name.as_ref(), Value::Map(members(entry)))))
}
