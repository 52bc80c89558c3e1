//! A lazy, borrowed view of JSON text, parsed with serde_json.
//!
//! Every value is kept as text and parsed only when needed. So deep nesting, huge numbers and lone surrogates
//! in fields that are not wanted cost nothing and cause no error.

use std::{borrow::Cow, fmt, sync::LazyLock};

use memchr::memmem::Finder;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Numbers of this size and above count as missing: no real count or price is as large, and sums of smaller
/// ones are exact.
const NUMBER_LIMIT: f64 = 1e18;

/// The text of one valid JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<'a> {
    text: &'a str,
    /// Whether the value is known to be a string without escapes. Searching for escapes again took 6 % of the
    /// instructions on short lines.
    plain: bool,
}

/// The fields of one object, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a>(Vec<(&'a str, Json<'a>)>);

/// Validates and parses a text that is one object.
pub(crate) fn object(text: &str) -> serde_json::Result<Object<'_>> {
    serde_json::from_str(text)
}

impl<'a> Json<'a> {
    /// Wraps a text that is known to be one valid value, without whitespace around it.
    pub(crate) fn checked(text: &'a str) -> Self {
        Self { text, plain: false }
    }

    /// Like [`checked`](Self::checked), for a value that is known to be a string without escapes if `plain`.
    #[inline(always)]
    pub(crate) fn scanned(text: &'a str, plain: bool) -> Self {
        Self { text, plain }
    }

    /// Returns the JSON text.
    #[inline(always)]
    pub(crate) fn source(self) -> &'a str {
        self.text
    }

    /// Returns whether the value is known to be a string without escapes.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.plain
    }

    /// Returns the length of the JSON text in bytes.
    pub(crate) fn length(self) -> u64 {
        self.text.len() as u64
    }

    #[inline]
    fn starts(self, with: u8) -> bool {
        self.text.as_bytes().first() == Some(&with)
    }

    /// Parses the value if it is an object.
    pub(crate) fn object(self) -> Option<Object<'a>> {
        self.starts(b'{').then(|| object(self.text).unwrap_or_default())
    }

    /// Parses the value if it is an array, and returns its elements.
    pub(crate) fn array(self) -> Option<Vec<Json<'a>>> {
        self.starts(b'[')
            .then(|| serde_json::from_str::<Elements<'_>>(self.text).map(|all| all.0).unwrap_or_default())
    }

    pub(crate) fn is_object(self) -> bool {
        self.starts(b'{')
    }

    pub(crate) fn is_array(self) -> bool {
        self.starts(b'[')
    }

    pub(crate) fn is_string(self) -> bool {
        self.starts(b'"')
    }

    /// Returns the unescaped value if it is a string.
    #[inline]
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        if self.plain {
            return self.text.get(1..self.text.len() - 1).map(Cow::Borrowed);
        }
        self.starts(b'"').then(|| unquote(self.text))
    }

    /// Returns the unescaped value if it is a string and not empty: an empty id counts as missing.
    #[inline]
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        self.string().filter(|text| !text.is_empty())
    }

    /// Returns the value if it is a number and not absurdly large.
    pub(crate) fn number(self) -> Option<f64> {
        let number: f64 = self.text.parse().ok()?;
        let is_number = self.starts(b'-') || self.text.as_bytes()[0].is_ascii_digit();
        (is_number && number.abs() < NUMBER_LIMIT).then_some(number)
    }

    /// Returns the value as a count: the fraction is dropped, and 0 replaces negative numbers and other
    /// types.
    pub(crate) fn count(self) -> u64 {
        let digits = self.text.as_bytes();
        // Numbers of up to 18 digits are below the limit, and stay exact above 2^53.
        if digits.len() <= 18 {
            let mut count = 0;
            if digits.iter().all(|digit| {
                let digit = digit.wrapping_sub(b'0');
                count = count * 10 + u64::from(digit);
                digit < 10
            }) {
                return count;
            }
        }
        match self.text.parse::<u64>() {
            Ok(count) if self.number().is_some() => count,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float cast saturates"
            )]
            _ => self.number().map_or(0, |number| number as u64),
        }
    }

    pub(crate) fn is_true(self) -> bool {
        self.text == "true"
    }

    pub(crate) fn is_null(self) -> bool {
        self.text == "null"
    }

    /// Returns whether the value is set: not `null`, `false`, 0 or empty.
    pub(crate) fn is_set(self) -> bool {
        !matches!(self.text, "null" | "false" | "\"\"" | "0" | "[]" | "{}")
    }
}

