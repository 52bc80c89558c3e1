//! Detects by its first value whether a source has one record per line.

use super::validator::{Validation, Validator};

/// The layout of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One record per line. Lines are independent, so the source may be split at any line feed.
    Lines,
    /// An array, or objects over several lines. It is read from front to back.
    Document,
}

/// The result of [`sniff`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sniff {
    /// The shape is known.
    Decided(Shape),
    /// More bytes are needed. All bytes before this index are noise.
    Undecided(usize),
}

/// Detects the shape of a source from its first bytes. `ends` means that these are all bytes of the source.
pub(super) fn sniff(head: &[u8], ends: bool, max: usize) -> Sniff {
    let mut at = 0;
    while at < head.len() {
        let line_end = memchr::memchr(b'\n', &head[at..]).map(|end| at + end);
        let value_start =
            at + head[at..].iter().take_while(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\r')).count();
        // An overlong line of blanks or noise would have to be buffered to find its end. The shape is
        // `Lines`, since only lines can be skipped in parts.
        let seen = line_end.unwrap_or(head.len());
        if value_start - at > max || !matches!(head.get(value_start), Some(b'{' | b'[')) && seen - at > max {
            return Sniff::Decided(Shape::Lines);
        }
        match head.get(value_start) {
            Some(b'{') => return object(head, at, value_start, line_end, ends, max),
            Some(b'[') => {
                let blanks =
                    head[value_start + 1..].iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
                match head.get(value_start + 1 + blanks) {
                    _ if blanks > max => return Sniff::Decided(Shape::Lines),
                    Some(b'{' | b']') => return Sniff::Decided(Shape::Document),
                    None if !ends => return Sniff::Undecided(at),
                    Some(_) if seen - at > max => return Sniff::Decided(Shape::Lines),
                    _ => {}
                }
            }
            None if !ends => return Sniff::Undecided(at),
            _ => {}
        }
        match line_end {
            Some(end) => at = end + 1,
            None if ends => break,
            None => return Sniff::Undecided(at),
        }
    }
    if ends { Sniff::Decided(Shape::Lines) } else { Sniff::Undecided(at) }
}

fn object(
    head: &[u8],
    line: usize,
    value_start: usize,
    line_end: Option<usize>,
    ends: bool,
    max: usize,
) -> Sniff {
    // At most one byte more than the maximum is examined, so that the answer does not depend on how much was
    // read.
    let seen = &head[value_start..head.len().min(value_start.saturating_add(max).saturating_add(1))];
    let spans_lines = |end: usize| line_end.is_some_and(|line_end| value_start + end > line_end);
    match Validator::new().feed(seen) {
        Validation::Complete(end) if spans_lines(end) => Sniff::Decided(Shape::Document),
        Validation::Incomplete if seen.len() > max && spans_lines(seen.len()) => {
            Sniff::Decided(Shape::Document)
        }
        Validation::Incomplete if seen.len() <= max && !ends => Sniff::Undecided(line),
        Validation::Complete(_) | Validation::Invalid(_) | Validation::Incomplete => {
            Sniff::Decided(Shape::Lines)
        }
    }
}

/// The first value of a source, or its first element if it is an array. It shows whether a JSON file is a
/// log. `None` if these bytes hold no complete value.
pub fn first_value(head: &[u8]) -> Option<&[u8]> {
    let blank = |byte: &u8| matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n');
    let skip = |text: &'_ [u8]| text.iter().take_while(|byte| blank(byte)).count();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut value = &head[skip(head)..];
    if value.first() == Some(&b'[') {
        value = &value[1..];
        value = &value[skip(value)..];
    }
    match Validator::new().feed(value) {
        Validation::Complete(end) => Some(&value[..end]),
        Validation::Incomplete | Validation::Invalid(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        // A decision from the first bytes must agree with the decision from all bytes.
        for end in 0..text.len() {
            if let Sniff::Decided(early) = sniff(&text.as_bytes()[..end], false, 100) {
                assert_eq!(
                    Sniff::Decided(early),
                    sniff(text.as_bytes(), true, 100),
                    "after {end} bytes of {text:?}"
                );
            }
        }
        match sniff(text.as_bytes(), true, 100) {
            Sniff::Decided(shape) => shape,
            Sniff::Undecided(_) => panic!("undecided at the end of {text:?}"),
        }
    }

    #[test]
    fn the_first_value_decides_the_shape() {
        for text in [
            "",
            "\n\n",
            "{}\n{}",
            "{\"a\":1}",
            "noise\n{}\n[\n{}]",
            "{\"a\":",
            "[1,2]",
            "[",
            "[DEBUG] x\n{}",
            "{}{}",
            "{\n\"a\" oops",
        ] {
            assert_eq!(shape(text), Shape::Lines, "{text:?}");
        }
        for text in [
            "[{}]",
            "[]",
            "[\n{",
            "[ \n\n ]",
            "{\n}",
            "{\"a\":\n1}",
            "noise\n[\n  {}]",
            "\0\0[{",
            "[DEBUG] x\n{\n}",
        ] {
            assert_eq!(shape(text), Shape::Document, "{text:?}");
        }
    }

    #[test]
    fn an_overlong_line_decides_before_its_end() {
        for (value_start, end) in [("\0", ""), (" ", "{\n}"), ("x", "\n{\n}"), ("[x", "\n{\n}"), ("[", "{}]")]
        {
            let text = value_start.to_owned()
                + &value_start[value_start.len() - 1..].replace('[', " ").repeat(200)
                + end;
            assert_eq!(shape(&text), Shape::Lines, "{value_start:?}");
            assert_eq!(
                sniff(&text.as_bytes()[..150], false, 100),
                Sniff::Decided(Shape::Lines),
                "{value_start:?}"
            );
        }
    }

    #[test]
    fn noise_can_be_dropped_before_the_shape_is_known() {
        assert_eq!(sniff(b"noise\nmore\n{\n", false, 100), Sniff::Undecided(11));
        assert_eq!(sniff(b"noise\nmore\n", false, 100), Sniff::Undecided(11));
    }

    #[test]
    fn the_first_value_of_a_file_is_found_in_an_array_too() {
        assert_eq!(first_value(b"\xef\xbb\xbf [ {\"a\":1}, 2"), Some(&b"{\"a\":1}"[..]));
        assert_eq!(first_value(b"{\"a\":1} x"), Some(&b"{\"a\":1}"[..]));
        assert_eq!(first_value(b"[]"), None);
        assert_eq!(first_value(b"{\"a\":"), None);
    }
}
