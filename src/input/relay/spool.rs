//! What was passed on and not looked at yet: in memory, and beyond a bound on disk.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// Bytes that are held in memory; what comes on top of them is stored.
const HELD: usize = 16 << 20;

/// Blocks that are kept to be used again.
const FREE: usize = 8;

/// A queue of pieces that whoever fills it never has to wait for.
#[derive(Debug)]
pub(super) struct Spool {
    pieces: VecDeque<(Kept, u64)>,
    held: usize,
    /// How many bytes may be held.
    bound: usize,
    store: Option<File>,
    /// Where the stored bytes begin and end.
    stored: (u64, u64),
    /// Blocks that were looked at: fresh ones would cost a page fault every 4 KiB.
    free: Vec<Vec<u8>>,
}

/// Some bytes.
#[derive(Debug)]
enum Kept {
    Held(Chunk),
    Stored(usize),
}

/// A block of which so many bytes are filled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    block: Vec<u8>,
    filled: usize,
}

impl Chunk {
    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.block[..self.filled]
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self::holding(HELD)
    }
}

impl Spool {
    /// Holds up to so many bytes in memory.
    fn holding(bound: usize) -> Self {
        let (pieces, free) = (VecDeque::new(), Vec::new());
        Self { pieces, held: 0, bound, store: None, stored: (0, 0), free }
    }

    /// Takes in what came at this moment: so many bytes of a block, which is another one then.
    pub(super) fn push(&mut self, block: &mut Vec<u8>, filled: usize, at: u64) {
        let store = self.held + filled > self.bound;
        // A disk that is full must not stop the stream: then memory has to do.
        let kept = if store && self.store(&block[..filled]).is_ok() {
            Kept::Stored(filled)
        } else {
            self.held += filled;
            // A few bytes are copied, many are handed over: copying a gigabyte took a tenth of the time.
            Kept::Held(if filled * 8 < block.len() {
                Chunk { block: block[..filled].to_vec(), filled }
            } else {
                let next = self.free.pop().unwrap_or_else(|| vec![0; block.len()]);
                Chunk { block: std::mem::replace(block, next), filled }
            })
        };
        self.pieces.push_back((kept, at));
    }

    /// Takes back what was looked at.
    pub(super) fn give_back(&mut self, piece: Chunk, size: usize) {
        if piece.block.len() == size && self.free.len() < FREE {
            self.free.push(piece.block);
        }
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
    pub(super) fn pop(&mut self) -> Option<io::Result<(Chunk, u64)>> {
        let (kept, at) = self.pieces.pop_front()?;
        Some(match kept {
            Kept::Held(piece) => {
                self.held -= piece.filled;
                Ok((piece, at))
            }
            Kept::Stored(length) => self.load(length).map(|piece| (piece, at)),
        })
    }

    fn load(&mut self, length: usize) -> io::Result<Chunk> {
        let Some(file) = &mut self.store else { return Ok(Chunk::default()) };
        let mut block = vec![0; length];
        file.seek(SeekFrom::Start(self.stored.0))?;
        file.read_exact(&mut block)?;
        self.stored.0 += length as u64;
        if self.stored.0 == self.stored.1 {
            self.stored = (0, 0);
            file.set_len(0)?;
        }
        Ok(Chunk { block, filled: length })
    }
}

/// What goes in comes out, in order and with its moment, on whichever side of the bound it was kept. Each of the bytes is
/// one step: a piece that comes, or one that is looked at.
#[cfg(any(test, fuzzing))]
pub(super) fn check(steps: &[u8]) {
    const BLOCK: usize = 256;
    let (mut spool, mut model) = (Spool::holding(4 * BLOCK), VecDeque::new());
    let mut block = vec![0; BLOCK];
    for (&step, at) in steps.iter().zip(0..) {
        if step % 3 == 0 {
            let popped = spool.pop().map(|popped| popped.expect("a temporary file"));
            let told = popped.as_ref().map(|(piece, at)| (piece.bytes().to_vec(), *at));
            assert_eq!(told, model.pop_front(), "step {at} of {steps:?}");
            popped.into_iter().for_each(|(piece, _)| spool.give_back(piece, BLOCK));
        } else {
            let filled = usize::from(step);
            block[..filled].fill(step ^ at as u8);
            model.push_back((block[..filled].to_vec(), at));
            spool.push(&mut block, filled, at);
            assert_eq!(block.len(), BLOCK, "the next block is as large");
        }
        assert!(spool.held <= spool.bound, "step {at} of {steps:?}");
    }
    while let Some((bytes, at)) = model.pop_front() {
        let (piece, when) = spool.pop().expect("all that came").expect("a temporary file");
        assert!(piece.bytes() == bytes && when == at, "{at} of {steps:?}");
    }
    assert!(spool.pop().is_none() && (spool.held, spool.stored) == (0, (0, 0)), "{steps:?}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_goes_in_comes_out_whatever_the_order_and_the_sizes(
            steps in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            check(&steps);
        }
    }

    #[test]
    fn what_does_not_fit_in_memory_comes_back_in_order() {
        let mut spool = Spool::default();
        let bytes =
            |number: u64| vec![u8::try_from(number % 251).unwrap(); 100_000 - number as usize % 90_000];
        let push = |spool: &mut Spool, number: u64| {
            let mut block = vec![0; 131_072];
            let bytes = bytes(number);
            block[..bytes.len()].copy_from_slice(&bytes);
            spool.push(&mut block, bytes.len(), number);
            assert_eq!(block.len(), 131_072, "the next block is as large");
        };
        let check = |spool: &mut Spool, number: u64| {
            let (piece, at) = spool.pop().unwrap().unwrap();
            assert!(piece.bytes() == bytes(number) && at == number, "{number}");
            spool.give_back(piece, 131_072);
        };
        (0..300).for_each(|number| push(&mut spool, number));
        assert!(spool.held <= HELD && spool.stored.1 >= 10_000_000, "{} {:?}", spool.held, spool.stored);
        (0..150).for_each(|number| check(&mut spool, number));
        assert!((1..=FREE).contains(&spool.free.len()));
        (300..500).for_each(|number| push(&mut spool, number));
        (150..500).for_each(|number| check(&mut spool, number));
        assert!(spool.pop().is_none());
        assert_eq!((spool.held, spool.stored), (0, (0, 0)));
    }
}
