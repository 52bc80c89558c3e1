//! Reads pipes and devices on a thread of their own, so that a stop request is noticed while nothing arrives.

use std::{
    io::{self, Read},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel},
    },
    time::Duration,
};

use super::buffer::CACHE_LINE;

/// A request to stop reading, shared by all clones. Any thread or signal handler may set it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Returns whether a stop was requested.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes per read.
const BLOCK: usize = 256 << 10;

/// Capacity of the channel: the thread reads this many blocks ahead and then waits.
const READ_AHEAD: usize = 4;

/// How often a waiting reader checks whether it should stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A buffer and the range of it that holds data.
type Block = (Vec<u8>, Range<usize>);

/// Reads standard input, a named pipe or a device through a thread.
///
/// The thread opens and reads the input, and waits only while its channel is full. The returned reader ends
/// when a stop is requested, even if nothing arrives and even if nobody has opened the other end of the pipe.
pub(super) fn spawn_reader<T, F>(stop: &Stop, open: F) -> Box<dyn Read + Send>
where
    T: Read,
    F: FnOnce() -> io::Result<T> + Send + 'static,
{
    let (sender, receiver) = sync_channel::<io::Result<Block>>(READ_AHEAD);
    // Blocks are recycled: fresh memory would cost a page fault every 4 KiB.
    let (recycle, free) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut from = match open() {
            Ok(from) => from,
            Err(error) => {
                let _ = sender.send(Err(error)); // fails if the reader was dropped
                return;
            }
        };
        loop {
            let mut block = free.try_recv().unwrap_or_else(|_| vec![0; BLOCK + CACHE_LINE]);
            // A pipe's pages are filled from their start, so reads go to an aligned address, see
            // `BlockReader::aligned_start`.
            let start = block.as_ptr().align_offset(CACHE_LINE);
            let read = from.read(&mut block[start..start + BLOCK]);
            let result = read.map(|count| (block, start..start + count));
            let over = !matches!(&result, Ok((_, read)) if !read.is_empty());
            let retry = matches!(&result, Err(error) if error.kind() == io::ErrorKind::Interrupted);
            if !retry && (sender.send(result).is_err() || over) {
                return;
            }
        }
    });
    Box::new(PipeReader { receiver, recycle, block: (Vec::new(), 0..0), stop: stop.clone() })
}

struct PipeReader {
    receiver: Receiver<io::Result<Block>>,
    recycle: Sender<Vec<u8>>,
    /// The current block and the range of it that is not read yet.
    block: Block,
    stop: Stop,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.block.1.is_empty() {
            let next = match self.receiver.recv_timeout(POLL_INTERVAL) {
                Ok(next) => next?,
                Err(RecvTimeoutError::Timeout) if !self.stop.is_set() => continue,
                Err(_) => return Ok(0),
            };
            if next.1.is_empty() {
                return Ok(0);
            }
            let (used, _) = std::mem::replace(&mut self.block, next);
            if !used.is_empty() {
                // Fails if the thread has ended, and then nobody needs the block.
                let _ = self.recycle.send(used);
            }
        }
        let (block, left) = &mut self.block;
        let count = buffer.len().min(left.len());
        buffer[..count].copy_from_slice(&block[left.start..left.start + count]);
        left.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields a number of bytes, a few hundred per read, and sends the position of each target within its
    /// cache line.
    struct AlignmentProbe(usize, Sender<usize>);

    impl Read for AlignmentProbe {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1.send(buffer.as_ptr().addr() % CACHE_LINE).unwrap();
            let count = self.0.min(buffer.len()).min(333);
            self.0 -= count;
            Ok(count)
        }
    }

    #[test]
    fn reads_of_a_pipe_are_aligned_to_cache_lines_and_lose_nothing() {
        let (sender, positions) = channel();
        let mut all = Vec::new();
        spawn_reader(&Stop::default(), || Ok(AlignmentProbe(100_000, sender))).read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 100_000);
        let positions: Vec<usize> = positions.iter().collect();
        assert!(positions.len() > 300 && positions.iter().all(|position| *position == 0), "{positions:?}");
    }
}
