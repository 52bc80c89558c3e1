//! Parts of texts that a screen highlights.

use std::{ops::Range, sync::Arc};

use crate::facts::ledger::Query;

/// Finds what to highlight in a text.
#[derive(Clone, Debug)]
pub struct Highlight(pub(super) Arc<Query>);

impl Highlight {
    /// The ranges of a text to highlight.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        self.0.find(text)
    }
}

impl PartialEq for Highlight {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
