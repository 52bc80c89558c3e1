//! Lines that arrive one at a time.

use super::Summary;
use crate::{
    facts::Detail,
    measure::Prices,
    scan::{LineReader, Options},
};

/// A run that is still going on: takes its lines one at a time and sums up what came so far.
///
/// ```
/// let mut run = ccstat::Stream::new();
/// run.push(br#"{"type":"result","subtype":"success","session_id":"s","num_turns":1,"total_cost_usd":0.0056}"#);
/// let summary = run.summary();
/// assert_eq!(summary.turns.ok, 1);
/// assert_eq!(summary.cost.total.map(|cost| cost.to_string()).as_deref(), Some("0.0056"));
/// ```
#[derive(Debug)]
pub struct Stream {
    lines: LineReader,
    prices: Prices,
}

impl Stream {
    /// A run without a line yet.
    pub fn new() -> Self {
        let options = Options { detail: Detail::TOTALS, ..Options::default() };
        Self { lines: LineReader::new(options), prices: Prices::built_in() }
    }

    /// Takes one line, with or without its line end, which is counted either way. A line that is not a record
    /// is counted as invalid.
    pub fn push(&mut self, line: &[u8]) {
        self.lines.push(line);
    }

    /// Every figure of the lines so far, as if the run had ended here.
    ///
    /// It takes time in proportion to the run so far: once a second is often enough, once a line is not
    /// needed.
    pub fn summary(&self) -> Summary {
        let account = self.lines.facts().settle(&self.prices);
        Summary { account, names: Vec::new(), unreadable: Vec::new() }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}
