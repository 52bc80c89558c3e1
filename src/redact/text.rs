//! Texts become placeholders: the same text the same one, as long as it was, numbered in the order of appearance.

use std::hash::{BuildHasher, Hasher, RandomState};

use hashbrown::HashMap;
use siphasher::sip128::{Hasher128, SipHasher13};

/// The beginning of a placeholder that has room for it.
const WORD: &str = "redacted~";

/// The beginning of a shorter one.
const MARK: &str = "~";

/// Letters of the shortest ones: no word can be made of them, and no key or value of a log is written in them.
const LETTERS: &[u8; 19] = b"BCDFGHJKLMNPQSTVWXZ";

/// What the rest of a placeholder is filled with.
const REST: u8 = b'.';

/// Texts of fewer bytes are numbered by themselves, length by length, so that their numbers stay short.
const SHORT: usize = 12;

/// Texts that were seen, by a keyed hash of 16 bytes, with their numbers: about 40 bytes for each different text.
///
/// The numbers tell nothing of the texts but their order, while a hash could be found again by guessing.
#[derive(Debug)]
pub(super) struct Numbers {
    secret: [u64; 2],
    seen: HashMap<u128, u32, foldhash::fast::RandomState>,
    /// How many texts there were of each short length, and of all others.
    counts: [u32; SHORT + 1],
}

impl Default for Numbers {
    fn default() -> Self {
        let secret = [0, 1].map(|n: u64| RandomState::new().hash_one(n));
        Self { secret, seen: HashMap::default(), counts: [0; SHORT + 1] }
    }
}

impl Numbers {
    /// The number of a text, from 1.
    fn of(&mut self, text: &[u8]) -> u32 {
        let [one, two] = self.secret;
        let mut hasher = SipHasher13::new_with_keys(one, two);
        hasher.write(text);
        let count = &mut self.counts[text.len().min(SHORT)];
        *self.seen.entry(hasher.finish128().as_u128()).or_insert_with(|| {
            *count = count.saturating_add(1);
            *count
        })
    }

    /// Writes the placeholder of a string as it stands between its quotes.
    ///
    /// It has as many bytes as the string, and says as many: escapes stay, gathered at its end.
    pub(super) fn replace(&mut self, raw: &str, out: &mut Vec<u8>) {
        if raw.is_empty() {
            return;
        }
        let number = match raw.as_bytes().contains(&b'\\') {
            false => self.of(raw.as_bytes()),
            true => self.of(said(raw).as_bytes()),
        };
        let escapes = Escapes::of(raw);
        placeholder(number, raw.len() - escapes.bytes(), out);
        escapes.write(out);
    }
}

