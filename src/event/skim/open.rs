//! What is kept of each sort of object that is walked over, and what in it is opened on the way, so that it is walked over
//! once.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    kernel::{Kernel, Task},
    predictor::Cursor,
    walk::{Next, Odd, Start, Step, Walk},
};
use crate::event::{
    fields::{
        BlockFields, CallFields, CallKey, EventFields, EventKey, Fields, MessageFields, MessageKey,
        ModelFields, RecordFields, RecordKey, UsageFields, UsageKey,
    },
    json::Json,
    record::{ApiEvent, Blocks, Call, Held, Message, Models, Record, Spent, last_of_each},
};

/// An object that is filled by walking over it.
pub(super) trait Opened<'a>: Default {
    /// Its wanted keys.
    type Keys: Fields<'a>;

    /// Takes the value that begins here. Of duplicate keys the last wins.
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, cursor: Cursor, slot: usize) -> Step<()>;

    /// It has a key at all.
    fn begin(&mut self) {}

    /// Forgets what was in its place before. What is emptied often is emptied where it is, since to move an empty one here took
    /// longer than to fill it.
    fn empty(&mut self) {
        *self = Self::default();
    }
}

impl<'a, F: Fields<'a>> Opened<'a> for F {
    type Keys = F;

    #[inline(always)]
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, _: Cursor, slot: usize) -> Step<()> {
        self.put(slot, walk.value()?);
        Ok(())
    }

    #[inline(always)]
    fn empty(&mut self) {
        self.clear();
    }
}

impl<'a> Opened<'a> for Record<'a> {
    type Keys = RecordFields<'a>;

    #[inline(always)]
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, cursor: Cursor, slot: usize) -> Step<()> {
        const MESSAGE: usize = RecordKey::Message as usize;
        const EVENT: usize = RecordKey::Event as usize;
        const ATTACHMENT: usize = RecordKey::Attachment as usize;
        const META: usize = RecordKey::ToolResultMeta as usize;
        const USAGE: usize = RecordKey::Usage as usize;
        const MODELS: usize = RecordKey::ModelUsage as usize;
        const SINCE_LAST: usize = RecordKey::SinceLast as usize;
        match slot {
            MESSAGE => object(walk, cursor, &mut self.message),
            EVENT => object(walk, cursor, &mut self.event),
            ATTACHMENT => object(walk, cursor, &mut self.attachment),
            META => {
                self.calls.clear();
                if walk.peek() != b'[' {
                    return walk.skip();
                }
                let mut more = walk.enter(b']')?;
                while more {
                    if walk.peek() == b'{' {
                        let (at, inner) = (self.calls.len(), walk.descend(cursor));
                        self.calls.push(Call::default());
                        let call = &mut self.calls[at];
                        walk.by(|start| InObject(start, inner, call))?;
                    } else {
                        walk.skip()?;
                    }
                    more = walk.more(b']')?;
                }
                Ok(())
            }
            USAGE => object(walk, cursor, &mut self.usage),
            MODELS => walk.by(|start| InModels(start, cursor, &mut self.models)),
            SINCE_LAST => walk.by(|start| InModels(start, cursor, &mut self.since_last)),
            _ => self.fields.take(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn empty(&mut self) {
        let Self { fields, message, event, attachment, calls, usage, models, since_last } = self;
        fields.clear();
        message.clear();
        event.clear();
        attachment.clear();
        calls.clear();
        usage.clear();
        *models = None;
        *since_last = None;
    }
}

impl<'a> Opened<'a> for Message<'a> {
    type Keys = MessageFields<'a>;

    #[inline(always)]
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, cursor: Cursor, slot: usize) -> Step<()> {
        const CONTENT: usize = MessageKey::Content as usize;
        const USAGE: usize = MessageKey::Usage as usize;
        match slot {
            CONTENT if walk.peek() == b'[' => {
                let (from, _) = walk.begin();
                self.blocks.clear();
                let Blocks { objects, any } = &mut self.blocks;
                *any = walk.enter(b']')?;
                let mut more = *any;
                while more {
                    if walk.peek() == b'{' {
                        let (at, (from, _)) = (objects.len(), walk.begin());
                        objects.push((BlockFields::default(), 0));
                        fill(walk, walk.descend(cursor), &mut objects[at].0)?;
                        objects[at].1 = (walk.left() - from) as u64;
                    } else {
                        walk.skip()?;
                    }
                    more = walk.more(b']')?;
                }
                self.fields.put(slot, walk.since(from, false)?);
                Ok(())
            }
            CONTENT => {
                self.blocks.clear();
                self.fields.take(walk, cursor, slot)
            }
            USAGE => object(walk, cursor, &mut self.usage),
            _ => self.fields.take(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn begin(&mut self) {
        self.any = true;
    }

    #[inline(always)]
    fn empty(&mut self) {
        let Self { fields, any, blocks, usage } = self;
        fields.clear();
        *any = false;
        blocks.clear();
        usage.clear();
    }
}

impl<'a> Opened<'a> for ApiEvent<'a> {
    type Keys = EventFields<'a>;

    #[inline(always)]
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, cursor: Cursor, slot: usize) -> Step<()> {
        const MESSAGE: usize = EventKey::Message as usize;
        const DELTA: usize = EventKey::Delta as usize;
        const USAGE: usize = EventKey::Usage as usize;
        match slot {
            MESSAGE => object(walk, cursor, &mut self.message),
            DELTA => part(walk, cursor, &mut self.delta),
            USAGE => object(walk, cursor, &mut self.usage),
            _ => self.fields.take(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn empty(&mut self) {
        let Self { fields, message, delta, usage } = self;
        fields.clear();
        message.clear();
        delta.clear();
        usage.clear();
    }
}

impl<'a> Opened<'a> for Spent<'a> {
    type Keys = UsageFields<'a>;

    #[inline(always)]
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, cursor: Cursor, slot: usize) -> Step<()> {
        const SPLIT: usize = UsageKey::CacheCreation as usize;
        const SERVER: usize = UsageKey::ServerToolUse as usize;
        match slot {
            SPLIT => part(walk, cursor, &mut self.split),
            SERVER => part(walk, cursor, &mut self.server),
            _ => self.fields.take(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn empty(&mut self) {
        let Self { fields, split, server } = self;
        fields.clear();
        split.clear();
        server.clear();
    }
}

impl<'a> Opened<'a> for Call<'a> {
    type Keys = CallFields<'a>;

    #[inline(always)]
    fn take<K: Kernel>(&mut self, walk: &mut Walk<'_, 'a, K>, cursor: Cursor, slot: usize) -> Step<()> {
        const DECISION: usize = CallKey::Decision as usize;
        match slot {
            DECISION => part(walk, cursor, &mut self.decision),
            _ => self.fields.take(walk, cursor, slot),
        }
    }
}

/// Fills what an object gives.
#[inline(always)]
fn fill<'a, K: Kernel, T: Opened<'a>>(
    walk: &mut Walk<'_, 'a, K>,
    mut cursor: Cursor,
    into: &mut T,
) -> Step<()> {
    let mut first = true;
    loop {
        match walk.key::<T::Keys>(&mut cursor, first)? {
            Next::Value(slot) => match slot.index() {
                Some(slot) => into.take(walk, cursor, slot)?,
                None => walk.skip()?,
            },
            Next::End => return Ok(()),
        }
        into.begin();
        first = false;
    }
}

/// Opens the value after a key; nothing is in it if it is no object.
#[inline(always)]
fn part<'a, K: Kernel, T: Opened<'a>>(walk: &mut Walk<'_, 'a, K>, after: Cursor, into: &mut T) -> Step<()> {
    into.empty();
    if walk.peek() != b'{' {
        return walk.skip();
    }
    let inner = walk.descend(after);
    walk.by(|start| InObject(start, inner, into))
}

/// Opens the value after a key, if it is an object.
#[inline(always)]
fn object<'a, K: Kernel, T: Opened<'a>>(
    walk: &mut Walk<'_, 'a, K>,
    after: Cursor,
    place: &mut Held<T>,
) -> Step<()> {
    place.clear();
    if walk.peek() != b'{' {
        return walk.skip();
    }
    let into = place.hold();
    into.empty();
    let inner = walk.descend(after);
    walk.by(|start| InObject(start, inner, into))
}

/// Walks over a record and what is left of its line; where that ends, and where the record stands. The record is filled
/// where it is: moving its slots about took 5 % of the time.
pub(super) struct Whole<'w, 'r, 'a> {
    pub(super) start: Start<'w, 'a>,
    pub(super) record: &'r mut Record<'a>,
}

impl Task for Whole<'_, '_, '_> {
    type Done = Step<(usize, Range<usize>)>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<(usize, Range<usize>)> {
        let mut walk = self.start.walk(kernel);
        let (start, _) = walk.begin();
        let cursor = walk.start();
        self.record.empty();
        fill(&mut walk, cursor, self.record)?;
        let span = start..walk.left();
        if walk.ends() { Ok((walk.left(), span)) } else { Err(Odd) }
    }
}

/// Walks over an object and fills what it gives.
pub(super) struct InObject<'w, 'r, 'a, T>(pub(super) Start<'w, 'a>, pub(super) Cursor, pub(super) &'r mut T);

impl<'a, T: Opened<'a>> Task for InObject<'_, '_, 'a, T> {
    type Done = Step<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<usize> {
        let mut walk = self.0.walk(kernel);
        fill(&mut walk, self.1, self.2)?;
        Ok(walk.left())
    }
}

