//! Which shape a source has: its first value decides.

use super::validator::{Validation, Validator};

/// How the records of a source are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each line is judged alone, so the source may be cut at any line.
    Lines,
    /// An array, or objects that go on over several lines: read from front to back.
    Document,
}

/// What the beginning of a source tells of its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sniff {
    /// It is decided.
    Is(Shape),
    /// Nothing but noise before this byte, and from there on more has to be seen.
    More(usize),
}

/// Looks at the beginning of a source; `ends` tells whether there is no more of it.
pub(super) fn sniff(head: &[u8], ends: bool, max: usize) -> Sniff {
    let mut at = 0;
    while at < head.len() {
        let line_end = memchr::memchr(b'\n', &head[at..]).map(|end| at + end);
        let begin =
            at + head[at..].iter().take_while(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\r')).count();
        // A line that is too large, of blanks or of noise, is passed over piece by piece, which only lines are. Looking for its
        // end would take as much memory as it is long.
        let seen = line_end.unwrap_or(head.len());
        if begin - at > max || !matches!(head.get(begin), Some(b'{' | b'[')) && seen - at > max {
            return Sniff::Is(Shape::Lines);
        }
        match head.get(begin) {
            Some(b'{') => return object(head, at, begin, line_end, ends, max),
            Some(b'[') => {
                let blanks = head[begin + 1..].iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
                match head.get(begin + 1 + blanks) {
                    _ if blanks > max => return Sniff::Is(Shape::Lines),
                    Some(b'{' | b']') => return Sniff::Is(Shape::Document),
                    None if !ends => return Sniff::More(at),
                    Some(_) if seen - at > max => return Sniff::Is(Shape::Lines),
                    _ => {}
                }
            }
            None if !ends => return Sniff::More(at),
            _ => {}
        }
        match line_end {
            Some(end) => at = end + 1,
            None if ends => break,
            None => return Sniff::More(at),
        }
    }
    if ends { Sniff::Is(Shape::Lines) } else { Sniff::More(at) }
}

fn object(head: &[u8], line: usize, begin: usize, line_end: Option<usize>, ends: bool, max: usize) -> Sniff {
    // Of a value that is too large no more is looked at, so that the answer does not depend on how much was read.
    let seen = &head[begin..head.len().min(begin.saturating_add(max).saturating_add(1))];
    let goes_on = |end: usize| line_end.is_some_and(|line_end| begin + end > line_end);
    match Validator::new().feed(seen) {
        Validation::Complete(end) if goes_on(end) => Sniff::Is(Shape::Document),
        Validation::Incomplete if seen.len() > max && goes_on(seen.len()) => Sniff::Is(Shape::Document),
        Validation::Incomplete if seen.len() <= max && !ends => Sniff::More(line),
        Validation::Complete(_) | Validation::Invalid(_) | Validation::Incomplete => Sniff::Is(Shape::Lines),
    }
}

/// The first value of a source, or the first element if it is an array: what tells a log from other JSON. `None` if it
/// does not begin with one within these bytes.
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
        // However little is seen at first, the answer is the same in the end.
        for end in 0..text.len() {
            if let Sniff::Is(early) = sniff(&text.as_bytes()[..end], false, 100) {
                assert_eq!(
                    Sniff::Is(early),
                    sniff(text.as_bytes(), true, 100),
                    "after {end} bytes of {text:?}"
                );
            }
        }
        match sniff(text.as_bytes(), true, 100) {
            Sniff::Is(shape) => shape,
            Sniff::More(_) => panic!("undecided at the end of {text:?}"),
        }
    }

    #[test]
    fn the_first_value_decides() {
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
    fn what_is_too_large_to_be_held_decides_before_its_end() {
        for (begin, end) in [("\0", ""), (" ", "{\n}"), ("x", "\n{\n}"), ("[x", "\n{\n}"), ("[", "{}]")] {
            let text = begin.to_owned() + &begin[begin.len() - 1..].replace('[', " ").repeat(200) + end;
            assert_eq!(shape(&text), Shape::Lines, "{begin:?}");
            assert_eq!(sniff(&text.as_bytes()[..150], false, 100), Sniff::Is(Shape::Lines), "{begin:?}");
        }
    }

    #[test]
    fn noise_can_be_let_go_before_the_shape_is_known() {
        assert_eq!(sniff(b"noise\nmore\n{\n", false, 100), Sniff::More(11));
        assert_eq!(sniff(b"noise\nmore\n", false, 100), Sniff::More(11));
    }

    #[test]
    fn the_first_value_of_a_file_is_found_in_an_array_too() {
        assert_eq!(first_value(b"\xef\xbb\xbf [ {\"a\":1}, 2"), Some(&b"{\"a\":1}"[..]));
        assert_eq!(first_value(b"{\"a\":1} x"), Some(&b"{\"a\":1}"[..]));
        assert_eq!(first_value(b"[]"), None);
        assert_eq!(first_value(b"{\"a\":"), None);
    }
}
