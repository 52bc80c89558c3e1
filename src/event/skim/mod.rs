//! The fast way: one validating walk over a line that hands out borrowed slices of the few fields that are wanted.
//!
//! It never gives a verdict of its own. What is broken or odd in any way is left to the obvious path, so the two can only
//! differ where this one accepts a line, and tests and fuzzing hold them equal there.

mod kernel;
mod walk;

use std::ops::Range;

use smallvec::SmallVec;

#[cfg(fuzzing)]
pub(super) use kernel::twin::kernels_agree;

use super::{
    Event, Text, Usage,
    decode::{event, usage_of},
    fields::{
        BlockFields, EventFields, Fields, MessageFields, MessageKey, RecordFields, RecordKey, UsageFields,
        UsageKey,
    },
    json::Json,
    record::{Blocks, Message, Open, Record},
};
use kernel::{Ahead, Kernel, Quotes, Task, run};
use walk::{Left, Odd, Start, Step, Walk};

/// Opens JSON by walking over it.
pub(super) struct Skim;

/// Reads records out of a text of whole lines.
#[derive(Clone, Debug)]
pub struct Skimmer<'a> {
    text: &'a str,
    end: usize,
    /// What was seen ahead of the last line, and is of use for the next.
    ahead: Ahead,
    quotes: Quotes,
    /// Where that next line begins; nowhere after a line that is odd.
    next: Option<usize>,
}

impl<'a> Skimmer<'a> {
    /// Over a text of whole lines, the last one perhaps without its end.
    pub fn new(text: &'a str) -> Self {
        Self { text, end: 0, ahead: Ahead::default(), quotes: Quotes::default(), next: Some(0) }
    }

    /// The record that begins at `from`; `None` if its line is not simply one record.
    #[inline]
    pub fn read(&mut self, from: usize) -> Option<Event<'a>> {
        if self.next.take() != Some(from) {
            self.ahead.reset(from);
            self.quotes = Quotes::default();
        }
        let mut record = Record::default();
        let start = Start::at(self.text, (from, self.quotes), &mut self.ahead);
        let ((end, quotes), span) = run(Whole { start, record: &mut record }).ok()?;
        (self.end, self.quotes, self.next) = (end, quotes, Some(end + 1));
        event::<Skim>(&record, self.text.get(span)?)
    }

    /// Where the line of the last record ends.
    pub fn end(&self) -> usize {
        self.end
    }
}

/// Reads the one record that begins at `from` in a text of whole lines; with it comes the end of its line.
pub fn skim(text: &str, from: usize) -> Option<(Event<'_>, usize)> {
    let mut skimmer = Skimmer::new(text);
    let event = skimmer.read(from)?;
    Some((event, skimmer.end()))
}

/// Reads a record that is the whole text, over several lines perhaps.
pub(super) fn skim_piece(text: &str) -> Option<Event<'_>> {
    let (mut record, mut ahead) = (Record::default(), Ahead::default());
    let start = Start::over_lines(text, &mut ahead);
    let ((end, _), span) = run(Whole { start, record: &mut record }).ok()?;
    // The walk ends at the end of the record's last line, and what may stand on the next one is no part of it.
    if end < text.len() {
        return None;
    }
    event::<Skim>(&record, text.get(span)?)
}

/// Walks over a record and what is left of its line; where that ends, and where the record stands. The record is filled
/// where it is: moving its slots about took 5 % of the time.
struct Whole<'w, 'r, 'a> {
    start: Start<'w, 'a>,
    record: &'r mut Record<'a>,
}

impl Task for Whole<'_, '_, '_> {
    type Done = Step<(Left, Range<usize>)>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<(Left, Range<usize>)> {
        let mut walk = self.start.walk(kernel);
        let (start, _) = walk.begin();
        record(&mut walk, self.record)?;
        let span = start..walk.left().0;
        if walk.ends() { Ok((walk.left(), span)) } else { Err(Odd) }
    }
}

/// Walks over a record. What is large is opened on the way, so that it is walked over once.
#[inline(always)]
fn record<'a, K: Kernel>(walk: &mut Walk<'_, 'a, K>, record: &mut Record<'a>) -> Step<()> {
    const MESSAGE: usize = RecordKey::Message as usize;
    const EVENT: usize = RecordKey::Event as usize;
    const ATTACHMENT: usize = RecordKey::Attachment as usize;
    if !walk.enter(b'}')? {
        return Ok(());
    }
    loop {
        let key = walk.key()?;
        let (from, first) = walk.begin();
        let slot = RecordFields::slot(key);
        let plain = match (slot, first) {
            (Some(MESSAGE), b'{') => {
                let message = record.message.insert(Message::default());
                walk.by(|from| InMessage(from, message))?;
                false
            }
            (Some(slot @ (EVENT | ATTACHMENT)), b'{') => {
                let place = if slot == EVENT { &mut record.event } else { &mut record.attachment };
                let fields = place.insert(EventFields::default());
                walk.by(|from| InObject(from, fields))?;
                false
            }
            (other, _) => {
                match other {
                    Some(MESSAGE) => record.message = None,
                    Some(EVENT) => record.event = None,
                    Some(ATTACHMENT) => record.attachment = None,
                    _ => {}
                }
                walk.pass(first)?
            }
        };
        if let Some(slot) = slot {
            record.fields.put(slot, walk.since(from, plain)?);
        }
        if !walk.comma() {
            return walk.expect(b'}');
        }
    }
}

