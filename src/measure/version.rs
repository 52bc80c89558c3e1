//! Versions of the CLI, for rules that apply only up to one of them.

use std::fmt;

/// The first three numbers of a version, such as `2.1.74`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version([u32; 3]);

impl Version {
    /// Makes a version of its three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self([major, minor, patch])
    }

    /// Parses the version at the start of a text; anything may follow it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0; 3];
        let mut rest = text.as_bytes();
        for (index, number) in numbers.iter_mut().enumerate() {
            if index > 0 {
                rest = rest.strip_prefix(b".")?;
            }
            let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, after) = rest.split_at(length);
            if digits.is_empty() {
                return None;
            }
            let append = |sum: u32, byte: &u8| sum.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
            *number = digits.iter().fold(0, append);
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
    fn a_version_is_parsed_from_the_start_of_a_text() {
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
