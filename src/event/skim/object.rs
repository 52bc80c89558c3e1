//! Reads the wanted fields of each kind of object during the walk, including nested objects, so that every
//! byte is walked over once.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    kernel::{Kernel, Task},
    predictor::Cursor,
    walk::{Fallback, NextKey, Walk, WalkResult, WalkStart},
};
use crate::event::{
    fields::{
        BlockFields, CallFields, CallKey, EventFields, EventKey, Fields, MessageFields, MessageKey,
        ModelFields, RecordFields, RecordKey, UsageFields, UsageKey,
    },
    json::Json,
    record::{
        ApiEvent, Blocks, Models, RawMessage, RawUsage, Record, ResultMeta, Reusable, keep_last_of_each,
    },
};

/// An object whose wanted fields are read during a walk.
pub(super) trait ReadFields<'a>: Default {
    /// The list of wanted fields.
    type Keys: Fields<'a>;

    /// Reads the value that begins here into the field `slot`. The last of duplicate keys wins.
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        cursor: Cursor,
        slot: usize,
    ) -> WalkResult<()>;

    /// Called after each field, wanted or not.
    fn note_field(&mut self) {}

    /// Removes all fields. Types that are reused often clear their fields in place: moving an empty value
    /// here took longer than filling it.
    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl<'a, F: Fields<'a>> ReadFields<'a> for F {
    type Keys = F;

    #[inline(always)]
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        _: Cursor,
        slot: usize,
    ) -> WalkResult<()> {
        self.put(slot, walk.value()?);
        Ok(())
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.clear();
    }
}