/// Writes a number in so many bytes; what does not fit is cut, so that very short texts may share one.
fn placeholder(number: u32, room: usize, out: &mut Vec<u8>) {
    let digits = number.to_string();
    let end = out.len() + room;
    match [WORD, MARK].into_iter().find(|begin| begin.len() + digits.len() <= room) {
        Some(begin) => {
            out.extend_from_slice(begin.as_bytes());
            out.extend_from_slice(digits.as_bytes());
            out.resize(end, REST);
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

/// One step in a string: an escape or a character, its bytes as it stands, and what it says.
fn step(rest: &str) -> (usize, char) {
    let bytes = rest.as_bytes();
    let plain = |letter: char| (letter.len_utf8(), letter);
    if bytes.first() != Some(&b'\\') {
        return plain(rest.chars().next().unwrap_or('\0'));
    }
    match bytes.get(1) {
        Some(b'n') => (2, '\n'),
        Some(b't') => (2, '\t'),
        Some(b'r') => (2, '\r'),
        Some(b'b') => (2, '\u{8}'),
        Some(b'f') => (2, '\u{c}'),
        Some(&letter @ (b'"' | b'\\' | b'/')) => (2, char::from(letter)),
        Some(b'u') => hexadecimal(rest),
        _ => plain('\\'),
    }
}

/// `\u0041`, or two of them for one character. A half one says what the reader of records makes of it.
fn hexadecimal(rest: &str) -> (usize, char) {
    let unit = |from: usize| {
        let digits = rest.get(from..from + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else { return (1, '\\') };
    if let (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) = (first, unit(6)) {
        let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (12, char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    (6, char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// What a string says.
pub(super) fn said(raw: &str) -> String {
    let mut said = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(escape) = rest.find('\\') {
        said.push_str(&rest[..escape]);
        let (length, letter) = step(&rest[escape..]);
        said.push(letter);
        rest = &rest[escape + length..];
    }
    said.push_str(rest);
    said
}

/// Where in a string as it stands a byte of what it says begins.
pub(super) fn raw_offset(raw: &str, wanted: usize) -> usize {
    let (mut at, mut told) = (0, 0);
    while told < wanted && at < raw.len() {
        let (length, letter) = step(&raw[at..]);
        at += length;
        told += letter.len_utf8();
    }
    at
}

/// Forms of escapes by the bytes that they take and say, each with one that stands for all of them.
const FORMS: &[(usize, usize, &str)] =
    &[(2, 1, "\\n"), (6, 1, "\\u0020"), (6, 2, "\\u00b7"), (6, 3, "\\u2026"), (12, 4, "\\ud83d\\ude00")];

/// Half a character, which says nothing that could be written.
const HALF: &str = "\\udc00";

/// How often each form of escape stands in a string; the last are halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Escapes([usize; FORMS.len() + 1]);

impl Escapes {
    fn of(raw: &str) -> Self {
        let mut counts = Self::default();
        let mut at = 0;
        while let Some(escape) = memchr::memchr(b'\\', &raw.as_bytes()[at..]) {
            let (length, letter) = step(&raw[at + escape..]);
            let half = letter == char::REPLACEMENT_CHARACTER && !raw[at + escape..].starts_with("\\ufffd");
            let form = FORMS.iter().position(|form| (form.0, form.1) == (length, letter.len_utf8()));
            counts.0[form.filter(|_| !half).unwrap_or(FORMS.len())] += 1;
            at += escape + length;
        }
        counts
    }

    fn forms(self) -> impl Iterator<Item = (&'static str, usize)> {
        FORMS.iter().map(|form| form.2).chain([HALF]).zip(self.0)
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

    fn replaced(numbers: &mut Numbers, raw: &str) -> String {
        let mut out = Vec::new();
        numbers.replace(raw, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_placeholder_is_as_long_as_its_text_and_the_same_wherever_it_stands() {
        let mut numbers = Numbers::default();
        assert_eq!(replaced(&mut numbers, "a text of some length"), "redacted~1...........");
        assert_eq!(replaced(&mut numbers, "another text of that "), "redacted~2...........");
        assert_eq!(replaced(&mut numbers, "a text of some length"), "redacted~1...........");
        assert_eq!(replaced(&mut numbers, "short"), "~1...");
        assert_eq!(replaced(&mut numbers, "tree!"), "~2...");
        assert_eq!(replaced(&mut numbers, "a"), "B");
        assert_eq!(replaced(&mut numbers, ""), "");
    }

    #[test]
    fn escapes_say_as_much_as_they_did() {
        let mut numbers = Numbers::default();
        for raw in [
            r"one\ntwo\tthree",
            r"caf\u00e9 \u2014 \ud83d\ude80 \u0041",
            r"half \ud83d of it",
            r"\n",
            r"\ufffd\udc00\/",
        ] {
            let new = replaced(&mut numbers, raw);
            assert_eq!((new.len(), said(&new).len()), (raw.len(), said(raw).len()), "{raw}: {new}");
        }
        // Escaped or not, a text has one number.
        assert_eq!(replaced(&mut numbers, r"caf\u00e9 au lait"), r"redacted~4.\u00b7");
        assert_eq!(replaced(&mut numbers, "café au lait"), "redacted~4...");
    }

    #[test]
    fn an_offset_is_found_behind_escapes() {
        assert_eq!(raw_offset(r"a\nb\u00e9c", 0), 0);
        assert_eq!(raw_offset(r"a\nb\u00e9c", 2), 3);
        assert_eq!(raw_offset(r"a\nb\u00e9c", 5), 10);
        assert_eq!(raw_offset("ab", 9), 2);
    }

    #[test]
    fn many_short_texts_share_what_few_letters_can_say() {
        let mut numbers = Numbers::default();
        let all: std::collections::BTreeSet<String> =
            ('a'..='s').map(|letter| replaced(&mut numbers, &letter.to_string())).collect();
        assert_eq!(all.len(), LETTERS.len());
        assert_eq!(replaced(&mut numbers, "t"), "B");
    }
}
