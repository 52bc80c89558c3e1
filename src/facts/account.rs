//! The account: every reported number. Missing values are `None`.
#![warn(missing_docs)]

mod builder;

use std::collections::BTreeMap;

pub(super) use builder::{AccountBuilder, At, NameCounts, last_error};

use crate::{
    input::SourceId,
    measure::{Millis, Time, Tokens, Usd},
};

/// The totals of everything that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Counts of the input.
    pub input: Input,
    /// Records by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Blocks by role and type.
    pub blocks: BTreeMap<String, u64>,
    /// Unknown record kinds, with the first place of each.
    pub unknown_kinds: BTreeMap<String, Unknown>,
    /// Unknown block types, with the first place of each.
    pub unknown_blocks: BTreeMap<String, Unknown>,
    /// Distinct session ids.
    pub sessions: u64,
    /// Prompts that people typed.
    pub prompts: u64,
    /// API responses.
    pub responses: u64,
    /// Ends of turns.
    pub turns: Turns,
    /// Tool calls.
    pub tools: Tools,
    /// Denied tool calls.
    pub denials: Denials,
    /// Failures of tools, turns and API calls.
    pub errors: Errors,
    /// Tokens and searches that were charged.
    pub tokens: Tokens,
    /// Tokens that were written to the prompt cache again.
    pub cache: Cache,
    /// Cost in US dollars.
    pub cost: Cost,
    /// Durations of turns, API calls and tools.
    pub duration: Durations,
    /// Models that answered or were billed.
    pub models: Vec<String>,
    /// CLI versions that wrote the records.
    pub versions: Vec<String>,
    /// The session, if there is exactly one.
    pub only_session: Option<OnlySession>,
}

/// The only session of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OnlySession {
    /// Its id.
    pub id: String,
    /// The folder it began in.
    pub project: Option<String>,
    /// Earliest time of its records.
    pub started: Option<Time>,
    /// The last call without a result: the tool, and when it was called.
    pub open_call: Option<(String, Option<Time>)>,
}

/// Counts of the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// Sources that could be opened.
    pub sources: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Physical lines.
    pub lines: u64,
    /// Blank lines.
    pub blank: u64,
    /// JSON objects with a `type`.
    pub records: u64,
    /// Invalid lines and values.
    pub invalid: u64,
    /// Sources that end inside a record.
    pub truncated: u64,
    /// Records whose uuid was seen before.
    pub copies: u64,
    /// Records by dialect.
    pub dialects: BTreeMap<&'static str, u64>,
    /// The first invalid places, in order.
    pub invalid_places: Vec<InvalidPlace>,
    /// Set if reading was interrupted.
    pub interrupted: Option<Interrupted>,
}

/// An interrupted read. An instance with a known total is greater than one without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Interrupted {
    /// Bytes that would have been read, if every source has a known length.
    pub total: Option<u64>,
}

/// Location of an invalid line or value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidPlace {
    /// Source that contains it.
    pub source: SourceId,
    /// Line, from 1.
    pub line: u64,
    /// Byte offset, from 0.
    pub offset: u64,
    /// Why it is invalid.
    pub reason: String,
}

/// An unknown name: how often it occurs and where it occurs first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// Number of occurrences.
    pub count: u64,
    /// Source of the first occurrence.
    pub source: SourceId,
    /// Line of the first occurrence, from 1.
    pub line: u64,
    /// CLI version that wrote the first occurrence, if known.
    pub version: Option<String>,
}

/// Ends of turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turns {
    /// `result` records.
    pub total: u64,
    /// Results with subtype `success` and without `is_error`.
    pub ok: u64,
    /// All other results.
    pub errors: u64,
    /// Results by `subtype`.
    pub by_subtype: BTreeMap<String, u64>,
    /// Failed results by `subtype`. `success` occurs here too, with `is_error`.
    pub failed_by_subtype: BTreeMap<String, u64>,
    /// Failed results by reason: the type of the API error if there is one, else the `subtype`, else `is_error`.
    pub failed_by_reason: BTreeMap<String, u64>,
    /// Sum of `num_turns`, as the CLI counts turns.
    pub num_turns: u64,
    /// Streamed sessions without a result.
    pub no_result_sessions: u64,
}

