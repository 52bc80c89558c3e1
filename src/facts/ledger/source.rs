//! Adds a row per source: its sessions, and its invalid and truncated input.

use std::collections::BTreeMap;

use super::{Source, build::LedgerBuilder};
use crate::input::SourceId;

impl LedgerBuilder<'_> {
    pub(super) fn sources(&mut self) {
        let facts = self.facts;
        let mut sources: BTreeMap<SourceId, Source> = BTreeMap::new();
        for &(id, _) in facts.units.keys() {
            sources.entry(id).or_insert_with(|| Source {
                id,
                sessions: Vec::new(),
                lean: facts.lean.contains(&id),
                workflow: None,
                invalid: facts.invalids.by_source.get(&id).copied().unwrap_or(0),
                first_invalid: None,
                truncated: None,
            });
        }
        for (key, session) in &facts.sessions {
            let Some(&index) = self.sessions.get(key) else { continue };
            for id in session.sources.iter() {
                if let Some(source) = sources.get_mut(id) {
                    source.sessions.push(index);
                }
            }
        }
        for place in facts.invalids.first.iter().rev().map(|invalid| invalid.place) {
            if let Some(source) = sources.get_mut(&place.source) {
                source.first_invalid = Some(self.settled.location(place));
            }
        }
        for place in facts.invalids.truncated() {
            if let Some(source) = sources.get_mut(&place.source) {
                source.truncated = Some(self.settled.location(place));
            }
        }
        self.ledger.sources = sources.into_values().collect();
        self.ledger.sources.iter_mut().for_each(|source| source.sessions.sort_unstable());
    }
}
