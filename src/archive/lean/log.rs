//! Writes lean logs: chunks of lean records behind a digest of them.

use super::{Secret, write_record};
use crate::{
    event::{
        Event, decode,
        lean::{ChunkWriter, DigestWriter, Note, Position, Sizes, Totals},
    },
    input::{CHUNK_HEAD, ChunkKind, LEAN_MAGIC, Place, Source},
    scan::{self, Observer, Options},
};

/// Size in bytes of the chunks that share a digest. They are kept in memory until the digest is written.
const SEGMENT_BYTES: usize = 16 << 20;

/// A digest is left out if the records that are not part of it, times this, are larger than all records.
const OTHERS_FACTOR: usize = 4;

/// Writes the lean form of a log while the log is read.
pub(in crate::archive) struct LeanWriter<'a> {
    secret: Secret,
    emit: Emit<'a>,
    digest: DigestWriter,
    /// Size of the records that are not part of the digest.
    others: usize,
    /// Whether a digest is written that has few records.
    keeps_any_digest: bool,
    chunk: ChunkWriter,
    /// Chunks that wait for their digest.
    chunks: Vec<u8>,
    line: String,
    is_first: bool,
    /// Length of the log; 0 before its end.
    pub(in crate::archive) bytes: u64,
}

/// Receives a part of a lean log: its beginning, which readers may read alone, and the rest.
pub(in crate::archive) type Emit<'a> = &'a mut dyn FnMut(LeanPart, &[u8], &[u8]);

/// A part of a lean log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::archive) enum LeanPart {
    Digest,
    Records,
}

impl<'a> LeanWriter<'a> {
    pub(in crate::archive) fn new(secret: Secret, emit: Emit<'a>) -> Self {
        Self {
            secret,
            emit,
            digest: DigestWriter::default(),
            others: 0,
            keeps_any_digest: false,
            chunk: ChunkWriter::default(),
            chunks: Vec::new(),
            line: String::new(),
            is_first: true,
            bytes: 0,
        }
    }

    fn note(&mut self, note: &Note) {
        self.line.clear();
        note.write(&mut self.line);
        self.chunk.note(&self.line);
        self.digest.others.note(&self.line);
    }

    fn add(&mut self, at: Position, event: &Event<'_>) {
        self.line.clear();
        write_record(event, self.secret, &mut self.line);
        // The compact form and the digest are made from the lean record, so that they have nothing more.
        let lean = decode(self.line.as_bytes()).ok().map(|mut lean| {
            Sizes::of(event).restore(&mut lean);
            lean
        });
        let lean = lean.as_ref();
        let add_to = |chunk: &mut ChunkWriter| {
            if !lean.is_some_and(|lean| chunk.record(at, lean)) {
                chunk.json(at, event.bytes, &self.line);
            }
        };
        add_to(&mut self.chunk);
        if !lean.is_some_and(|lean| self.digest.record(at, lean)) {
            self.others += self.line.len();
            add_to(&mut self.digest.others);
        }
    }

    fn flush(&mut self) {
        let chunk = self.chunk.take();
        self.chunks.extend(ChunkKind::Records.head(chunk.len()));
        self.chunks.extend(chunk);
    }

    /// Writes the digest, then its chunks.
    fn end_segment(&mut self, is_last: bool) {
        let mut digest = self.digest.take();
        let chunks = std::mem::take(&mut self.chunks);
        if std::mem::take(&mut self.others) * OTHERS_FACTOR > chunks.len() && !self.keeps_any_digest {
            digest.clear(); // readers take the records
        }
        let kind = if is_last { ChunkKind::LastDigest } else { ChunkKind::Digest };
        let head = kind.head(digest.len());
        if std::mem::take(&mut self.is_first) {
            (self.emit)(LeanPart::Digest, LEAN_MAGIC, &[&head, &digest[..]].concat());
        } else {
            (self.emit)(LeanPart::Digest, &head, &digest);
        }
        let (head, rest) = chunks.split_at(CHUNK_HEAD.min(chunks.len()));
        (self.emit)(LeanPart::Records, head, rest);
    }
}

impl Observer for LeanWriter<'_> {
    fn record(&mut self, place: Place, event: &Event<'_>, _text: &[u8]) {
        self.add(Position { offset: place.offset, line: place.line }, event);
        if self.chunk.is_full() {
            self.flush();
            if self.chunks.len() > SEGMENT_BYTES {
                self.end_segment(false);
            }
        }
    }

    fn batch_end(&mut self) {}

    fn invalid(&mut self, place: Place, reason: &str) {
        self.note(&Note::Invalid { line: place.line, offset: place.offset, reason: reason.to_owned() });
    }

    fn end(&mut self, totals: &Totals) {
        self.bytes = totals.bytes;
        self.note(&Note::End(totals.clone()));
        self.flush();
        self.end_segment(true);
    }
}

/// Returns the lean form of a log for tests, not compressed. Its digest is never left out.
#[doc(hidden)]
pub fn lean_log(source: &Source, options: &Options) -> Vec<u8> {
    let mut log = Vec::new();
    let mut emit = |_part: LeanPart, start: &[u8], rest: &[u8]| log.extend([start, rest].concat());
    let mut writer = LeanWriter::new(Secret([7; 16]), &mut emit);
    writer.keeps_any_digest = true;
    let _ = scan::scan_observed(std::slice::from_ref(source), options, &mut writer);
    log
}
