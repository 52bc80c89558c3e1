//! A queue of bytes between the relay and the parser. It spills to a temporary file beyond a limit.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// Maximum bytes in memory; further bytes go to the file.
const MEMORY_LIMIT: usize = 16 << 20;

/// Maximum number of blocks kept for reuse.
const MAX_FREE_BLOCKS: usize = 8;

/// A queue of chunks. Pushing never waits for the reader.
#[derive(Debug)]
pub(super) struct Spool {
    /// The bytes and their arrival times.
    queue: VecDeque<(Stored, u64)>,
    in_memory: usize,
    memory_limit: usize,
    file: Option<File>,
    /// Start and end of the queued bytes in the file.
    file_range: (u64, u64),
    /// Blocks for reuse: fresh memory would cost a page fault every 4 KiB.
    free: Vec<Vec<u8>>,
}

/// The bytes of a queue entry. Those on disk are known by their length, since they are read in order.
#[derive(Debug)]
enum Stored {
    InMemory(Chunk),
    OnDisk(usize),
}

/// A block and the number of bytes in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    block: Vec<u8>,
    filled: usize,
}

impl Chunk {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.block[..self.filled]
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self::with_memory_limit(MEMORY_LIMIT)
    }
}

impl Spool {
    fn with_memory_limit(memory_limit: usize) -> Self {
        let (queue, free) = (VecDeque::new(), Vec::new());
        Self { queue, in_memory: 0, memory_limit, file: None, file_range: (0, 0), free }
    }

    /// Appends the first `filled` bytes of a block. The block may be swapped for another one of the same
    /// size.
    pub(super) fn push(&mut self, block: &mut Vec<u8>, filled: usize, arrival: u64) {
        let spill = self.in_memory + filled > self.memory_limit;
        // If the disk is full, the bytes stay in memory: the stream must not stop.
        let stored = if spill && self.write(&block[..filled]).is_ok() {
            Stored::OnDisk(filled)
        } else {
            self.in_memory += filled;
            // Few bytes are copied, many are moved with their block: copying took a tenth of the time for a
            // gigabyte.
            Stored::InMemory(if filled * 8 < block.len() {
                Chunk { block: block[..filled].to_vec(), filled }
            } else {
                let next = self.free.pop().unwrap_or_else(|| vec![0; block.len()]);
                Chunk { block: std::mem::replace(block, next), filled }
            })
        };
        self.queue.push_back((stored, arrival));
    }

    /// Keeps the block of a chunk for reuse if it has the given size.
    pub(super) fn recycle(&mut self, chunk: Chunk, size: usize) {
        if chunk.block.len() == size && self.free.len() < MAX_FREE_BLOCKS {
            self.free.push(chunk.block);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.file_range.1))?;
        file.write_all(bytes)?;
        self.file_range.1 += bytes.len() as u64;
        Ok(())
    }

    /// Removes the oldest chunk and returns it with its arrival time.
    pub(super) fn pop(&mut self) -> Option<io::Result<(Chunk, u64)>> {
        let (stored, arrival) = self.queue.pop_front()?;
        Some(match stored {
            Stored::InMemory(chunk) => {
                self.in_memory -= chunk.filled;
                Ok((chunk, arrival))
            }
            Stored::OnDisk(length) => self.read(length).map(|chunk| (chunk, arrival)),
        })
    }

    fn read(&mut self, length: usize) -> io::Result<Chunk> {
        let Some(file) = &mut self.file else { return Ok(Chunk::default()) };
        let mut block = vec![0; length];
        file.seek(SeekFrom::Start(self.file_range.0))?;
        file.read_exact(&mut block)?;
        self.file_range.0 += length as u64;
        if self.file_range.0 == self.file_range.1 {
            self.file_range = (0, 0);
            file.set_len(0)?;
        }
        Ok(Chunk { block, filled: length })
    }
}

/// Checks that chunks come out in order and with their arrival times, from memory and from disk. Each byte of
/// `steps` is one operation: a push or a pop.
#[cfg(any(test, fuzzing))]
pub(super) fn check(steps: &[u8]) {
    const BLOCK: usize = 256;
    let (mut spool, mut model) = (Spool::with_memory_limit(4 * BLOCK), VecDeque::new());
    let mut block = vec![0; BLOCK];
    for (&step, at) in steps.iter().zip(0..) {
        if step % 3 == 0 {
            let popped = spool.pop().map(|popped| popped.expect("a temporary file"));
            let actual = popped.as_ref().map(|(chunk, at)| (chunk.bytes().to_vec(), *at));
            assert_eq!(actual, model.pop_front(), "step {at} of {steps:?}");
            popped.into_iter().for_each(|(chunk, _)| spool.recycle(chunk, BLOCK));
        } else {
            let filled = usize::from(step);
            block[..filled].fill(step ^ at as u8);
            model.push_back((block[..filled].to_vec(), at));
            spool.push(&mut block, filled, at);
            assert_eq!(block.len(), BLOCK, "the next block is as large");
        }
        assert!(spool.in_memory <= spool.memory_limit, "step {at} of {steps:?}");
    }
    while let Some((bytes, at)) = model.pop_front() {
        let (chunk, when) = spool.pop().expect("as many chunks as were pushed").expect("a temporary file");
        assert!(chunk.bytes() == bytes && when == at, "{at} of {steps:?}");
    }
    assert!(spool.pop().is_none() && (spool.in_memory, spool.file_range) == (0, (0, 0)), "{steps:?}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn chunks_come_out_in_order_for_any_sequence_of_pushes_and_pops(
            steps in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            check(&steps);
        }
    }

    #[test]
    fn chunks_that_exceed_the_memory_limit_come_back_in_order() {
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
            let (chunk, at) = spool.pop().unwrap().unwrap();
            assert!(chunk.bytes() == bytes(number) && at == number, "{number}");
            spool.recycle(chunk, 131_072);
        };
        (0..300).for_each(|number| push(&mut spool, number));
        assert!(
            spool.in_memory <= MEMORY_LIMIT && spool.file_range.1 >= 10_000_000,
            "{} {:?}",
            spool.in_memory,
            spool.file_range
        );
        (0..150).for_each(|number| check(&mut spool, number));
        assert!((1..=MAX_FREE_BLOCKS).contains(&spool.free.len()));
        (300..500).for_each(|number| push(&mut spool, number));
        (150..500).for_each(|number| check(&mut spool, number));
        assert!(spool.pop().is_none());
        assert_eq!((spool.in_memory, spool.file_range), (0, (0, 0)));
    }
}
