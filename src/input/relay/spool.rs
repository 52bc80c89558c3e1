//! What was passed on and not looked at yet: in memory, and beyond a bound on disk.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// Bytes that are held in memory; what comes on top of them is stored.
const HELD: usize = 16 << 20;

/// A queue of pieces that whoever fills it never has to wait for.
#[derive(Debug, Default)]
pub(super) struct Spool {
    pieces: VecDeque<Piece>,
    held: usize,
    store: Option<File>,
    /// Where the stored bytes begin and end.
    stored: (u64, u64),
}

/// Some bytes, and when they came.
#[derive(Debug)]
struct Piece {
    bytes: Kept,
    at: u64,
}

#[derive(Debug)]
enum Kept {
    Held(Vec<u8>),
    Stored(usize),
}

impl Spool {
    /// Takes in what came at this moment.
    pub(super) fn push(&mut self, bytes: &[u8], at: u64) {
        let store = self.held + bytes.len() > HELD;
        // A disk that is full must not stop the stream: then memory has to do.
        let bytes = if store && self.store(bytes).is_ok() {
            Kept::Stored(bytes.len())
        } else {
            self.held += bytes.len();
            Kept::Held(bytes.to_vec())
        };
        self.pieces.push_back(Piece { bytes, at });
    }

    fn store(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.store {
            Some(file) => file,
            None => self.store.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.stored.1))?;
        file.write_all(bytes)?;
        self.stored.1 += bytes.len() as u64;
        Ok(())
    }

    /// Gives out the oldest piece, and when it came.
    pub(super) fn pop(&mut self) -> Option<io::Result<(Vec<u8>, u64)>> {
        let Piece { bytes, at } = self.pieces.pop_front()?;
        Some(match bytes {
            Kept::Held(bytes) => {
                self.held -= bytes.len();
                Ok((bytes, at))
            }
            Kept::Stored(length) => self.load(length).map(|bytes| (bytes, at)),
        })
    }

    fn load(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let Some(file) = &mut self.store else { return Ok(Vec::new()) };
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(self.stored.0))?;
        file.read_exact(&mut bytes)?;
        self.stored.0 += length as u64;
        if self.stored.0 == self.stored.1 {
            self.stored = (0, 0);
            file.set_len(0)?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_in_memory_comes_back_in_order() {
        let mut spool = Spool::default();
        let piece = |number: u64| vec![u8::try_from(number % 251).unwrap(); 100_000];
        let popped = |spool: &mut Spool| spool.pop().map(Result::unwrap);
        (0..300).for_each(|number| spool.push(&piece(number), number));
        assert!(spool.held <= HELD && spool.stored.1 >= 13_000_000, "{} {:?}", spool.held, spool.stored);
        (0..150).for_each(|number| assert_eq!(popped(&mut spool), Some((piece(number), number))));
        (300..500).for_each(|number| spool.push(&piece(number), number));
        (150..500).for_each(|number| assert_eq!(popped(&mut spool), Some((piece(number), number))));
        assert_eq!((popped(&mut spool), spool.held, spool.stored), (None, 0, (0, 0)));
    }
}
