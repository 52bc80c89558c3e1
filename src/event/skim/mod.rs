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
    Event, Text,
    decode::event,
    fields::{BlockFields, Fields, MessageFields, MessageKey, RecordFields, RecordKey},
    json::Json,
    record::{Blocks, Message, Open, Record},
};
use walk::{Odd, Step, Walk};

/// Opens JSON by walking over it.
pub(super) struct Skim;

/// Reads the record that begins at `from` in a text of whole lines; with it comes the end of its line. `None` if the line
/// is not simply one record.
#[inline]
pub fn skim(text: &str, from: usize) -> Option<(Event<'_>, usize)> {
    let mut walk = Walk::new(text, from);
    let mut read = Record::default();
    record(&mut walk, &mut read).ok()?;
    let end = match walk.peek() {
        b'\n' => walk.at(),
        _ if walk.at() == text.len() => walk.at(),
        _ => return None,
    };
    Some((event::<Skim>(&read)?, end))
}

/// Reads a record that is the whole text, over several lines perhaps.
pub(super) fn skim_piece(text: &str) -> Option<Event<'_>> {
    let mut walk = Walk::over_lines(text);
    let mut read = Record::default();
    record(&mut walk, &mut read).ok()?;
    walk.peek();
    if walk.at() == text.len() { event::<Skim>(&read) } else { None }
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
            (EVENT, b'{') => record.event = Some(wanted(walk)?),
            (ATTACHMENT, b'{') => record.attachment = Some(wanted(walk)?),
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

fn wanted<'a, F: Fields<'a>>(walk: &mut Walk<'a>) -> Step<F> {
    let mut fields = F::default();
    walk.object(|walk, key| match F::slot(key) {
        Some(slot) => walk.value().map(|value| fields.put(slot, value)),
        None => walk.skip(),
    })?;
    Ok(fields)
}

fn message<'a>(walk: &mut Walk<'a>, message: &mut Message<'a>) -> Step<()> {
    message.empty = true;
    walk.object(|walk, key| {
        message.empty = false;
        let Some(slot) = MessageFields::slot(key) else { return walk.skip() };
        let from = walk.begin();
        if slot == MessageKey::Content as usize {
            message.blocks =
                if walk.peek() == b'[' { Some(blocks(walk)?) } else { walk.skip().map(|()| None)? };
        } else {
            walk.skip()?;
        }
        message.fields.put(slot, walk.since(from)?);
        Ok(())
    })
}

fn blocks<'a>(walk: &mut Walk<'a>) -> Step<Blocks<'a>> {
    let mut blocks = Blocks::default();
    walk.array(|walk| {
        blocks.any = true;
        if walk.peek() != b'{' {
            return walk.skip();
        }
        blocks.objects.push(wanted::<BlockFields<'a>>(walk)?);
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
        again(json, wanted).ok().or_else(|| super::obvious::Obvious::fields(json))
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
