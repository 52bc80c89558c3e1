//! Numbers, texts, counts of tokens and uuids in the bytes of a chunk.

use super::form::{COUNTS, IS_FAST, IS_IN_US};
use crate::event::Usage;

/// The unread rest of a chunk.
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let next = self.byte()?;
            number |= u64::from(next & 0x7f) << shift;
            if next < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn index(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A length and as many bytes.
    pub(super) fn slice(&mut self) -> Option<&'a [u8]> {
        let length = self.index()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.slice()?).ok()
    }

    pub(super) fn usage(&mut self) -> Option<Usage> {
        let flags = self.byte()?;
        let mut counts = [0; COUNTS];
        for (at, count) in counts.iter_mut().enumerate() {
            if flags >> at & 1 != 0 {
                *count = self.number()?;
            }
        }
        let [input, output, cache_read, cache_write, cache_write_1h, web_searches] = counts;
        let (fast, in_us) = (flags & IS_FAST != 0, flags & IS_IN_US != 0);
        Some(Usage { input, output, cache_read, cache_write, cache_write_1h, web_searches, fast, in_us })
    }
}

pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Writes a length and as many bytes.
pub(super) fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend(bytes);
}

pub(super) fn put_usage(out: &mut Vec<u8>, usage: &Usage) {
    let &Usage { input, output, cache_read, cache_write, cache_write_1h, web_searches, fast, in_us } = usage;
    let counts = [input, output, cache_read, cache_write, cache_write_1h, web_searches];
    let flags = counts.iter().enumerate().map(|(at, count)| u8::from(*count > 0) << at).sum::<u8>();
    let (fast, in_us) = (if fast { IS_FAST } else { 0 }, if in_us { IS_IN_US } else { 0 });
    out.push(flags | fast | in_us);
    counts.into_iter().filter(|count| *count > 0).for_each(|count| put_number(out, count));
}

pub(super) fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

pub(super) fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Writes a uuid as the CLI spells it.
pub(super) fn write_uuid(uuid: &[u8; 16], out: &mut [u8; 36]) {
    const DIGITS: [[u8; 2]; 256] = {
        let (mut all, mut at) = ([[0; 2]; 256], 0);
        while at < 256 {
            let digits = b"0123456789abcdef";
            all[at] = [digits[at >> 4], digits[at & 15]];
            at += 1;
        }
        all
    };
    const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    *out = *b"--------*---*---*---*---------------";
    for (byte, at) in uuid.iter().zip(PLACES) {
        out[at..at + 2].copy_from_slice(&DIGITS[usize::from(*byte)]);
    }
    for at in [8, 13, 18, 23] {
        out[at] = b'-';
    }
}
