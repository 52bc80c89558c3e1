//! The fast way: one validating walk over a line that hands out borrowed slices of the few fields that are wanted.
//!
//! It never gives a verdict of its own. What is broken or odd in any way is left to the obvious path, so the two can only
//! differ where this one accepts a line, and tests and fuzzing hold them equal there.

mod ahead;
pub mod kernel;
mod open;
mod predictor;
mod walk;

use smallvec::SmallVec;

#[cfg(fuzzing)]
pub(super) use ahead::twin::kernels_agree;

use super::{
    Event, Text,
    decode::tell,
    fields::Fields,
    json::Json,
    record::{Message, Open, Record},
};
use ahead::Ahead;
use kernel::{Best, Run};
use open::{InArray, InObject, Whole};
use predictor::Cursor;
pub use predictor::KeyPredictor;
use walk::{Odd, Start};

/// Opens JSON by walking over it.
pub(super) struct Skim;

/// Reads records out of a text of whole lines.
#[derive(Debug)]
pub struct Skimmer<'h, 'a> {
    text: &'a str,
    /// The last record that was read, taken apart. The next one takes its place.
    record: Record<'a>,
    /// What it tells.
    event: Event<'a>,
    /// What was seen ahead of the last line, and is of use for the next.
    ahead: Ahead,
    predictor: &'h mut KeyPredictor,
    /// Where that next line begins; nowhere after a line that is odd.
    next: Option<usize>,
}

impl<'h, 'a> Skimmer<'h, 'a> {
    /// Over a text of whole lines, the last one perhaps without its end.
    pub fn new(text: &'a str, predictor: &'h mut KeyPredictor) -> Self {
        Self {
            text,
            record: Record::default(),
            event: Event::blank(),
            ahead: Ahead::default(),
            predictor,
            next: Some(0),
        }
    }

    /// The record that begins at `from`, and the end of its line; `None` if that is not simply one record.
    #[inline]
    pub fn read(&mut self, from: usize) -> Option<(&Event<'a>, usize)> {
        self.read_with(Best, from)
    }

    /// The same with a kernel of the caller's choice, for tests and benches that compare them.
    #[doc(hidden)]
    #[inline]
    pub fn read_with(&mut self, kernel: impl Run, from: usize) -> Option<(&Event<'a>, usize)> {
        if self.next.take() != Some(from) {
            self.ahead.reset(from);
        }
        let start = Start::at(self.text, from, &mut self.ahead, self.predictor);
        let (end, span) = kernel.run(Whole { start, record: &mut self.record }).ok()?;
        self.next = Some(end + 1);
        tell::<Skim>(&self.record, self.text.get(span)?, &mut self.event)?;
        Some((&self.event, end))
    }
}

/// Reads the one record that begins at `from` in a text of whole lines; with it comes the end of its line.
pub fn skim(text: &str, from: usize) -> Option<(Event<'_>, usize)> {
    let mut predictor = KeyPredictor::NONE;
    let mut skimmer = Skimmer::new(text, &mut predictor);
    let (_, end) = skimmer.read(from)?;
    Some((skimmer.event, end))
}

/// Reads a record that is the whole text, over several lines perhaps.
pub(super) fn skim_piece(text: &str) -> Option<Event<'_>> {
    let (mut record, mut ahead, mut predictor) = (Record::default(), Ahead::default(), KeyPredictor::NONE);
    let start = Start::over_lines(text, &mut ahead, &mut predictor);
    let (end, span) = Best.run(Whole { start, record: &mut record }).ok()?;
    // The walk ends at the end of the record's last line, and what may stand on the next one is no part of it.
    if end < text.len() {
        return None;
    }
    let mut event = Event::blank();
    tell::<Skim>(&record, text.get(span)?, &mut event)?;
    Some(event)
}

/// What it opens was checked before: what the obvious path would find odd cannot be there, except for escaped keys and
/// great depth, and those the obvious path opens.
impl<'a> Open<'a> for Skim {
    #[inline]
    fn fields<F: Fields<'a>>(json: Json<'a>) -> Option<F> {
        if !json.is_object() {
            return None;
        }
        let mut fields = F::default();
        match Best.run(InObject(
            Start::over_lines(json.source(), &mut Ahead::default(), &mut { KeyPredictor::NONE }),
            Cursor::UNKNOWN,
            &mut fields,
        )) {
            Ok(_) => Some(fields),
            Err(Odd) => super::obvious::Obvious::fields(json),
        }
    }

    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>> {
        if !json.is_array() {
            return None;
        }
        let mut all = SmallVec::new();
        match Best.run(InArray(
            Start::over_lines(json.source(), &mut Ahead::default(), &mut { KeyPredictor::NONE }),
            &mut all,
        )) {
            Ok(_) => Some(all),
            Err(Odd) => super::obvious::Obvious::elements(json),
        }
    }

    fn entries(json: Json<'a>) -> Option<Vec<(Text<'a>, Json<'a>)>> {
        super::obvious::Obvious::entries(json) // only results have them, and there are few
    }

    fn message(json: Json<'a>) -> Option<Message<'a>> {
        if !json.is_object() {
            return None;
        }
        let mut opened = Message::default();
        match Best.run(InObject(
            Start::over_lines(json.source(), &mut Ahead::default(), &mut { KeyPredictor::NONE }),
            Cursor::UNKNOWN,
            &mut opened,
        )) {
            Ok(_) => Some(opened),
            Err(Odd) => super::obvious::Obvious::message(json),
        }
    }
}