impl<'a> Object<'a> {
    /// Returns the value of a key. The last of duplicate keys wins.
    pub(crate) fn get(&self, name: &str) -> Option<Json<'a>> {
        let is = |quoted: &str| quoted[1..quoted.len() - 1] == *name || unquote(quoted) == name;
        self.0.iter().rev().find(|(quoted, _)| is(quoted)).map(|&(_, value)| value)
    }

    /// The first of these members that is there and not `null`: the dialects spell names differently.
    pub(crate) fn member(&self, names: &[&str]) -> Option<Json<'a>> {
        names.iter().filter_map(|name| self.get(name)).find(|value| !value.is_null())
    }

    /// The object under a name.
    pub(crate) fn object(&self, name: &str) -> Option<Object<'a>> {
        self.get(name)?.object()
    }

    /// The string that is not empty, under the first of these names that is there.
    pub(crate) fn text(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        self.member(names)?.text()
    }

    /// The whole number that is not negative, under the first of these names that is there.
    pub(crate) fn count(&self, names: &[&str]) -> Option<u64> {
        self.member(names)?.source().parse().ok()
    }

    /// The elements of the array under a name; none if it is no array.
    pub(crate) fn list(&self, name: &str) -> Vec<Json<'a>> {
        self.get(name).and_then(Json::array).unwrap_or_default()
    }

    /// Whether the value under a name is `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(Json::is_true)
    }

    /// How many members it has.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over keys and values in the order of the text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cow<'a, str>, Json<'a>)> {
        self.0.iter().map(|&(quoted, value)| (unquote(quoted), value))
    }
}

/// Finds strings among the first members of a valid record, before any nested value. Saves parsing the rest, which can be long.
///
/// `None` if the text has escapes there, or if one of the names may occur again: then the record must be parsed.
///
/// Each finder looks for a name in quotes: finders are made once, since making one takes longer than the search.
pub(crate) fn plain_members<'a, const N: usize>(
    record: &'a str,
    names: &[Finder<'_>; N],
) -> Option<[Option<Cow<'a, str>>; N]> {
    static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\\u"));
    let members = record.strip_prefix('{')?;
    let nested = memchr::memchr2(b'{', b'[', members.as_bytes()).unwrap_or(members.len());
    let (first, rest) = members.split_at(nested);
    // A letter of a name can only be written as an escape with `u`.
    if has_backslash(first.as_bytes()) || ESCAPE.find(rest.as_bytes()).is_some() {
        return None;
    }
    let mut found = [const { None }; N];
    for (found, name) in found.iter_mut().zip(names) {
        let Some(at) = name.find(members.as_bytes()) else { continue };
        let value = members.get(at + name.needle().len()..)?;
        if at >= nested || name.find(value.as_bytes()).is_some() {
            return None;
        }
        let value = value.strip_prefix(":\"")?;
        let end = memchr::memchr(b'"', value.as_bytes())?;
        *found = Some(Cow::Borrowed(&value[..end])).filter(|value| !value.is_empty());
    }
    Some(found)
}

/// Unescapes a quoted string.
fn unquote(quoted: &str) -> Cow<'_, str> {
    let inner = &quoted[1..quoted.len() - 1];
    if !has_backslash(inner.as_bytes()) {
        return Cow::Borrowed(inner);
    }
    Cow::Owned(unescape(inner))
}

/// Returns whether a text has a backslash. Most texts are short ids and names: checking eight bytes at a time
/// is faster for them than a call of memchr.
#[inline]
fn has_backslash(text: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    if text.len() > 64 {
        return memchr::memchr(b'\\', text).is_some();
    }
    let in_word = |word: &[u8; 8]| {
        let zero_where_equal = u64::from_le_bytes(*word) ^ (ONES * b'\\' as u64);
        zero_where_equal.wrapping_sub(ONES) & !zero_where_equal & (ONES << 7)
    };
    let Some(last) = text.last_chunk() else { return text.contains(&b'\\') };
    let (words, _) = text.as_chunks();
    words.iter().fold(in_word(last), |found, word| found | in_word(word)) != 0
}

