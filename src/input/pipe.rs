//! What may keep its reader waiting, and the wish to stop reading it.

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

use super::buffer::LINE;

/// A wish to stop reading, which anyone may set at any time.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that are read at once.
const BLOCK: usize = 256 << 10;

/// Blocks on their way: so many are read ahead, and no more are ever made.
const BLOCKS: usize = 4;

/// How often a reader that waits looks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// A block of memory, and which of its bytes were read.
type Block = (Vec<u8>, Range<usize>);

/// What may keep its reader waiting: standard input, a named pipe, a device. A thread of its own opens and reads it, and
/// waits only when its few blocks are full. So a stop is noticed while nothing arrives, even while nobody holds the other
/// end.
pub(super) fn stream<T, F>(stop: &Stop, open: F) -> Box<dyn Read + Send>
where
    T: Read,
    F: FnOnce() -> io::Result<T> + Send + 'static,
{
    let (sender, receiver) = sync_channel::<io::Result<Block>>(BLOCKS);
    // Blocks come back when they were read: fresh ones would cost a page fault every 4 KiB.
    let (give_back, free) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut from = match open() {
            Ok(from) => from,
            Err(error) => {
                let _ = sender.send(Err(error)); // whoever would read it may be gone already
                return;
            }
        };
        loop {
            let mut block = free.try_recv().unwrap_or_else(|_| vec![0; BLOCK + LINE]);
            // A pipe's pages are filled from their beginnings: memory as it comes would be a few bytes further on in its page.
            let start = block.as_ptr().align_offset(LINE);
            let read = from.read(&mut block[start..start + BLOCK]);
            let result = read.map(|count| (block, start..start + count));
            let over = !matches!(&result, Ok((_, read)) if !read.is_empty());
            let retry = matches!(&result, Err(error) if error.kind() == io::ErrorKind::Interrupted);
            if !retry && (sender.send(result).is_err() || over) {
                return;
            }
        }
    });
    Box::new(Piped { receiver, give_back, block: (Vec::new(), 0..0), stop: stop.clone() })
}

struct Piped {
    receiver: Receiver<io::Result<Block>>,
    give_back: Sender<Vec<u8>>,
    /// What is left of a block.
    block: Block,
    stop: Stop,
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.block.1.is_empty() {
            let next = match self.receiver.recv_timeout(PATIENCE) {
                Ok(next) => next?,
                Err(RecvTimeoutError::Timeout) if !self.stop.is_set() => continue,
                Err(_) => return Ok(0),
            };
            if next.1.is_empty() {
                return Ok(0);
            }
            let (used, _) = std::mem::replace(&mut self.block, next);
            if !used.is_empty() {
                // Whoever fills blocks may be gone already, and then nobody needs it.
                let _ = self.give_back.send(used);
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

    /// Gives so many bytes, a few hundred at once, and tells where in a cache line it was asked to put them.
    struct Told(usize, Sender<usize>);

    impl Read for Told {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1.send(buffer.as_ptr().addr() % LINE).unwrap();
            let count = self.0.min(buffer.len()).min(333);
            self.0 -= count;
            Ok(count)
        }
    }

    #[test]
    fn a_pipe_is_read_to_the_beginning_of_a_cache_line_and_nothing_of_it_is_lost() {
        let (told, places) = channel();
        let mut all = Vec::new();
        stream(&Stop::default(), || Ok(Told(100_000, told))).read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 100_000);
        let places: Vec<usize> = places.iter().collect();
        assert!(places.len() > 300 && places.iter().all(|place| *place == 0), "{places:?}");
    }
}
