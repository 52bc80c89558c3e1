//! Placeholders for texts: as long as the text, the same for the same text, numbered in the order of
//! appearance.

use std::hash::{BuildHasher, Hasher, RandomState};

use hashbrown::HashMap;
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::event::{next_char, unescape};

/// Start of a placeholder if there is room for it.
const LONG_PREFIX: &str = "redacted~";

/// Start of a shorter placeholder.
const SHORT_PREFIX: &str = "~";

/// Digits of the shortest placeholders, which have no prefix. Without vowels they form no words, and no key
/// or fixed value of a log consists of them.
const LETTERS: &[u8; 19] = b"BCDFGHJKLMNPQSTVWXZ";

/// Fills the rest of a placeholder.
const PADDING: u8 = b'.';

/// Texts below this length in bytes are numbered separately for each length, so that their numbers stay
/// short.
const SHORT: usize = 12;

/// Numbers of all texts so far, by a keyed hash of 16 bytes: about 40 bytes of memory for each distinct text.
///
/// Placeholders have numbers and not hashes: a number reveals only the order of texts, while a hash could be
/// confirmed by guessing.
#[derive(Debug)]
pub(super) struct Placeholders {
    secret: [u64; 2],
    seen: HashMap<u128, u32, foldhash::fast::RandomState>,
    /// Number of texts of each length below [`SHORT`], and of all longer ones.
    counts: [u32; SHORT + 1],
}

impl Default for Placeholders {
    fn default() -> Self {
        let secret = [0, 1].map(|n: u64| RandomState::new().hash_one(n));
        Self { secret, seen: HashMap::default(), counts: [0; SHORT + 1] }
    }
}

impl Placeholders {
    /// Returns the number of a text, counted from 1.
    fn number(&mut self, text: &[u8]) -> u32 {
        let [one, two] = self.secret;
        let mut hasher = SipHasher13::new_with_keys(one, two);
        hasher.write(text);
        let count = &mut self.counts[text.len().min(SHORT)];
        *self.seen.entry(hasher.finish128().as_u128()).or_insert_with(|| {
            *count = count.saturating_add(1);
            *count
        })
    }

    /// Appends the placeholder of a JSON string, given without its quotes.
    ///
    /// The placeholder has as many bytes as the string, both escaped and unescaped: it ends with equally long
    /// escapes.
    pub(super) fn replace(&mut self, raw: &str, out: &mut Vec<u8>) {
        if raw.is_empty() {
            return;
        }
        let number = match raw.as_bytes().contains(&b'\\') {
            false => self.number(raw.as_bytes()),
            true => self.number(unescape(raw).as_bytes()),
        };
        let escapes = Escapes::of(raw);
        write_number(number, raw.len() - escapes.bytes(), out);
        escapes.write(out);
    }
}

/// Appends a number in exactly `room` bytes. Digits that do not fit are cut off, so very short texts may
/// share a placeholder.
fn write_number(number: u32, room: usize, out: &mut Vec<u8>) {
    let digits = number.to_string();
    let end = out.len() + room;
    let prefixes = [LONG_PREFIX, SHORT_PREFIX];
    match prefixes.into_iter().find(|prefix| prefix.len() + digits.len() <= room) {
        Some(prefix) => {
            out.extend_from_slice(prefix.as_bytes());
            out.extend_from_slice(digits.as_bytes());
            out.resize(end, PADDING);
        }
        None => {
            let mut rest = number as usize - 1;
            for _ in 0..room {
                out.push(LETTERS[rest % LETTERS.len()]);
                rest /= LETTERS.len();
            }
        }
    }
}

/// Converts an offset in the unescaped string to one in the string with escapes.
pub(super) fn raw_offset(raw: &str, wanted: usize) -> usize {
    let (mut raw_at, mut plain_at) = (0, 0);
    while plain_at < wanted && raw_at < raw.len() {
        let (length, letter) = next_char(&raw[raw_at..]);
        raw_at += length;
        plain_at += letter.len_utf8();
    }
    raw_at
}