/// Tool calls and how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tools {
    /// Sum over all tools.
    pub total: ToolCount,
    /// Results without a call.
    pub orphans: u64,
    /// Calls by tool name.
    pub by_name: BTreeMap<String, ToolCount>,
}

/// The calls of one tool: each ended in exactly one of four ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCount {
    /// How often it was called.
    pub calls: u64,
    /// Calls that succeeded.
    pub ok: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Calls that were denied.
    pub denied: u64,
    /// Calls without a result.
    pub open: u64,
    /// Latencies, if the log has the times.
    pub latency: Option<Latencies>,
}

/// Statistics of call latencies. Percentiles are by nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latencies {
    /// Number of calls with a known latency.
    pub count: u64,
    /// Sum of the latencies.
    pub total: Millis,
    /// Median.
    pub p50: Millis,
    /// 90th percentile.
    pub p90: Millis,
    /// 95th percentile.
    pub p95: Millis,
    /// 99th percentile.
    pub p99: Millis,
    /// Maximum.
    pub max: Millis,
}

impl Latencies {
    /// Computes the statistics; `None` without values.
    pub(crate) fn of(mut all: Vec<Millis>) -> Option<Self> {
        all.sort_unstable();
        let rank = |percent: usize| all.get((all.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self {
            max: *all.last()?,
            p50: rank(50)?,
            p90: rank(90)?,
            p95: rank(95)?,
            p99: rank(99)?,
            count: all.len() as u64,
            total: all.iter().copied().sum(),
        })
    }
}

/// Denied tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denials {
    /// Sum over all tools.
    pub total: u64,
    /// Denied calls by tool.
    pub by_tool: BTreeMap<String, u64>,
}

/// Numbers of failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Errors {
    /// Failed tool calls.
    pub tool: u64,
    /// Failed turns.
    pub turn: u64,
    /// API calls that failed without a retry.
    pub api: u64,
    /// API calls that failed and were retried.
    pub api_retries: u64,
    /// API failures by their type.
    pub by_type: BTreeMap<String, u64>,
}

/// Use of the prompt cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cache {
    /// Tokens that were written again although they had been cached, at most.
    pub rebuilt: u64,
    /// Cost of writing them beyond that of reading them; `None` if a model has no price.
    pub extra: Option<Usd>,
}

/// Cost. An estimate at API prices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Total cost: as reported by the CLI, and computed for sessions without a report.
    pub total: Option<Usd>,
    /// The part of the total that the CLI reported.
    pub reported: Option<Usd>,
    /// Tokens times prices, over all responses whose token counts can be final.
    pub computed: Option<Usd>,
    /// Lower bound of the cost of printed runs if none has a result: their input and cache tokens. Not part of the
    /// total.
    pub unbilled: Option<Usd>,
    /// Whether the total covers all usage.
    pub complete: bool,
    /// Models without a price, in sessions without a reported cost.
    pub unpriced_models: Vec<String>,
    /// Cost by model.
    pub by_model: BTreeMap<String, ModelCost>,
}

/// Tokens and cost of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCost {
    /// Its part of the total, if known.
    pub total: Option<Usd>,
    /// Tokens that were billed.
    pub tokens: Tokens,
}

/// Durations of turns, API calls and tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// Total wall time of turns.
    pub wall: Option<Millis>,
    /// Total API time.
    pub api: Option<Millis>,
    /// Sum of tool latencies; calls in parallel overlap.
    pub tool: Option<Millis>,
    /// Earliest time of a record.
    pub first: Option<Time>,
    /// Latest time of a record.
    pub last: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let of = |all: &[i64]| Latencies::of(all.iter().map(|&millis| Millis::new(millis)).collect());
        assert_eq!(of(&[]), None);
        let one = of(&[7]).expect("one");
        assert_eq!((one.p50, one.p99, one.max), (Millis::new(7), Millis::new(7), Millis::new(7)));
        let ten = of(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]).expect("ten");
        assert_eq!((ten.p50, ten.p90, ten.p95), (Millis::new(5), Millis::new(9), Millis::new(10)));
    }
}
