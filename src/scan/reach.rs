//! Finds how far back logs reach, from their first records.

use super::{Options, open};
use crate::{
    event::{
        self, Event,
        lean::{Position, Visitor, read_chunk},
    },
    facts::{Earliest, Merge},
    input::{self, Piece, Range, Sink, Source, Stop},
};

/// The earliest time in the first records of sources. Logs are written in order, so reading their beginnings is enough,
/// and takes milliseconds where reading all of them takes seconds.
pub(crate) fn earliest(sources: &[Source], options: &Options) -> Earliest {
    let mut limits = options.limits;
    limits.block = limits.block.min(32 << 10);
    let (mut earliest, mut buffer) = (Earliest::default(), Vec::new());
    for source in sources {
        let Ok(Some(mut bytes)) = open(source, options) else { continue };
        let mut head = Head { earliest: Earliest::default(), stop: &options.stop };
        // Records before an error count.
        let _ = input::read_all(&mut bytes, Range::ALL, &limits, &mut buffer, &mut head);
        earliest.merge(head.earliest);
    }
    earliest
}

/// Reads until a record has a time.
struct Head<'a> {
    earliest: Earliest,
    stop: &'a Stop,
}

impl Head<'_> {
    fn see(&mut self, record: &[u8]) {
        if let Ok(event) = event::decode(record) {
            self.earliest.merge(event.time.into());
        }
    }
}

impl Sink for Head<'_> {
    fn lines(&mut self, _offset: u64, _line: u64, block: &[u8]) -> u64 {
        let lines = block.split_inclusive(|byte| *byte == b'\n');
        lines.map(|line| self.see(line.trim_ascii())).count() as u64
    }

    fn piece(&mut self, _offset: u64, _line: u64, piece: Piece<'_>) {
        if let Piece::Value(record) = piece {
            self.see(record);
        }
    }

    fn lean(&mut self, chunk: &[u8]) -> bool {
        let _ = read_chunk(chunk, &mut Position::default(), true, self); // a damage is reported when the log is read
        true
    }

    fn should_stop(&self) -> bool {
        self.earliest.get().is_some() || self.stop.is_set()
    }
}

impl Visitor for Head<'_> {
    fn record(&mut self, _at: Position, event: &mut Event<'_>) {
        self.earliest.merge(event.time.into());
    }

    fn tally(&mut self, _at: Position, event: &Event<'_>, _count: u64) {
        self.earliest.merge(event.time.into());
    }

    fn json(&mut self, _at: Position, line: &[u8]) {
        self.see(line);
    }

    fn note(&mut self, _line: &[u8]) {}
}