/// Walks over a value, and if it is an object fills what the objects in it give, by name.
struct InModels<'w, 'r, 'a>(Start<'w, 'a>, Cursor, &'r mut Option<Models<'a>>);

impl Task for InModels<'_, '_, '_> {
    type Done = Step<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<usize> {
        let Self(start, after, place) = self;
        let mut walk = start.walk(kernel);
        *place = None;
        if walk.peek() != b'{' {
            walk.skip()?;
            return Ok(walk.left());
        }
        let all = place.insert(Models::new());
        let mut more = walk.enter(b'}')?;
        while more {
            let mut fields = ModelFields::default();
            let name = walk.name()?;
            if walk.peek() == b'{' {
                let (inner, into) = (walk.descend(after), &mut fields);
                walk.by(|start| InObject(start, inner, into))?;
            } else {
                walk.skip()?;
            }
            all.push((name.into(), fields));
            more = walk.more(b'}')?;
        }
        last_of_each(all);
        Ok(walk.left())
    }
}

/// Walks over an array and keeps its elements.
pub(super) struct InArray<'w, 'r, 'a>(pub(super) Start<'w, 'a>, pub(super) &'r mut SmallVec<[Json<'a>; 4]>);

impl Task for InArray<'_, '_, '_> {
    type Done = Step<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Step<usize> {
        let mut walk = self.0.walk(kernel);
        let mut more = walk.enter(b']')?;
        while more {
            self.1.push(walk.value()?);
            more = walk.more(b']')?;
        }
        Ok(walk.left())
    }
}
