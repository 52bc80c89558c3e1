//! A record taken apart, as far as its meaning needs it, and the two ways to do that.

use smallvec::SmallVec;

use super::{
    Text, Usage,
    fields::{BlockFields, EventFields, Fields, MessageFields, RecordFields, RecordKey},
    json::Json,
};

/// A way to look into JSON text.
pub(super) trait Open<'a> {
    /// The wanted fields of an object; `None` if it is none.
    fn fields<F: Fields<'a>>(json: Json<'a>) -> Option<F>;
    /// The elements of an array; `None` if it is none.
    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>>;
    /// Names and values of an object, each name once with its last value; `None` if it is none.
    fn entries(json: Json<'a>) -> Option<Vec<(Text<'a>, Json<'a>)>>;
    /// The message in a value, if it is an object.
    fn message(json: Json<'a>) -> Option<Message<'a>>;
}

/// A record: its fields, and what is so large that it is opened on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) fields: RecordFields<'a>,
    /// `message`, if it is an object.
    pub(super) message: Option<Message<'a>>,
    /// `event`, if it is an object.
    pub(super) event: Option<EventFields<'a>>,
    /// `attachment`, if it is an object.
    pub(super) attachment: Option<EventFields<'a>>,
}

impl<'a> Record<'a> {
    /// Opens what a walk did not open on the way.
    pub(super) fn of<O: Open<'a>>(fields: RecordFields<'a>) -> Self {
        Self {
            message: fields.get(RecordKey::Message).and_then(O::message),
            event: fields.get(RecordKey::Event).and_then(O::fields),
            attachment: fields.get(RecordKey::Attachment).and_then(O::fields),
            fields,
        }
    }
}

/// A `message` object.
#[derive(Clone, Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) fields: MessageFields<'a>,
    /// It has no field at all.
    pub(super) empty: bool,
    /// The elements of `content`, if it is an array.
    pub(super) blocks: Option<Blocks<'a>>,
    /// `usage`, if it is an object.
    pub(super) usage: Option<Usage>,
}

/// The elements of `content`.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks<'a> {
    /// Those that are objects, and how long each is.
    pub(super) objects: SmallVec<[(BlockFields<'a>, u64); 1]>,
    /// Whether there are any elements at all.
    pub(super) any: bool,
}
