//! A record taken apart, as far as its meaning needs it, and the two ways to do that.

use smallvec::SmallVec;

use super::{
    Text,
    fields::{
        BlockFields, CallFields, CallKey, DecisionFields, DeltaFields, EventFields, EventKey, Fields,
        MessageFields, ModelFields, PartFields, RecordFields, RecordKey, SearchFields, SplitFields,
        UsageFields, UsageKey,
    },
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

/// An object that may be missing, in a place that is used again for the next one: what is missing is only marked.
#[derive(Clone, Debug, Default)]
pub(super) struct Held<T> {
    is: bool,
    object: T,
}

impl<T> Held<T> {
    /// The object, if there is one.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        self.is.then_some(&self.object)
    }

    /// There is none.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.is = false;
    }

    /// There is one, and here it is, with whatever was in its place before.
    #[inline(always)]
    pub(super) fn hold(&mut self) -> &mut T {
        self.is = true;
        &mut self.object
    }
}

impl<T: Default> From<Option<T>> for Held<T> {
    fn from(object: Option<T>) -> Self {
        Self { is: object.is_some(), object: object.unwrap_or_default() }
    }
}

/// A record: its fields, and what is opened on the way where it is walked over. Of those only that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) fields: RecordFields<'a>,
    /// `message`, if it is an object.
    pub(super) message: Held<Message<'a>>,
    /// `event`, if it is an object.
    pub(super) event: Held<ApiEvent<'a>>,
    /// `attachment`, if it is an object.
    pub(super) attachment: Held<PartFields<'a>>,
    /// Those elements of `tool_result_meta` that are objects.
    pub(super) calls: SmallVec<[Call<'a>; 1]>,
    /// `usage`, if it is an object.
    pub(super) usage: Held<Spent<'a>>,
    /// `modelUsage`, if it is an object.
    pub(super) models: Option<Models<'a>>,
    /// `model_usage_since_last_result`, if it is an object.
    pub(super) since_last: Option<Models<'a>>,
}

/// An object of objects: what each model used. Each has one entry, the last that the object has for it.
pub(super) type Models<'a> = Vec<(Text<'a>, ModelFields<'a>)>;

/// Keeps the last of each name. A stable sort keeps the last of equal names last: of a stranger's hundred thousand names none
/// may cost a search.
pub(super) fn last_of_each<T: Clone>(entries: &mut Vec<(Text<'_>, T)>) {
    entries.sort_by(|one, two| one.0.cmp(&two.0));
    entries.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1.clone_from(&later.1);
        }
        same
    });
}

impl<'a> Record<'a> {
    /// Opens what a walk opens on the way.
    pub(super) fn of<O: Open<'a>>(fields: RecordFields<'a>) -> Self {
        let calls = fields.get(RecordKey::ToolResultMeta).and_then(O::elements).unwrap_or_default();
        Self {
            message: fields.get(RecordKey::Message).and_then(O::message).into(),
            event: fields.get(RecordKey::Event).and_then(O::fields).map(ApiEvent::of::<O>).into(),
            attachment: fields.get(RecordKey::Attachment).and_then(O::fields).into(),
            calls: calls.into_iter().filter_map(O::fields).map(Call::of::<O>).collect(),
            usage: fields.get(RecordKey::Usage).and_then(O::fields).map(Spent::of::<O>).into(),
            models: fields.get(RecordKey::ModelUsage).and_then(models::<O>),
            since_last: fields.get(RecordKey::SinceLast).and_then(models::<O>),
            fields,
        }
    }
}

fn models<'a, O: Open<'a>>(json: Json<'a>) -> Option<Models<'a>> {
    let entries = O::entries(json)?.into_iter();
    Some(entries.map(|(model, value)| (model, O::fields(value).unwrap_or_default())).collect())
}

/// A `message` object.
#[derive(Clone, Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) fields: MessageFields<'a>,
    /// It has any field at all.
    pub(super) any: bool,
    /// The elements of `content`, if it is an array.
    pub(super) blocks: Blocks<'a>,
    /// `usage`, if it is an object.
    pub(super) usage: Held<Spent<'a>>,
}

/// The elements of `content`.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks<'a> {
    /// Those that are objects, and how long each is.
    pub(super) objects: SmallVec<[(BlockFields<'a>, u64); 1]>,
    /// Whether there are any elements at all.
    pub(super) any: bool,
}

impl Blocks<'_> {
    /// Forgets them.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        let Self { objects, any } = self;
        objects.clear();
        *any = false;
    }
}

/// An `event` object.
#[derive(Clone, Debug, Default)]
pub(super) struct ApiEvent<'a> {
    pub(super) fields: EventFields<'a>,
    /// `message`, if it is an object.
    pub(super) message: Held<Message<'a>>,
    /// `delta`, if it is an object.
    pub(super) delta: DeltaFields<'a>,
    /// `usage`, if it is an object.
    pub(super) usage: Held<Spent<'a>>,
}

impl<'a> ApiEvent<'a> {
    fn of<O: Open<'a>>(fields: EventFields<'a>) -> Self {
        Self {
            message: fields.get(EventKey::Message).and_then(O::message).into(),
            delta: fields.get(EventKey::Delta).and_then(O::fields).unwrap_or_default(),
            usage: fields.get(EventKey::Usage).and_then(O::fields).map(Spent::of::<O>).into(),
            fields,
        }
    }
}

/// A `usage` object.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent<'a> {
    pub(super) fields: UsageFields<'a>,
    /// `cache_creation`, if it is an object.
    pub(super) split: SplitFields<'a>,
    /// `server_tool_use`, if it is an object.
    pub(super) server: SearchFields<'a>,
}

impl<'a> Spent<'a> {
    pub(super) fn of<O: Open<'a>>(fields: UsageFields<'a>) -> Self {
        Self {
            split: fields.get(UsageKey::CacheCreation).and_then(O::fields).unwrap_or_default(),
            server: fields.get(UsageKey::ServerToolUse).and_then(O::fields).unwrap_or_default(),
            fields,
        }
    }
}

/// What `tool_result_meta` says of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Call<'a> {
    pub(super) fields: CallFields<'a>,
    /// `permission_decision`, if it is an object.
    pub(super) decision: DecisionFields<'a>,
}

impl<'a> Call<'a> {
    fn of<O: Open<'a>>(fields: CallFields<'a>) -> Self {
        let decision = fields.get(CallKey::Decision).and_then(O::fields).unwrap_or_default();
        Self { decision, fields }
    }
}
