//! Replaces lone surrogates, which JavaScript writes when it cuts an emoji in two and which serde_json
//! rejects.

use std::borrow::Cow;

/// Replaces each escape of a lone surrogate with that of U+FFFD. Borrows if there is none.
pub(super) fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut replaced = String::new();
    let (mut done, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        let (length, lone) = escape(&bytes[at..]);
        if lone {
            replaced.push_str(&json[done..at]);
            replaced.push_str("\\ufffd");
            done = at + length;
        }
        at = (at + length).min(bytes.len());
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    replaced.push_str(&json[done..]);
    Cow::Owned(replaced)
}

/// Returns the length of an escape, and whether it is a lone surrogate. A pair of surrogates is one escape.
fn escape(bytes: &[u8]) -> (usize, bool) {
    match unit(bytes) {
        Some(0xD800..0xDC00) => match bytes.get(6..).and_then(unit) {
            Some(0xDC00..0xE000) => (12, false),
            _ => (6, true),
        },
        Some(0xDC00..0xE000) => (6, true),
        Some(_) => (6, false),
        None => (2, false),
    }
}

/// Decodes the `\uXXXX` escape at the start of `bytes`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_surrogates_change() {
        for (json, replaced) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""a\ude00b\ud83dx""#, r#""a\ufffdb\ufffdx""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \u00e9 \"""#, r#""\\ud83d \u00e9 \"""#),
            ("\"\\", "\"\\"),
            ("\"\\ué", "\"\\ué"),
        ] {
            assert_eq!(replace_lone_surrogates(json), replaced);
        }
    }
}
