//! A parsed record with the nested objects that decoding needs, and the trait of the two parsers.

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

/// A parser of JSON values. [`Skim`](super::skim::Skim) is the fast one, [`Obvious`](super::obvious::Obvious)
/// the reference.
pub(super) trait Parser<'a> {
    /// Returns the wanted fields of an object; `None` if the value is not an object.
    fn fields<F: Fields<'a>>(json: Json<'a>) -> Option<F>;
    /// Returns the elements of an array; `None` if the value is not an array.
    fn elements(json: Json<'a>) -> Option<SmallVec<[Json<'a>; 4]>>;
    /// Returns all keys of an object, each once with its last value; `None` if the value is not an object.
    fn entries(json: Json<'a>) -> Option<Vec<(Text<'a>, Json<'a>)>>;
    /// Parses a `message`; `None` if the value is not an object.
    fn message(json: Json<'a>) -> Option<RawMessage<'a>>;
}

/// An optional object whose memory is reused: `clear` only marks it as absent.
#[derive(Clone, Debug, Default)]
pub(super) struct Reusable<T> {
    present: bool,
    object: T,
}

impl<T> Reusable<T> {
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        self.present.then_some(&self.object)
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.present = false;
    }

    /// Marks the object as present and returns it. It still has its old content.
    #[inline(always)]
    pub(super) fn insert(&mut self) -> &mut T {
        self.present = true;
        &mut self.object
    }
}

impl<T: Default> From<Option<T>> for Reusable<T> {
    fn from(object: Option<T>) -> Self {
        Self { present: object.is_some(), object: object.unwrap_or_default() }
    }
}

/// A record: its fields, and the nested objects. A field that is parsed into a nested object is not kept as
/// text by the fast parser.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) fields: RecordFields<'a>,
    /// `message`, if it is an object.
    pub(super) message: Reusable<RawMessage<'a>>,
    /// `event`, if it is an object.
    pub(super) event: Reusable<ApiEvent<'a>>,
    /// `attachment`, if it is an object.
    pub(super) attachment: Reusable<PartFields<'a>>,
    /// The elements of `tool_result_meta` that are objects.
    pub(super) result_meta: SmallVec<[ResultMeta<'a>; 1]>,
    /// `usage`, if it is an object.
    pub(super) usage: Reusable<RawUsage<'a>>,
    /// `modelUsage`, if it is an object.
    pub(super) models: Option<Models<'a>>,
    /// `model_usage_since_last_result`, if it is an object.
    pub(super) since_last: Option<Models<'a>>,
}

/// Models and what each used. Each model has one entry: the last of duplicate keys wins.
pub(super) type Models<'a> = Vec<(Text<'a>, ModelFields<'a>)>;

/// Keeps the last entry of each name.
///
/// Sorts instead of searching for each name: hostile input may have a hundred thousand names. The sort is
/// stable, so the last of equal names stays last.
pub(super) fn keep_last_of_each<T: Clone>(entries: &mut Vec<(Text<'_>, T)>) {
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
    /// Parses the nested objects, which a walk reads on its way.
    pub(super) fn from_fields<P: Parser<'a>>(fields: RecordFields<'a>) -> Self {
        let result_meta = fields.get(RecordKey::ToolResultMeta).and_then(P::elements).unwrap_or_default();
        Self {
            message: fields.get(RecordKey::Message).and_then(P::message).into(),
            event: fields.get(RecordKey::Event).and_then(P::fields).map(ApiEvent::from_fields::<P>).into(),
            attachment: fields.get(RecordKey::Attachment).and_then(P::fields).into(),
            result_meta: result_meta
                .into_iter()
                .filter_map(P::fields)
                .map(ResultMeta::from_fields::<P>)
                .collect(),
            usage: fields.get(RecordKey::Usage).and_then(P::fields).map(RawUsage::from_fields::<P>).into(),
            models: fields.get(RecordKey::ModelUsage).and_then(models::<P>),
            since_last: fields.get(RecordKey::SinceLast).and_then(models::<P>),
            fields,
        }
    }
}

fn models<'a, P: Parser<'a>>(json: Json<'a>) -> Option<Models<'a>> {
    let entries = P::entries(json)?.into_iter();
    Some(entries.map(|(model, value)| (model, P::fields(value).unwrap_or_default())).collect())
}

/// A `message` object.
#[derive(Clone, Debug, Default)]
pub(super) struct RawMessage<'a> {
    pub(super) fields: MessageFields<'a>,
    /// Whether the object has any field, wanted or not.
    pub(super) has_fields: bool,
    /// The elements of `content`; empty if it is not an array.
    pub(super) blocks: Blocks<'a>,
    /// `usage`, if it is an object.
    pub(super) usage: Reusable<RawUsage<'a>>,
}

/// The elements of `content`.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks<'a> {
    /// The elements that are objects, with the length of their JSON text.
    pub(super) objects: SmallVec<[(BlockFields<'a>, u64); 1]>,
    /// Whether there are any elements, objects or not.
    pub(super) has_elements: bool,
}

impl Blocks<'_> {
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        let Self { objects, has_elements } = self;
        objects.clear();
        *has_elements = false;
    }
}

/// An `event` object.
#[derive(Clone, Debug, Default)]
pub(super) struct ApiEvent<'a> {
    pub(super) fields: EventFields<'a>,
    /// `message`, if it is an object.
    pub(super) message: Reusable<RawMessage<'a>>,
    /// `delta`; empty if it is not an object.
    pub(super) delta: DeltaFields<'a>,
    /// `usage`, if it is an object.
    pub(super) usage: Reusable<RawUsage<'a>>,
}

impl<'a> ApiEvent<'a> {
    fn from_fields<P: Parser<'a>>(fields: EventFields<'a>) -> Self {
        Self {
            message: fields.get(EventKey::Message).and_then(P::message).into(),
            delta: fields.get(EventKey::Delta).and_then(P::fields).unwrap_or_default(),
            usage: fields.get(EventKey::Usage).and_then(P::fields).map(RawUsage::from_fields::<P>).into(),
            fields,
        }
    }
}

/// A `usage` object.
#[derive(Clone, Debug, Default)]
pub(super) struct RawUsage<'a> {
    pub(super) fields: UsageFields<'a>,
    /// `cache_creation`; empty if it is not an object.
    pub(super) cache_creation: SplitFields<'a>,
    /// `server_tool_use`; empty if it is not an object.
    pub(super) server_tools: SearchFields<'a>,
}

impl<'a> RawUsage<'a> {
    pub(super) fn from_fields<P: Parser<'a>>(fields: UsageFields<'a>) -> Self {
        Self {
            cache_creation: fields.get(UsageKey::CacheCreation).and_then(P::fields).unwrap_or_default(),
            server_tools: fields.get(UsageKey::ServerToolUse).and_then(P::fields).unwrap_or_default(),
            fields,
        }
    }
}

/// An entry of `tool_result_meta`, which describes one call.
#[derive(Clone, Debug, Default)]
pub(super) struct ResultMeta<'a> {
    pub(super) fields: CallFields<'a>,
    /// `permission_decision`; empty if it is not an object.
    pub(super) decision: DecisionFields<'a>,
}

impl<'a> ResultMeta<'a> {
    fn from_fields<P: Parser<'a>>(fields: CallFields<'a>) -> Self {
        let decision = fields.get(CallKey::Decision).and_then(P::fields).unwrap_or_default();
        Self { decision, fields }
    }
}
