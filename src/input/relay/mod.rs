//! Forwards a stream byte for byte, and keeps a copy for the parser.
//!
//! One thread reads the stream, writes it to the outlets and then queues it for the parser. A slow or broken
//! parser therefore never delays a byte. The stream is read until its end, or until the reader of an
//! essential outlet has closed it.

mod spool;

use std::{
    io::{self, Read, Write},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::Stop;
use spool::{Chunk, Spool};

/// Entry point of `fuzz/fuzz_targets/spool.rs`. Only `cargo fuzz` sets this cfg.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn check_spool(steps: &[u8]) {
    spool::check(steps);
}

/// Bytes per read. A pipe rarely holds more.
const BLOCK: usize = 256 << 10;

/// How often a waiting reader checks whether it should stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A destination of the stream.
pub struct Outlet {
    /// The name in messages.
    pub name: String,
    /// Receives the bytes.
    pub write: Box<dyn Write + Send>,
    /// Whether reading the stream stops when the reader of this outlet has closed it.
    pub essential: bool,
}

/// An outlet that could not be written to its end.
#[derive(Debug)]
pub struct FailedOutlet {
    /// The name of the outlet.
    pub name: String,
    /// The reason.
    pub error: io::Error,
}

/// A stream that is being forwarded. Clones share it.
#[derive(Clone)]
pub struct Relay(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Notified when bytes arrive and when the stream ends.
    changed: Condvar,
    /// Locked while bytes are written, so that the program does not exit in the middle of a line.
    writing: Mutex<()>,
    started: Instant,
    /// Arrival time of the bytes that the parser reads now, in milliseconds since the start.
    current_arrival: AtomicU64,
}

#[derive(Default)]
struct State {
    spool: Spool,
    ended: bool,
    error: Option<io::Error>,
    failed: Vec<FailedOutlet>,
    /// When bytes arrived last.
    last_arrival: Option<Instant>,
    /// Set by [`Relay::close`]: nothing more is forwarded.
    closed: bool,
    /// Whether reading stopped before the end because an essential outlet was closed.
    abandoned: bool,
}

impl Relay {
    /// Starts forwarding a stream. If `from` fails with `BrokenPipe`, the rest of the stream is abandoned.
    pub fn start(from: impl Read + Send + 'static, outlets: Vec<Outlet>) -> Self {
        let relay = Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            writing: Mutex::default(),
            started: Instant::now(),
            current_arrival: AtomicU64::new(0),
        }));
        let forwarder = relay.clone();
        std::thread::spawn(move || forwarder.forward(from, outlets));
        relay
    }

    /// Locks the state. A poisoned lock is safe to use, since no update leaves the state inconsistent.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn forward(&self, mut from: impl Read, mut outlets: Vec<Outlet>) {
        let mut block = vec![0; BLOCK];
        loop {
            let read = retry(|| from.read(&mut block));
            let arrived = Instant::now();
            let bytes = match &read {
                Ok(count) => &block[..*count],
                Err(_) => &[],
            };
            let mut abandoned = matches!(&read, Err(error) if is_broken_pipe(error));
            {
                let _writing = self.0.writing.lock();
                if self.state().closed {
                    return;
                }
                outlets.retain_mut(|outlet| match write_all(&mut *outlet.write, bytes) {
                    Ok(()) => true,
                    Err(error) => {
                        abandoned |= outlet.essential && is_broken_pipe(&error);
                        self.state().failed.push(FailedOutlet { name: outlet.name.clone(), error });
                        false
                    }
                });
            }
            let mut state = self.state();
            state.last_arrival = Some(arrived);
            state.abandoned = abandoned;
            state.ended = bytes.is_empty() || abandoned;
            let (ended, filled) = (state.ended, bytes.len());
            state.error = read.err().filter(|error| !is_broken_pipe(error));
            if filled > 0 {
                state.spool.push(&mut block, filled, self.millis(arrived));
            }
            drop(state);
            self.0.changed.notify_all();
            if ended {
                return;
            }
        }
    }

    fn millis(&self, moment: Instant) -> u64 {
        moment.duration_since(self.0.started).as_millis().try_into().unwrap_or(u64::MAX)
    }

    /// Arrival time of the bytes that the parser reads now, in milliseconds since the start.
    pub fn current_arrival(&self) -> u64 {
        self.0.current_arrival.load(Ordering::Relaxed)
    }

    /// Milliseconds since the start.
    pub fn elapsed(&self) -> u64 {
        self.millis(Instant::now())
    }

    /// Waits for the end of the stream, up to a timeout. Returns whether the stream has ended.
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        let waited = self.0.changed.wait_timeout_while(self.state(), timeout, |state| !state.ended);
        waited.map_or_else(|poisoned| poisoned.into_inner().0.ended, |(state, _)| state.ended)
    }

    /// Time since bytes arrived last, or since the start.
    pub fn idle_time(&self) -> Duration {
        self.state().last_arrival.unwrap_or(self.0.started).elapsed()
    }

    /// Stops forwarding and ends the stream for the parser. Waits up to a second for a write that is under
    /// way.
    pub fn close(&self) {
        let mut state = self.state();
        (state.closed, state.ended) = (true, true);
        drop(state);
        self.0.changed.notify_all();
        let deadline = Instant::now() + Duration::from_secs(1);
        while self.0.writing.try_lock().is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns whether reading stopped before the end because an essential outlet was closed.
    pub fn was_abandoned(&self) -> bool {
        self.state().abandoned
    }

    /// Takes the list of outlets that failed so far.
    pub fn take_failed(&self) -> Vec<FailedOutlet> {
        std::mem::take(&mut self.state().failed)
    }

    /// A reader of the forwarded bytes, for the parser. It ends when a stop is requested, even while nothing
    /// arrives.
    pub fn reader(&self, stop: &Stop) -> impl Read + Send + use<> {
        RelayReader { relay: self.clone(), stop: stop.clone(), chunk: Chunk::default(), taken: 0 }
    }
}

fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Retries an interrupted operation, and one that would block: another process that shares the pipe may have
/// made it non-blocking.
fn retry<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

fn write_all(write: &mut dyn Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match retry(|| write.write(bytes))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    retry(|| write.flush())
}

struct RelayReader {
    relay: Relay,
    stop: Stop,
    chunk: Chunk,
    taken: usize,
}

impl RelayReader {
    /// The next chunk; `None` at the end.
    fn next(&mut self) -> io::Result<Option<(Chunk, u64)>> {
        let mut state = self.relay.state();
        state.spool.recycle(std::mem::take(&mut self.chunk), BLOCK);
        self.taken = 0;
        loop {
            if let Some(chunk) = state.spool.pop() {
                return chunk.map(Some);
            }
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            if state.ended || self.stop.is_set() {
                return Ok(None);
            }
            let waited = self.relay.0.changed.wait_timeout(state, POLL_INTERVAL);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

impl Read for RelayReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.bytes().len() {
            let Some((chunk, at)) = self.next()? else { return Ok(0) };
            self.relay.0.current_arrival.store(at, Ordering::Relaxed);
            (self.chunk, self.taken) = (chunk, 0);
        }
        let left = &self.chunk.bytes()[self.taken..];
        let count = buffer.len().min(left.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outlet that keeps what is written.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An outlet whose reader has closed it.
    struct ClosedOutlet;

    impl Write for ClosedOutlet {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn outlet(name: &str, write: impl Write + Send + 'static) -> Outlet {
        Outlet { name: name.to_owned(), write: Box::new(write), essential: false }
    }

    #[test]
    fn everything_is_forwarded_even_if_the_parser_does_not_read() {
        let bytes: Vec<u8> = (0..60_000_000u32).map(|byte| byte.to_le_bytes()[1]).collect();
        let (memory, from) = (Memory::default(), io::Cursor::new(bytes.clone()));
        let relay = Relay::start(from, vec![outlet("memory", memory.clone())]);
        assert!(relay.wait_for_end(Duration::from_secs(60)));
        assert!(*memory.0.lock().unwrap() == bytes);
        let mut seen = Vec::new();
        relay.reader(&Stop::default()).read_to_end(&mut seen).unwrap();
        assert!(seen == bytes);
    }

    #[test]
    fn a_closed_outlet_is_reported_and_the_others_get_everything() {
        let memory = Memory::default();
        let outlets = vec![outlet("gone", ClosedOutlet), outlet("memory", memory.clone())];
        let relay = Relay::start(io::Cursor::new(b"abc\n".repeat(1000)), outlets);
        let mut seen = Vec::new();
        relay.reader(&Stop::default()).read_to_end(&mut seen).unwrap();
        assert_eq!(seen, b"abc\n".repeat(1000));
        assert_eq!(*memory.0.lock().unwrap(), seen);
        assert_eq!(relay.take_failed().iter().map(|outlet| &*outlet.name).collect::<Vec<_>>(), ["gone"]);
    }

    #[test]
    fn a_stream_is_abandoned_when_an_essential_outlet_is_closed() {
        let (from, mut to) = io::pipe().unwrap();
        let relay = Relay::start(from, vec![Outlet { essential: true, ..outlet("gone", ClosedOutlet) }]);
        to.write_all(b"abc\n").unwrap();
        assert!(relay.wait_for_end(Duration::from_secs(60)) && relay.was_abandoned());
        let mut seen = Vec::new();
        relay.reader(&Stop::default()).read_to_end(&mut seen).unwrap();
        assert_eq!(seen, b"abc\n", "bytes read before are not lost");
        while to.write_all(b"abc\n").is_ok() {} // the writer gets a broken pipe
    }

    #[test]
    fn a_stop_is_noticed_while_nothing_arrives() {
        let (from, _to) = io::pipe().unwrap();
        let relay = Relay::start(from, Vec::new());
        let stop = Stop::default();
        stop.flag().store(true, Ordering::Relaxed);
        assert_eq!(relay.reader(&stop).read(&mut [0; 8]).unwrap(), 0);
        assert!(!relay.wait_for_end(Duration::ZERO));
    }
}
