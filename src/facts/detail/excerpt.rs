//! Keeps excerpts: short texts of prompts, calls, failures and responses, and titles of sessions.

use std::{borrow::Cow, collections::BTreeMap};

use super::{Detail, EventKind};
use crate::{
    event::{self, Body, Dialect, TitleKind},
    facts::{
        Hashed,
        absorb::RecordAbsorber,
        key::{Id, Name, SessionKey},
        merge::{CompactPlace, First, Merge, insert},
    },
};

/// The subject of an excerpt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExcerptOf {
    /// A prompt.
    Prompt,
    /// A request to the API that failed for good.
    ApiError,
    /// The text of a response.
    Response,
    /// The input of a call.
    Input,
    /// The failed result of a call.
    Failure,
    /// The end of a turn.
    TurnEnd,
}

impl ExcerptOf {
    /// Returns the key of an excerpt from the id of the response, call, event or record.
    pub(crate) fn key(self, id: Id) -> Id {
        id.within(match self {
            Self::Prompt => "prompt text",
            Self::ApiError => "api error text",
            Self::Response => "response text",
            Self::Input => "input text",
            Self::Failure => "failure text",
            Self::TurnEnd => "turn end text",
        })
    }
}

merged! {
    /// The titles of sessions, by kind.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Titles {
        named: Hashed<SessionKey, BTreeMap<TitleKind, LastText>>,
        /// Summaries, by the uuid of a record of their session.
        summaries: Hashed<Id, LastText>,
        /// Sessions of records, to find those of summaries.
        records: Hashed<Id, First<SessionKey>>,
    }
}

/// The text of the last record that has one.
#[derive(Clone, Debug)]
struct LastText {
    place: CompactPlace,
    text: Name,
}

impl Merge for LastText {
    fn merge(&mut self, other: Self) {
        if other.place > self.place {
            *self = other;
        }
    }
}

impl Titles {
    /// Assigns summaries to their sessions.
    pub(crate) fn settle(&self) -> SettledTitles {
        let mut titles = self.named.clone();
        for (leaf, summary) in &self.summaries {
            let Some(session) = self.records.get(leaf).and_then(First::get) else { continue };
            insert(&mut titles, session.clone(), BTreeMap::from([(TitleKind::Summary, summary.clone())]));
        }
        SettledTitles(titles)
    }
}

/// The titles of all sessions.
pub(crate) struct SettledTitles(Hashed<SessionKey, BTreeMap<TitleKind, LastText>>);

impl SettledTitles {
    /// Returns the best title of a session.
    pub(crate) fn title(&self, session: &SessionKey) -> Option<Name> {
        let (kind, last) = self.0.get(session)?.last_key_value()?;
        (*kind != TitleKind::LastPrompt).then(|| Name::clone(&last.text))
    }

    /// Returns the last prompt of a session.
    pub(crate) fn last_prompt(&self, session: &SessionKey) -> Option<Name> {
        self.0.get(session)?.get(&TitleKind::LastPrompt).map(|last| Name::clone(&last.text))
    }
}

impl RecordAbsorber<'_, '_, '_> {
    /// Keeps the title in the record, and why a turn failed.
    pub(in crate::facts) fn detail_excerpts(&mut self) {
        if self.keeps(Detail::EXCERPTS) && matches!(self.event.body, Body::TurnEnd(_)) {
            let text = event::turn_failure(self.event);
            self.keep_excerpt(ExcerptOf::TurnEnd, self.record_id(), text, event::error_line);
        }
        if self.keeps(Detail::TITLES) {
            self.keep_title();
        }
    }

    /// Keeps the text of a prompt or of an error of the API.
    pub(in crate::facts) fn keep_event_text(&mut self, key: Id, kind: &EventKind) {
        let (of, cut): (_, fn(&str) -> String) = match kind {
            EventKind::Prompt => (ExcerptOf::Prompt, event::first_line),
            EventKind::ApiError(_) => (ExcerptOf::ApiError, event::error_line),
            _ => return,
        };
        if self.keeps(Detail::EXCERPTS) {
            self.keep_excerpt(of, key, event::message_text(self.event), cut);
        }
    }

    /// Returns the uuid of the record, or an id of its place.
    pub(in crate::facts) fn record_id(&self) -> Id {
        self.uuid.unwrap_or_else(|| Id::at(self.place, 0))
    }

    /// Keeps a text, whole or as the line that `cut` returns.
    pub(in crate::facts) fn keep_excerpt(
        &mut self,
        of: ExcerptOf,
        id: Id,
        text: Option<Cow<'_, str>>,
        cut: fn(&str) -> String,
    ) {
        let Some(text) = text else { return };
        let place = self.compact_place;
        let Some(details) = self.facts.details.as_deref_mut() else { return };
        let whole = details.kept.contains(Detail::WHOLE_TEXTS);
        let text = if whole { Name::from(text.trim()) } else { Name::from(cut(&text)) };
        if !text.is_empty() {
            details.excerpts.insert(of.key(id), First::at(place, Some(text)));
        }
    }

    fn keep_title(&mut self) {
        let (session, place) = (self.session(), self.compact_place);
        let title = event::title(self.event);
        let Some(details) = self.facts.details.as_deref_mut() else { return };
        let titles = &mut details.titles;
        match title {
            Some(title) => {
                let text = LastText { place, text: Name::from(event::first_line(&title.text)) };
                match title.leaf {
                    Some(leaf) if title.kind == TitleKind::Summary => {
                        insert(&mut titles.summaries, Id::of(&leaf), text);
                    }
                    _ => insert(&mut titles.named, session, BTreeMap::from([(title.kind, text)])),
                }
            }
            None => {
                // Summaries name the last message of a conversation.
                let message = matches!(self.event.body, Body::Message(_));
                if let (true, Dialect::Transcript, Some(uuid)) = (message, self.event.dialect, self.uuid) {
                    insert(&mut titles.records, uuid, First::at(place, Some(session)));
                }
            }
        }
    }
}
