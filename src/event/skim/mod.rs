//! The fast way: one validating walk over a line that hands out borrowed slices of the few fields that are wanted.
//!
//! It never gives a verdict of its own. What is broken or odd in any way is left to the obvious path, so the two can only
//! differ where this one accepts a line, and tests and fuzzing hold them equal there.

mod kernel;
mod walk;

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
use walk::{Odd, Step, Walk};

/// Opens JSON by walking over it.
pub(super) struct Skim;

/// Reads records out of a text of whole lines.
#[derive(Clone, Copy, Debug)]
pub struct Skimmer<'a> {
    text: &'a str,
    end: usize,
}

impl<'a> Skimmer<'a> {
    /// Over a text of whole lines, the last one perhaps without its end.
    pub fn new(text: &'a str) -> Self {
        Self { text, end: 0 }
    }

    /// The record that begins at `from`; `None` if its line is not simply one record.
    #[inline]
    pub fn read(&mut self, from: usize) -> Option<Event<'a>> {
        let mut walk = Walk::new(self.text, from);
        let mut read = Record::default();
        let start = walk.begin();
        record(&mut walk, &mut read).ok()?;
        let bytes = (walk.at() - start) as u64;
        if walk.peek() != b'\n' && walk.at() != self.text.len() {
            return None;
        }
        self.end = walk.at();
        let event = event::<Skim>(&read)?;
        Some(Event { bytes, ..event })
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
    let mut walk = Walk::over_lines(text);
    let mut read = Record::default();
    let start = walk.begin();
    record(&mut walk, &mut read).ok()?;
    let bytes = (walk.at() - start) as u64;
    walk.peek();
    if walk.at() != text.len() {
        return None;
    }
    let event = event::<Skim>(&read)?;
    Some(Event { bytes, ..event })
}

/// Walks over a record. What is large is opened on the way, so that it is walked over once. The record is filled where it
/// is: moving its slots about took 5 % of the time.
fn record<'a>(walk: &mut Walk<'a>, record: &mut Record<'a>) -> Step<()> {
    const MESSAGE: usize = RecordKey::Message as usize;
    const EVENT: usize = RecordKey::Event as usize;
    const ATTACHMENT: usize = RecordKey::Attachment as usize;
    walk.object(|walk, key| {
        let Some(slot) = RecordFields::slot(key) else { return walk.skip() };
        let from = walk.begin();
        match (slot, walk.peek()) {
            (MESSAGE, b'{') => message(walk, record.message.insert(Message::default()))?,
            (EVENT, b'{') => wanted(walk, record.event.insert(EventFields::default()))?,
            (ATTACHMENT, b'{') => wanted(walk, record.attachment.insert(EventFields::default()))?,
            (other, _) => {
                match other {
                    MESSAGE => record.message = None,
                    EVENT => record.event = None,
                    ATTACHMENT => record.attachment = None,
                    _ => {}
                }
                walk.skip()?;
            }
        }
        record.fields.put(slot, walk.since(from)?);
        Ok(())
    })
}

fn wanted<'a, F: Fields<'a>>(walk: &mut Walk<'a>, fields: &mut F) -> Step<()> {
    walk.object(|walk, key| match F::slot(key) {
        Some(slot) => walk.value().map(|value| fields.put(slot, value)),
        None => walk.skip(),
    })
}

fn message<'a>(walk: &mut Walk<'a>, message: &mut Message<'a>) -> Step<()> {
    const CONTENT: usize = MessageKey::Content as usize;
    const USAGE: usize = MessageKey::Usage as usize;
    message.empty = true;
    walk.object(|walk, key| {
        message.empty = false;
        let Some(slot) = MessageFields::slot(key) else { return walk.skip() };
        let from = walk.begin();
        match (slot, walk.peek()) {
            (CONTENT, b'[') => message.blocks = Some(blocks(walk)?),
            (USAGE, b'{') => message.usage = Some(usage(walk)?),
            (other, _) => {
                match other {
                    CONTENT => message.blocks = None,
                    USAGE => message.usage = None,
                    _ => {}
                }
                walk.skip()?;
            }
        }
        message.fields.put(slot, walk.since(from)?);
        Ok(())
    })
}

/// Walks over a `usage` and the two objects in it that are counted.
fn usage(walk: &mut Walk<'_>) -> Step<Usage> {
    const SPLIT: usize = UsageKey::CacheCreation as usize;
    const SERVER: usize = UsageKey::ServerToolUse as usize;
    let [mut fields, mut split, mut server] = [const { UsageFields::NONE }; 3];
    walk.object(|walk, key| {
        let Some(slot) = UsageFields::slot(key) else { return walk.skip() };
        let inner = match slot {
            SPLIT => &mut split,
            SERVER => &mut server,
            _ => return walk.value().map(|value| fields.put(slot, value)),
        };
        *inner = UsageFields::NONE; // of duplicate keys the last wins
        if walk.peek() == b'{' { wanted(walk, inner) } else { walk.skip() }
    })?;
    Ok(usage_of(&fields, &split, &server))
}

fn blocks<'a>(walk: &mut Walk<'a>) -> Step<Blocks<'a>> {
    let mut blocks = Blocks::default();
    walk.array(|walk| {
        blocks.any = true;
        if walk.peek() != b'{' {
            return walk.skip();
        }
        let (at, from) = (blocks.objects.len(), walk.at());
        blocks.objects.push((BlockFields::default(), 0));
        wanted(walk, &mut blocks.objects[at].0)?;
        blocks.objects[at].1 = (walk.at() - from) as u64;
        Ok(())
    })?;
    Ok(blocks)
}

/// A walk over text that was checked before: what the obvious path would find odd cannot be there, except for escaped
/// keys and great depth, and those it opens itself.
fn again<'a, T>(json: Json<'a>, read: impl FnOnce(&mut Walk<'a>) -> Step<T>) -> Result<T, Odd> {
    read(&mut Walk::over_lines(json.source()))
}

impl<'a> Open<'a> for Skim {
    #[inline]
    fn fields<F: Fields<'a>>(json: Json<'a>) -> Option<F> {
        if !json.is_object() {
            return None;
        }
        let mut fields = F::default();
        match again(json, |walk| wanted(walk, &mut fields)) {
            Ok(()) => Some(fields),
            Err(Odd) => super::obvious::Obvious::fields(json),
        }
    }

    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>> {
        if !json.is_array() {
            return None;
        }
        let all = again(json, |walk| {
            let mut all = SmallVec::new();
            walk.array(|walk| walk.value().map(|value| all.push(value)))?;
            Ok(all)
        });
        all.ok().or_else(|| super::obvious::Obvious::elements(json))
    }

    fn entries(json: Json<'a>) -> Option<Vec<(Text<'a>, Json<'a>)>> {
        super::obvious::Obvious::entries(json) // only results have them, and there are few
    }

    fn message(json: Json<'a>) -> Option<Message<'a>> {
        if !json.is_object() {
            return None;
        }
        let opened = again(json, |walk| {
            let mut opened = Message::default();
            message(walk, &mut opened).map(|()| opened)
        });
        opened.ok().or_else(|| super::obvious::Obvious::message(json))
    }
}