#[inline(always)]
fn wanted<'a, K: Kernel, F: Fields<'a>>(walk: &mut Walk<'_, 'a, K>, fields: &mut F) -> Step<()> {
    if !walk.enter(b'}')? {
        return Ok(());
    }
    loop {
        match F::slot(walk.key()?) {
            Some(slot) => fields.put(slot, walk.value()?),
            None => walk.skip()?,
        }
        if !walk.comma() {
            return walk.expect(b'}');
        }
    }
}

#[inline(always)]
fn message<'a, K: Kernel>(walk: &mut Walk<'_, 'a, K>, message: &mut Message<'a>) -> Step<()> {
    const CONTENT: usize = MessageKey::Content as usize;
    const USAGE: usize = MessageKey::Usage as usize;
    if !walk.enter(b'}')? {
        message.empty = true;
        return Ok(());
    }
    loop {
        let key = walk.key()?;
        let (from, first) = walk.begin();
        let slot = MessageFields::slot(key);
        let plain = match (slot, first) {
            (Some(CONTENT), b'[') => {
                blocks(walk, message.blocks.insert(Blocks::default()))?;
                false
            }
            (Some(USAGE), b'{') => {
                message.usage = Some(usage(walk)?);
                false
            }
            (other, _) => {
                match other {
                    Some(CONTENT) => message.blocks = None,
                    Some(USAGE) => message.usage = None,
                    _ => {}
                }
                walk.pass(first)?
            }
        };
        if let Some(slot) = slot {
            message.fields.put(slot, walk.since(from, plain)?);
        }
        if !walk.comma() {
            return walk.expect(b'}');
        }
    }
}

/// Walks over a `usage` and the two objects in it that are counted.
#[inline(always)]
fn usage<K: Kernel>(walk: &mut Walk<'_, '_, K>) -> Step<Usage> {
    const SPLIT: usize = UsageKey::CacheCreation as usize;
    const SERVER: usize = UsageKey::ServerToolUse as usize;
    let [mut fields, mut split, mut server] = [const { UsageFields::NONE }; 3];
    if walk.enter(b'}')? {
        loop {
            match UsageFields::slot(walk.key()?) {
                None => walk.skip()?,
                Some(slot @ (SPLIT | SERVER)) => {
                    let inner = if slot == SPLIT { &mut split } else { &mut server };
                    *inner = UsageFields::NONE; // of duplicate keys the last wins
                    if walk.peek() == b'{' { wanted(walk, inner)? } else { walk.skip()? }
                }
                Some(slot) => fields.put(slot, walk.value()?),
            }
            if !walk.comma() {
                break;
            }
        }
        walk.expect(b'}')?;
    }
    Ok(usage_of(&fields, &split, &server))
}

#[inline(always)]
fn blocks<'a, K: Kernel>(walk: &mut Walk<'_, 'a, K>, blocks: &mut Blocks<'a>) -> Step<()> {
    blocks.any = walk.enter(b']')?;
    if !blocks.any {
        return Ok(());
    }
    loop {
        if walk.peek() == b'{' {
            let (at, (from, _)) = (blocks.objects.len(), walk.begin());
            blocks.objects.push((BlockFields::default(), 0));
            wanted(walk, &mut blocks.objects[at].0)?;
            blocks.objects[at].1 = (walk.left().0 - from) as u64;
        } else {
            walk.skip()?;
        }
        if !walk.comma() {
            return walk.expect(b']');
        }
    }
}

/// Walks over an object and keeps the wanted fields.
struct InObject<'w, 'r, 'a, F>(Start<'w, 'a>, &'r mut F);

impl<'a, F: Fields<'a>> Task for InObject<'_, '_, 'a, F> {
    type Done = Step<Left>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<Left> {
        let mut walk = self.0.walk(kernel);
        wanted(&mut walk, self.1)?;
        Ok(walk.left())
    }
}

/// Walks over a message.
struct InMessage<'w, 'r, 'a>(Start<'w, 'a>, &'r mut Message<'a>);

impl Task for InMessage<'_, '_, '_> {
    type Done = Step<Left>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<Left> {
        let mut walk = self.0.walk(kernel);
        message(&mut walk, self.1)?;
        Ok(walk.left())
    }
}

/// Walks over an array and keeps its elements.
struct InArray<'w, 'r, 'a>(Start<'w, 'a>, &'r mut SmallVec<[Json<'a>; 4]>);

impl Task for InArray<'_, '_, '_> {
    type Done = Step<Left>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<Left> {
        let mut walk = self.0.walk(kernel);
        if walk.enter(b']')? {
            self.1.push(walk.value()?);
            while walk.comma() {
                self.1.push(walk.value()?);
            }
            walk.expect(b']')?;
        }
        Ok(walk.left())
    }
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
        match run(InObject(Start::over_lines(json.source(), &mut Ahead::default()), &mut fields)) {
            Ok(_) => Some(fields),
            Err(Odd) => super::obvious::Obvious::fields(json),
        }
    }

    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>> {
        if !json.is_array() {
            return None;
        }
        let mut all = SmallVec::new();
        match run(InArray(Start::over_lines(json.source(), &mut Ahead::default()), &mut all)) {
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
        match run(InMessage(Start::over_lines(json.source(), &mut Ahead::default()), &mut opened)) {
            Ok(_) => Some(opened),
            Err(Odd) => super::obvious::Obvious::message(json),
        }
    }
}
