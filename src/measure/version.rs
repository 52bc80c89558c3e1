//! Versions of the CLI, for rules that hold up to one of them.

use std::fmt;

/// The first three numbers of a version, such as `2.1.74`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version([u32; 3]);

impl Version {
    /// A version by its numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self([major, minor, patch])
    }

    /// The version that a text starts with; anything may follow. `None` if the text starts with something else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0; 3];
        let mut rest = text.as_bytes();
        for (at, number) in numbers.iter_mut().enumerate() {
            if at > 0 {
                rest = rest.strip_prefix(b".")?;
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (own, after) = rest.split_at(digits);
            if own.is_empty() {
                return None;
            }
            let digit = |sum: u32, byte: &u8| sum.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
            *number = own.iter().fold(0, digit);
            rest = after;
        }
        Some(Self(numbers))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_start_of_a_text() {
        for (text, version) in [
            ("2.1.74", Some(Version::new(2, 1, 74))),
            ("0.2.9", Some(Version::new(0, 2, 9))),
            ("1.0.128-beta.2", Some(Version::new(1, 0, 128))),
            ("2.1.74.1", Some(Version::new(2, 1, 74))),
            ("2.1.99999999999", Some(Version::new(2, 1, u32::MAX))),
            ("2.1", None),
            ("2.1.", None),
            ("2..1", None),
            ("v2.1.74", None),
            (" 2.1.74", None),
            ("", None),
        ] {
            assert_eq!(Version::parse(text), version, "{text}");
        }
        for text in ["2.1.74", "0.2.9"] {
            assert_eq!(Version::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let sorted = ["0.2.126", "1.0.9", "1.0.128", "2.0.76", "2.1.9", "2.1.74", "2.1.75", "10.0.0"];
        assert!(sorted.map(|text| Version::parse(text).unwrap()).is_sorted());
    }
}