impl<'a> ReadFields<'a> for Record<'a> {
    type Keys = RecordFields<'a>;

    #[inline(always)]
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        cursor: Cursor,
        slot: usize,
    ) -> WalkResult<()> {
        const MESSAGE: usize = RecordKey::Message as usize;
        const EVENT: usize = RecordKey::Event as usize;
        const ATTACHMENT: usize = RecordKey::Attachment as usize;
        const META: usize = RecordKey::ToolResultMeta as usize;
        const USAGE: usize = RecordKey::Usage as usize;
        const MODELS: usize = RecordKey::ModelUsage as usize;
        const SINCE_LAST: usize = RecordKey::SinceLast as usize;
        match slot {
            MESSAGE => read_optional_object(walk, cursor, &mut self.message),
            EVENT => read_optional_object(walk, cursor, &mut self.event),
            ATTACHMENT => read_optional_object(walk, cursor, &mut self.attachment),
            META => {
                self.result_meta.clear();
                if walk.peek() != b'[' {
                    return walk.skip();
                }
                let mut more = walk.enter(b']')?;
                while more {
                    if walk.peek() == b'{' {
                        let (at, inner) = (self.result_meta.len(), walk.descend(cursor));
                        self.result_meta.push(ResultMeta::default());
                        let meta = &mut self.result_meta[at];
                        walk.delegate(|start| ReadObject(start, inner, meta))?;
                    } else {
                        walk.skip()?;
                    }
                    more = walk.more(b']')?;
                }
                Ok(())
            }
            USAGE => read_optional_object(walk, cursor, &mut self.usage),
            MODELS => walk.delegate(|start| ReadModels(start, cursor, &mut self.models)),
            SINCE_LAST => walk.delegate(|start| ReadModels(start, cursor, &mut self.since_last)),
            _ => self.fields.read_field(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn reset(&mut self) {
        let Self { fields, message, event, attachment, result_meta, usage, models, since_last } = self;
        fields.clear();
        message.clear();
        event.clear();
        attachment.clear();
        result_meta.clear();
        usage.clear();
        *models = None;
        *since_last = None;
    }
}

impl<'a> ReadFields<'a> for RawMessage<'a> {
    type Keys = MessageFields<'a>;

    #[inline(always)]
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        cursor: Cursor,
        slot: usize,
    ) -> WalkResult<()> {
        const CONTENT: usize = MessageKey::Content as usize;
        const USAGE: usize = MessageKey::Usage as usize;
        match slot {
            CONTENT if walk.peek() == b'[' => {
                let (from, _) = walk.value_start();
                self.blocks.clear();
                let Blocks { objects, has_elements } = &mut self.blocks;
                *has_elements = walk.enter(b']')?;
                let mut more = *has_elements;
                while more {
                    if walk.peek() == b'{' {
                        let (at, (from, _)) = (objects.len(), walk.value_start());
                        objects.push((BlockFields::default(), 0));
                        read_fields(walk, walk.descend(cursor), &mut objects[at].0)?;
                        objects[at].1 = (walk.position() - from) as u64;
                    } else {
                        walk.skip()?;
                    }
                    more = walk.more(b']')?;
                }
                self.fields.put(slot, walk.value_since(from, false)?);
                Ok(())
            }
            CONTENT => {
                self.blocks.clear();
                self.fields.read_field(walk, cursor, slot)
            }
            USAGE => read_optional_object(walk, cursor, &mut self.usage),
            _ => self.fields.read_field(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn note_field(&mut self) {
        self.has_fields = true;
    }

    #[inline(always)]
    fn reset(&mut self) {
        let Self { fields, has_fields, blocks, usage } = self;
        fields.clear();
        *has_fields = false;
        blocks.clear();
        usage.clear();
    }
}

impl<'a> ReadFields<'a> for ApiEvent<'a> {
    type Keys = EventFields<'a>;

    #[inline(always)]
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        cursor: Cursor,
        slot: usize,
    ) -> WalkResult<()> {
        const MESSAGE: usize = EventKey::Message as usize;
        const DELTA: usize = EventKey::Delta as usize;
        const USAGE: usize = EventKey::Usage as usize;
        match slot {
            MESSAGE => read_optional_object(walk, cursor, &mut self.message),
            DELTA => read_object(walk, cursor, &mut self.delta),
            USAGE => read_optional_object(walk, cursor, &mut self.usage),
            _ => self.fields.read_field(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn reset(&mut self) {
        let Self { fields, message, delta, usage } = self;
        fields.clear();
        message.clear();
        delta.clear();
        usage.clear();
    }
}

impl<'a> ReadFields<'a> for RawUsage<'a> {
    type Keys = UsageFields<'a>;

    #[inline(always)]
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        cursor: Cursor,
        slot: usize,
    ) -> WalkResult<()> {
        const CACHE_CREATION: usize = UsageKey::CacheCreation as usize;
        const SERVER_TOOLS: usize = UsageKey::ServerToolUse as usize;
        match slot {
            CACHE_CREATION => read_object(walk, cursor, &mut self.cache_creation),
            SERVER_TOOLS => read_object(walk, cursor, &mut self.server_tools),
            _ => self.fields.read_field(walk, cursor, slot),
        }
    }

    #[inline(always)]
    fn reset(&mut self) {
        let Self { fields, cache_creation, server_tools } = self;
        fields.clear();
        cache_creation.clear();
        server_tools.clear();
    }
}

impl<'a> ReadFields<'a> for ResultMeta<'a> {
    type Keys = CallFields<'a>;

    #[inline(always)]
    fn read_field<K: Kernel>(
        &mut self,
        walk: &mut Walk<'_, 'a, K>,
        cursor: Cursor,
        slot: usize,
    ) -> WalkResult<()> {
        const DECISION: usize = CallKey::Decision as usize;
        match slot {
            DECISION => {
                let (from, _) = walk.value_start();
                read_object(walk, cursor, &mut self.decision)?;
                self.fields.put(slot, walk.value_since(from, false)?);
                Ok(())
            }
            _ => self.fields.read_field(walk, cursor, slot),
        }
    }
}

/// Reads the fields of the object that begins here.
#[inline(always)]
fn read_fields<'a, K: Kernel, T: ReadFields<'a>>(
    walk: &mut Walk<'_, 'a, K>,
    mut cursor: Cursor,
    into: &mut T,
) -> WalkResult<()> {
    let mut first = true;
    loop {
        match walk.key::<T::Keys>(&mut cursor, first)? {
            NextKey::Value(slot) => match slot.index() {
                Some(slot) => into.read_field(walk, cursor, slot)?,
                None => walk.skip()?,
            },
            NextKey::End => return Ok(()),
        }
        into.note_field();
        first = false;
    }
}

/// Reads the value after a key. `into` stays empty if the value is not an object.
#[inline(always)]
fn read_object<'a, K: Kernel, T: ReadFields<'a>>(
    walk: &mut Walk<'_, 'a, K>,
    after: Cursor,
    into: &mut T,
) -> WalkResult<()> {
    into.reset();
    if walk.peek() != b'{' {
        return walk.skip();
    }
    let inner = walk.descend(after);
    walk.delegate(|start| ReadObject(start, inner, into))
}

/// Reads the value after a key. `object` stays absent if the value is not an object.
#[inline(always)]
fn read_optional_object<'a, K: Kernel, T: ReadFields<'a>>(
    walk: &mut Walk<'_, 'a, K>,
    after: Cursor,
    object: &mut Reusable<T>,
) -> WalkResult<()> {
    object.clear();
    if walk.peek() != b'{' {
        return walk.skip();
    }
    let into = object.insert();
    into.reset();
    let inner = walk.descend(after);
    walk.delegate(|start| ReadObject(start, inner, into))
}

/// Reads a record and skips the rest of its line. Returns the end of the line, and the range of the record.
///
/// The record is filled in place: moving its fields took 5 % of the time.
pub(super) struct ReadRecord<'w, 'r, 'a> {
    pub(super) start: WalkStart<'w, 'a>,
    pub(super) record: &'r mut Record<'a>,
}

