//! Text of a cell. Shares the string with the ledger instead of copying it.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
};

use crate::facts::Name;

/// Text, possibly from a log. Cheap to clone.
#[derive(Clone)]
pub struct Text(Words);

#[derive(Clone)]
enum Words {
    /// A constant of this program.
    Fixed(&'static str),
    /// A name from a log.
    Shared(Name),
}

impl Text {
    /// A constant text.
    pub const fn fixed(words: &'static str) -> Self {
        Self(Words::Fixed(words))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Words::Fixed(words) => words,
            Words::Shared(words) => words,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl From<&Name> for Text {
    fn from(words: &Name) -> Self {
        Self(Words::Shared(Name::clone(words)))
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self(Words::Shared(words.into()))
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Self {
        Self::from(words.as_str())
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self(Words::Shared(words.into()))
    }
}

impl FromIterator<char> for Text {
    fn from_iter<I: IntoIterator<Item = char>>(letters: I) -> Self {
        Self::from(letters.into_iter().collect::<String>())
    }
}
