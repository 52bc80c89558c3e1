//! Numbers, texts and uuids in the bytes of a chunk.

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