impl Task for ReadRecord<'_, '_, '_> {
    type Output = WalkResult<(usize, Range<usize>)>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> WalkResult<(usize, Range<usize>)> {
        let mut walk = self.start.walk(kernel);
        let (start, _) = walk.value_start();
        let cursor = walk.start();
        self.record.reset();
        read_fields(&mut walk, cursor, self.record)?;
        let span = start..walk.position();
        if walk.at_line_end() { Ok((walk.position(), span)) } else { Err(Fallback) }
    }
}

/// Reads the fields of an object.
pub(super) struct ReadObject<'w, 'r, 'a, T>(
    pub(super) WalkStart<'w, 'a>,
    pub(super) Cursor,
    pub(super) &'r mut T,
);

impl<'a, T: ReadFields<'a>> Task for ReadObject<'_, '_, 'a, T> {
    type Output = WalkResult<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> WalkResult<usize> {
        let mut walk = self.0.walk(kernel);
        read_fields(&mut walk, self.1, self.2)?;
        Ok(walk.position())
    }
}

/// Reads an object of objects, such as `modelUsage`; the result is `None` if the value is not an object.
struct ReadModels<'w, 'r, 'a>(WalkStart<'w, 'a>, Cursor, &'r mut Option<Models<'a>>);

impl Task for ReadModels<'_, '_, '_> {
    type Output = WalkResult<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> WalkResult<usize> {
        let Self(start, after, models) = self;
        let mut walk = start.walk(kernel);
        *models = None;
        if walk.peek() != b'{' {
            walk.skip()?;
            return Ok(walk.position());
        }
        let all = models.insert(Models::new());
        let mut more = walk.enter(b'}')?;
        while more {
            let mut fields = ModelFields::default();
            let name = walk.key_text()?;
            if walk.peek() == b'{' {
                let (inner, into) = (walk.descend(after), &mut fields);
                walk.delegate(|start| ReadObject(start, inner, into))?;
            } else {
                walk.skip()?;
            }
            all.push((name.into(), fields));
            more = walk.more(b'}')?;
        }
        keep_last_of_each(all);
        Ok(walk.position())
    }
}

/// Reads the elements of an array.
pub(super) struct ReadArray<'w, 'r, 'a>(
    pub(super) WalkStart<'w, 'a>,
    pub(super) &'r mut SmallVec<[Json<'a>; 4]>,
);

impl Task for ReadArray<'_, '_, '_> {
    type Output = WalkResult<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> WalkResult<usize> {
        let mut walk = self.0.walk(kernel);
        let mut more = walk.enter(b']')?;
        while more {
            self.1.push(walk.value()?);
            more = walk.more(b']')?;
        }
        Ok(walk.position())
    }
}