/// Forms of escapes: length with the escape, length of the character in UTF-8, and a fixed escape of that
/// form.
const FORMS: &[(usize, usize, &str)] =
    &[(2, 1, "\\n"), (6, 1, "\\u0020"), (6, 2, "\\u00b7"), (6, 3, "\\u2026"), (12, 4, "\\ud83d\\ude00")];

/// The escape that replaces lone surrogates, which have no UTF-8 form.
const LONE_SURROGATE: &str = "\\udc00";

/// Counts the escapes of a string by their form; the last count is that of lone surrogates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Escapes([usize; FORMS.len() + 1]);

impl Escapes {
    fn of(raw: &str) -> Self {
        let mut counts = Self::default();
        let mut at = 0;
        while let Some(escape) = memchr::memchr(b'\\', &raw.as_bytes()[at..]) {
            let (length, letter) = next_char(&raw[at + escape..]);
            let is_lone = letter == char::REPLACEMENT_CHARACTER && !raw[at + escape..].starts_with("\\ufffd");
            let form = FORMS.iter().position(|form| (form.0, form.1) == (length, letter.len_utf8()));
            counts.0[form.filter(|_| !is_lone).unwrap_or(FORMS.len())] += 1;
            at += escape + length;
        }
        counts
    }

    fn forms(self) -> impl Iterator<Item = (&'static str, usize)> {
        FORMS.iter().map(|form| form.2).chain([LONE_SURROGATE]).zip(self.0)
    }

    fn bytes(self) -> usize {
        self.forms().map(|(form, count)| form.len() * count).sum()
    }

    fn write(self, out: &mut Vec<u8>) {
        for (form, count) in self.forms() {
            (0..count).for_each(|_| out.extend_from_slice(form.as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(placeholders: &mut Placeholders, raw: &str) -> String {
        let mut out = Vec::new();
        placeholders.replace(raw, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_placeholder_is_as_long_as_its_text_and_the_same_for_the_same_text() {
        let mut placeholders = Placeholders::default();
        assert_eq!(replaced(&mut placeholders, "a text of some length"), "redacted~1...........");
        assert_eq!(replaced(&mut placeholders, "another text of that "), "redacted~2...........");
        assert_eq!(replaced(&mut placeholders, "a text of some length"), "redacted~1...........");
        assert_eq!(replaced(&mut placeholders, "short"), "~1...");
        assert_eq!(replaced(&mut placeholders, "tree!"), "~2...");
        assert_eq!(replaced(&mut placeholders, "a"), "B");
        assert_eq!(replaced(&mut placeholders, ""), "");
    }

    #[test]
    fn a_placeholder_keeps_both_lengths_of_a_string_with_escapes() {
        let mut placeholders = Placeholders::default();
        for raw in [
            r"one\ntwo\tthree",
            r"caf\u00e9 \u2014 \ud83d\ude80 \u0041",
            r"half \ud83d of it",
            r"\n",
            r"\ufffd\udc00\/",
        ] {
            let new = replaced(&mut placeholders, raw);
            assert_eq!((new.len(), unescape(&new).len()), (raw.len(), unescape(raw).len()), "{raw}: {new}");
        }
        // A text has the same number with and without escapes.
        assert_eq!(replaced(&mut placeholders, r"caf\u00e9 au lait"), r"redacted~4.\u00b7");
        assert_eq!(replaced(&mut placeholders, "café au lait"), "redacted~4...");
    }

    #[test]
    fn an_offset_is_converted_across_escapes() {
        assert_eq!(raw_offset(r"a\nb\u00e9c", 0), 0);
        assert_eq!(raw_offset(r"a\nb\u00e9c", 2), 3);
        assert_eq!(raw_offset(r"a\nb\u00e9c", 5), 10);
        assert_eq!(raw_offset("ab", 9), 2);
    }

    #[test]
    fn texts_of_one_byte_share_placeholders_after_the_nineteenth() {
        let mut placeholders = Placeholders::default();
        let all: std::collections::BTreeSet<String> =
            ('a'..='s').map(|letter| replaced(&mut placeholders, &letter.to_string())).collect();
        assert_eq!(all.len(), LETTERS.len());
        assert_eq!(replaced(&mut placeholders, "t"), "B");
    }
}