/// Decodes the first character or escape of a JSON string; returns its length in bytes and the character.
pub fn next_char(rest: &str) -> (usize, char) {
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
        Some(b'u') => unicode_escape(rest),
        _ => plain('\\'),
    }
}

/// Decodes `\u0041`, or a surrogate pair. A lone surrogate, which JavaScript writes when it cuts
/// an emoji in two, becomes U+FFFD.
fn unicode_escape(rest: &str) -> (usize, char) {
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

/// Resolves the escapes of a JSON string, given without its quotes.
pub fn unescape(raw: &str) -> String {
    let mut plain = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(escape) = memchr::memchr(b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..escape]);
        let (length, letter) = next_char(&rest[escape..]);
        plain.push(letter);
        rest = &rest[escape + length..];
    }
    plain.push_str(rest);
    plain
}

struct Elements<'a>(Vec<Json<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Elements<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(element) = seq.next_element::<&RawValue>()? {
                    all.push(Json::checked(element.get()));
                }
                Ok(Elements(all))
            }
        }
        deserializer.deserialize_seq(All)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    all.push((key.get(), Json::checked(value.get())));
                }
                Ok(Object(all))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Validates a text that is one JSON value.
pub(crate) fn is_valid(text: &str) -> serde_json::Result<()> {
    serde_json::from_str::<IgnoredAny>(text).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;

    fn field<'a>(text: &'a str, key: &str) -> Json<'a> {
        object(text).expect("valid").iter().find(|(name, _)| name == key).expect("the key").1
    }

    #[test]
    fn keys_with_escapes_are_decoded() {
        assert_eq!(field(r#"{"\u0061":2}"#, "a").number(), Some(2.0));
    }

    #[test]
    fn escapes_are_decoded_and_lone_surrogates_replaced() {
        let text = r#"{"a":"x\n\"\\\/\u00e9\ud83d\ude00|\ud83d|\ude00\ud83dx"}"#;
        assert_eq!(field(text, "a").text().expect("a string"), "x\n\"\\/é😀|\u{fffd}|\u{fffd}\u{fffd}x");
    }

    #[test]
    fn deep_nesting_and_huge_numbers_are_valid_in_unused_fields() {
        let deep = format!(
            r#"{{"a":{}{},"b":1e400,"c":{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000),
            "9".repeat(500)
        );
        assert_eq!(field(&deep, "b").number(), None);
        assert_eq!(field(&deep, "c").count(), 0);
        assert!(field(&deep, "a").is_set());
    }

    proptest! {
        #[test]
        fn members_found_without_parsing_are_those_of_the_record(
            members in prop::collection::vec((select(KEYS), select(VALUES)), 0..6),
        ) {
            let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}{value}")).collect();
            let text = format!("{{{}}}", members.join(","));
            let parsed = object(&text).expect("valid");
            if let Some(found) = plain_members(&text, &["\"id\"", "\"source\""].map(Finder::new)) {
                prop_assert_eq!(found, ["id", "source"].map(|name| parsed.text(&[name])), "{}", text);
            }
        }
    }

    const KEYS: &[&str] = &["\"id\":", "\"source\":", "\"source\" : ", "\"i\\u0064\":", "\"x\":", "\"ids\":"];
    const VALUES: &[&str] = &[
        "\"a\"",
        "\"\"",
        "\"id\"",
        "\"\\\"id\\\":\"",
        "7",
        "null",
        "{\"id\":\"b\"}",
        "[\"source\"]",
        "\"{\"",
        "\"é\"",
    ];

    #[test]
    fn the_id_of_a_usual_record_is_found_without_parsing() {
        let text = r#"{"type":"api-request","id":"a-1","querySource":"sdk","params":{"betas":["x"]}}"#;
        let found =
            plain_members(text, &["\"id\"", "\"querySource\""].map(Finder::new)).expect("no need to parse");
        assert_eq!(found.map(|text| text.expect("a text").into_owned()), ["a-1", "sdk"]);
    }

    #[test]
    fn counts_are_exact_whole_and_never_negative() {
        let text = r#"{"a":9007199254740993,"b":1.9,"c":-5,"d":"7","e":true,"f":1e3}"#;
        let counts: Vec<u64> = ["a", "b", "c", "d", "e", "f"].map(|key| field(text, key).count()).to_vec();
        assert_eq!(counts, [9_007_199_254_740_993, 1, 0, 0, 0, 1000]);
    }
}
