//! The settled facts: every number as it is reported, and what is missing as `None`.

mod builder;

use std::collections::BTreeMap;

pub(super) use builder::{AccountBuilder, NameCounts};

use crate::{
    input::SourceId,
    measure::{Millis, Time, Tokens, Usd},
};

/// What happened, in all the records that were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The bytes and what they held.
    pub input: Input,
    /// Records by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Blocks by role and type.
    pub blocks: BTreeMap<String, u64>,
    /// Kinds that no table knows.
    pub unknown_kinds: BTreeMap<String, Unknown>,
    /// Blocks that no table knows.
    pub unknown_blocks: BTreeMap<String, Unknown>,
    /// Distinct session ids.
    pub sessions: u64,
    /// What humans asked.
    pub prompts: u64,
    /// API responses.
    pub responses: u64,
    /// Ends of turns.
    pub turns: Turns,
    /// Tool calls.
    pub tools: Tools,
    /// Refused calls.
    pub denials: Denials,
    /// Failures.
    pub errors: Errors,
    /// Tokens and searches that were charged.
    pub tokens: Tokens,
    /// What it cost.
    pub cost: Cost,
    /// How long it took.
    pub duration: Durations,
    /// Models that answered or were charged.
    pub models: Vec<String>,
    /// CLI versions that wrote the records.
    pub versions: Vec<String>,
}

/// The bytes and what they held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// Sources that could be opened.
    pub sources: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Physical lines.
    pub lines: u64,
    /// Lines with nothing on them.
    pub blank: u64,
    /// Records.
    pub records: u64,
    /// What is no record.
    pub invalid: u64,
    /// Sources that end inside a record.
    pub truncated: u64,
    /// Records whose uuid was seen before.
    pub copies: u64,
    /// Records by dialect.
    pub dialects: BTreeMap<&'static str, u64>,
    /// The first of what is no record, in order.
    pub invalid_places: Vec<InvalidPlace>,
    /// Reading was stopped before its end.
    pub interrupted: Option<Interrupted>,
}

/// A read that was stopped before its end. Of two, the one that knows more is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Interrupted {
    /// Bytes that would have been read, if every source has a known length.
    pub total: Option<u64>,
}

/// Where something stands that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidPlace {
    /// Which source.
    pub source: SourceId,
    /// Line, from 1.
    pub line: u64,
    /// Byte offset, from 0.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// A name that no table knows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unknown {
    /// How often.
    pub count: u64,
    /// The first place.
    pub source: SourceId,
    /// Its line, from 1.
    pub line: u64,
    /// The CLI version that wrote it, where that is known.
    pub version: Option<String>,
}

/// Ends of turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turns {
    /// `result` records.
    pub total: u64,
    /// Those that succeeded.
    pub ok: u64,
    /// Those that did not.
    pub errors: u64,
    /// By `subtype`.
    pub by_subtype: BTreeMap<String, u64>,
    /// Those that did not succeed, by `subtype`: `success` is among them, with `is_error`.
    pub failed_by_subtype: BTreeMap<String, u64>,
    /// The CLI's own count.
    pub num_turns: u64,
    /// Sessions in the stream that have no result.
    pub no_result_sessions: u64,
}

/// Tool calls and how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tools {
    /// All of them.
    pub total: ToolCount,
    /// Answers without a call.
    pub orphans: u64,
    /// By name of the tool.
    pub by_name: BTreeMap<String, ToolCount>,
}

/// The calls of one tool: each ended in exactly one of four ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCount {
    /// How often it was called.
    pub calls: u64,
    /// It answered.
    pub ok: u64,
    /// It failed.
    pub errors: u64,
    /// It was refused.
    pub denied: u64,
    /// No answer was seen.
    pub open: u64,
    /// How long the answers took, where the log says so.
    pub latency: Option<Latencies>,
}

/// How long answers took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latencies {
    /// Of how many calls it is known.
    pub count: u64,
    /// Their sum.
    pub total: Millis,
    /// Median, by nearest rank as all percentiles here.
    pub p50: Millis,
    /// 90 of 100 are not above it.
    pub p90: Millis,
    /// 95 of 100 are not above it.
    pub p95: Millis,
    /// 99 of 100 are not above it.
    pub p99: Millis,
    /// The longest.
    pub max: Millis,
}

impl Latencies {
    /// Sorts and measures; none if there are none.
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

/// Refused calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denials {
    /// All of them.
    pub total: u64,
    /// By tool.
    pub by_tool: BTreeMap<String, u64>,
}

/// Failures, by where they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Errors {
    /// Tools that failed.
    pub tool: u64,
    /// Turns that failed.
    pub turn: u64,
    /// API calls that failed for good.
    pub api: u64,
    /// API calls that failed and were repeated.
    pub api_retries: u64,
    /// API failures by their type.
    pub by_type: BTreeMap<String, u64>,
}

/// What it cost. An estimate at API prices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Reported where the CLI said it, computed for the other sessions.
    pub total: Option<Usd>,
    /// What the CLI said.
    pub reported: Option<Usd>,
    /// Tokens times prices, of all responses whose counts can be final.
    pub computed: Option<Usd>,
    /// Whether nothing is missing from the total.
    pub complete: bool,
    /// Models that have no price, in sessions where the CLI said none.
    pub unpriced_models: Vec<String>,
    /// By model.
    pub by_model: BTreeMap<String, ModelCost>,
}

/// What one model was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCost {
    /// Its part of the total, where it is known.
    pub total: Option<Usd>,
    /// Its tokens.
    pub tokens: Tokens,
}

/// How long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// Wall time of the turns.
    pub wall: Option<Millis>,
    /// API time.
    pub api: Option<Millis>,
    /// Sum of tool latencies; calls in parallel overlap.
    pub tool: Option<Millis>,
    /// The earliest moment.
    pub first: Option<Time>,
    /// The latest moment.
    pub last: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_nearest_rank() {
        let of = |all: &[i64]| Latencies::of(all.iter().map(|&millis| Millis::new(millis)).collect());
        assert_eq!(of(&[]), None);
        let one = of(&[7]).expect("one");
        assert_eq!((one.p50, one.p99, one.max), (Millis::new(7), Millis::new(7), Millis::new(7)));
        let ten = of(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]).expect("ten");
        assert_eq!((ten.p50, ten.p90, ten.p95), (Millis::new(5), Millis::new(9), Millis::new(10)));
    }
}
