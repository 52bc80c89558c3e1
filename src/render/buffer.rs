//! JSON in a buffer, for formats with millions of small values. Writes what serde_json writes through
//! [`json`], in a third of the time.

use super::json;

/// Appends constant text, such as keys and punctuation.
pub(super) fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends a string with its quotes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| IS_PLAIN[usize::from(byte)]) {
        out.push(b'"');
        raw(out, text);
        out.push(b'"');
    } else {
        let _ = json::write_compact(text, out); // a Vec takes everything
    }
}

/// Bytes that need no escape, wherever they are.
const IS_PLAIN: [bool; 256] = {
    let (mut all, mut byte) = ([false; 256], b' ');
    while byte <= b'~' {
        all[byte as usize] = !matches!(byte, b'"' | b'\\' | b':' | b'#');
        byte += 1;
    }
    all
};

pub(super) fn integer(out: &mut Vec<u8>, number: i64) {
    raw(out, itoa::Buffer::new().format(number));
}

pub(super) fn count(out: &mut Vec<u8>, number: u64) {
    raw(out, itoa::Buffer::new().format(number));
}

/// Appends a float as serde_json does, with `.0` if it is whole.
pub(super) fn float(out: &mut Vec<u8>, number: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "compared with the number")]
    let whole = number as i64;
    #[expect(clippy::cast_precision_loss, reason = "compared with the number")]
    let is_whole = whole as f64 == number && number.abs() < 1e15 && (whole != 0 || number.is_sign_positive());
    if is_whole {
        integer(out, whole);
        raw(out, ".0");
    } else {
        let _ = json::write_compact(&number, out); // a Vec takes everything
    }
}

/// Appends bytes as hexadecimal digits.
pub(super) fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn strings_are_those_of_serde_json(text in "(\\PC|[ -~]|[:#\"\\\\\u{1b}\u{202e}]){0,20}") {
            prop_assert_eq!(written(|out| string(out, &text)), json::compact(&text).unwrap());
        }

        #[test]
        fn floats_are_those_of_serde_json(number: f64, whole: i64) {
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            for number in [number, whole as f64, (whole % 100_000) as f64, (whole % 1_000_000) as f64 / 1000.0] {
                prop_assert_eq!(written(|out| float(out, number)), json::compact(&number).unwrap());
            }
        }
    }

    #[test]
    fn special_floats_are_those_of_serde_json() {
        for number in [0.0, -0.0, 1e15, -1e15, 1e16, 999_999_999_999_999.0, f64::NAN, f64::INFINITY, 1e-7] {
            assert_eq!(written(|out| float(out, number)), json::compact(&number).unwrap());
        }
    }

    #[test]
    fn ids_are_written_in_hex() {
        assert_eq!(written(|out| hex(out, &[0, 0x1f, 0xff])), "001fff");
    }
}
