//! The fast decoder: one validating walk over a line that returns borrowed slices of the few wanted fields.
//!
//! It never rejects a record. Whenever a line is invalid or unusual, it falls back to the obvious decoder.
//! The two can only differ on lines that this one accepts, and tests and fuzzing compare them there.
//!
//! - `walk` moves over the text token by token and checks it.
//! - `string_index` finds the ends of strings for many bytes at a time, with the instructions of a `kernel`.
//! - `predictor` guesses the next key.
//! - `object` stores the wanted fields, and reads nested objects on the way: parsing them afterwards took
//!   longer than all the rest.
//!
//! Two lessons of profiling explain most of the code. A branch that cannot be predicted costs more than
//! several instructions. And a value that is written in small pieces and soon read in large ones stalls the
//! processor (`perf annotate` shows the wait at the load), so records and events are filled where they stay,
//! and their memory is reused: that took two fifths of the time off lines of 228 bytes.
//!
//! Shares of time and counts of instructions in these modules are of x86-64 with AVX2 and the corpora of
//! `benches/`. Short lines are those of the `events` corpus.

pub mod kernel;
mod object;
mod predictor;
mod string_index;
mod walk;

use smallvec::SmallVec;

#[cfg(fuzzing)]
pub(super) use string_index::reference::kernels_agree;

use super::{
    Event, Text,
    decode::decode_record,
    fields::Fields,
    json::Json,
    obvious::Obvious,
    record::{Parser, RawMessage, Record},
};
use kernel::{Best, Run};
use object::{ReadArray, ReadFields, ReadObject, ReadRecord};
use predictor::Cursor;
pub use predictor::KeyPredictor;
use string_index::StringIndex;
use walk::{Fallback, WalkStart};

/// Parses JSON values by walking over them.
pub(super) struct Skim;

/// Decodes the records of a text of whole lines.
///
/// Keeps the memory of the last record, the string index and the key predictor for the next line.
#[derive(Debug)]
pub struct Skimmer<'p, 'a> {
    text: &'a str,
    /// The last record. The next one reuses its memory.
    record: Record<'a>,
    /// The decoded record.
    event: Event<'a>,
    /// May reach into the next line already.
    index: StringIndex,
    predictor: &'p mut KeyPredictor,
    /// Start of the line that `index` is valid for; `None` after a line that was not decoded.
    next: Option<usize>,
}

impl<'p, 'a> Skimmer<'p, 'a> {
    /// Creates a decoder for a text of whole lines. The last line may lack its newline.
    pub fn new(text: &'a str, predictor: &'p mut KeyPredictor) -> Self {
        Self {
            text,
            record: Record::default(),
            event: Event::blank(),
            index: StringIndex::default(),
            predictor,
            next: Some(0),
        }
    }

    /// Decodes the record on the line that begins at `from`. Returns it with the end of the line.
    ///
    /// Returns `None` if the line is not exactly one valid record, or only the obvious decoder can decode it.
    #[inline]
    pub fn read(&mut self, from: usize) -> Option<(&Event<'a>, usize)> {
        self.read_with(Best, from)
    }

    /// The last record that was decoded, to be changed before it is used.
    pub fn event_mut(&mut self) -> &mut Event<'a> {
        &mut self.event
    }

    /// Like [`read`](Self::read) with the given kernel, for tests and benches that compare kernels.
    #[doc(hidden)]
    #[inline]
    pub fn read_with(&mut self, kernel: impl Run, from: usize) -> Option<(&Event<'a>, usize)> {
        if self.next.take() != Some(from) {
            self.index.reset(from);
        }
        let start = WalkStart::at(self.text, from, &mut self.index, self.predictor);
        let (end, span) = kernel.run(ReadRecord { start, record: &mut self.record }).ok()?;
        self.next = Some(end + 1);
        decode_record::<Skim>(&self.record, self.text.get(span)?, &mut self.event)?;
        Some((&self.event, end))
    }
}

/// Decodes a single line, like [`Skimmer::read`].
pub fn skim(text: &str, from: usize) -> Option<(Event<'_>, usize)> {
    let mut predictor = KeyPredictor::NONE;
    let mut skimmer = Skimmer::new(text, &mut predictor);
    let (_, end) = skimmer.read(from)?;
    Some((skimmer.event, end))
}

/// Decodes a record that is the whole text, possibly on several lines.
pub(super) fn skim_piece(text: &str) -> Option<Event<'_>> {
    let (mut record, mut index, mut predictor) =
        (Record::default(), StringIndex::default(), KeyPredictor::NONE);
    let start = WalkStart::multiline(text, &mut index, &mut predictor);
    let (end, span) = Best.run(ReadRecord { start, record: &mut record }).ok()?;
    // The walk stops at the end of the record's last line. More text after that is not part of the record.
    if end < text.len() {
        return None;
    }
    let mut event = Event::blank();
    decode_record::<Skim>(&record, text.get(span)?, &mut event)?;
    Some(event)
}

/// These values were validated by the walk over the record. Only escaped keys and deep nesting make a walk
/// over them fall back to the obvious parser.
impl<'a> Parser<'a> for Skim {
    #[inline]
    fn fields<F: Fields<'a>>(json: Json<'a>) -> Option<F> {
        read_object(json, Obvious::fields)
    }

    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>> {
        if !json.is_array() {
            return None;
        }
        let mut all = SmallVec::new();
        match Best.run(ReadArray(
            WalkStart::multiline(json.source(), &mut StringIndex::default(), &mut { KeyPredictor::NONE }),
            &mut all,
        )) {
            Ok(_) => Some(all),
            Err(Fallback) => Obvious::elements(json),
        }
    }

    fn entries(json: Json<'a>) -> Option<Vec<(Text<'a>, Json<'a>)>> {
        Obvious::entries(json) // only results have them, and there are few
    }

    fn message(json: Json<'a>) -> Option<RawMessage<'a>> {
        read_object(json, Obvious::message)
    }
}

/// Reads an object. Leaves it to the obvious parser if anything is unusual.
#[inline]
fn read_object<'a, T: ReadFields<'a>>(json: Json<'a>, obvious: fn(Json<'a>) -> Option<T>) -> Option<T> {
    if !json.is_object() {
        return None;
    }
    let mut object = T::default();
    match Best.run(ReadObject(
        WalkStart::multiline(json.source(), &mut StringIndex::default(), &mut { KeyPredictor::NONE }),
        Cursor::UNKNOWN,
        &mut object,
    )) {
        Ok(_) => Some(object),
        Err(Fallback) => obvious(json),
    }
}
