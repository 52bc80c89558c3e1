//! A stream that is passed on byte for byte before anyone looks at it.
//!
//! One thread reads and writes; what it passed on is put aside for the one that looks. So a slow or broken parser never
//! delays a byte. A stream is read until its end, or until the reader of an essential outlet is gone.

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

/// For `fuzz/fuzz_targets/spool.rs` alone: `cargo fuzz` sets this cfg, no other build does.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn check_spool(steps: &[u8]) {
    spool::check(steps);
}

/// Bytes that are read at once. A pipe rarely holds more.
const BLOCK: usize = 256 << 10;

/// How often a reader that waits looks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Where a stream goes on to.
pub struct Outlet {
    /// What it is called, where something has to be said about it.
    pub name: String,
    /// Takes the bytes.
    pub write: Box<dyn Write + Send>,
    /// The stream is not read any further when the reader of this outlet is gone.
    pub essential: bool,
}

/// An outlet that could not take everything.
#[derive(Debug)]
pub struct FailedOutlet {
    /// What it is called.
    pub name: String,
    /// Why.
    pub error: io::Error,
}

/// A stream on its way.
#[derive(Clone)]
pub struct Relay(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    news: Condvar,
    /// Held while bytes are written, so that the end of the program tears no line.
    writing: Mutex<()>,
    started: Instant,
    /// When the bytes came that are being looked at, in milliseconds from the start.
    looked: AtomicU64,
}

#[derive(Default)]
struct State {
    spool: Spool,
    ended: bool,
    error: Option<io::Error>,
    lost: Vec<FailedOutlet>,
    /// When something came last.
    last: Option<Instant>,
    /// Nothing more is passed on.
    closed: bool,
    /// The stream was left before its end, because nobody reads it any more.
    left: bool,
}

impl Relay {
    /// Starts to pass a stream on. A reader that fails with `BrokenPipe` says that nobody wants the rest.
    pub fn start(from: impl Read + Send + 'static, outlets: Vec<Outlet>) -> Self {
        let relay = Self(Arc::new(Shared {
            state: Mutex::default(),
            news: Condvar::new(),
            writing: Mutex::default(),
            started: Instant::now(),
            looked: AtomicU64::new(0),
        }));
        let passing = relay.clone();
        std::thread::spawn(move || passing.pass(from, outlets));
        relay
    }

    /// Who panicked with a lock in hand left nothing half done here.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn pass(&self, mut from: impl Read, mut outlets: Vec<Outlet>) {
        let mut block = vec![0; BLOCK];
        loop {
            let read = retrying(|| from.read(&mut block));
            let arrived = Instant::now();
            let bytes = match &read {
                Ok(count) => &block[..*count],
                Err(_) => &[],
            };
            let mut left = matches!(&read, Err(error) if is_gone(error));
            {
                let _writing = self.0.writing.lock();
                if self.state().closed {
                    return;
                }
                outlets.retain_mut(|outlet| match write_all(&mut *outlet.write, bytes) {
                    Ok(()) => true,
                    Err(error) => {
                        left |= outlet.essential && is_gone(&error);
                        self.state().lost.push(FailedOutlet { name: outlet.name.clone(), error });
                        false
                    }
                });
            }
            let mut state = self.state();
            state.last = Some(arrived);
            state.left = left;
            state.ended = bytes.is_empty() || left;
            let (ended, filled) = (state.ended, bytes.len());
            state.error = read.err().filter(|error| !is_gone(error));
            if filled > 0 {
                state.spool.push(&mut block, filled, self.millis(arrived));
            }
            drop(state);
            self.0.news.notify_all();
            if ended {
                return;
            }
        }
    }

    fn millis(&self, moment: Instant) -> u64 {
        moment.duration_since(self.0.started).as_millis().try_into().unwrap_or(u64::MAX)
    }

    /// When the bytes came that are being looked at now, in milliseconds from the start.
    pub fn current_arrival(&self) -> u64 {
        self.0.looked.load(Ordering::Relaxed)
    }

    /// Milliseconds from the start until now.
    pub fn elapsed(&self) -> u64 {
        self.millis(Instant::now())
    }

    /// Waits for the end of the stream, but only so long; whether it has ended.
    pub fn wait_for_end(&self, patience: Duration) -> bool {
        let waited = self.0.news.wait_timeout_while(self.state(), patience, |state| !state.ended);
        waited.map_or_else(|poisoned| poisoned.into_inner().0.ended, |(state, _)| state.ended)
    }

    /// How long nothing has come.
    pub fn idle_time(&self) -> Duration {
        self.state().last.unwrap_or(self.0.started).elapsed()
    }

    /// Passes nothing more on: what came so far is all there is. Waits until what is being written is written, but not for a
    /// reader that sleeps.
    pub fn close(&self) {
        let mut state = self.state();
        (state.closed, state.ended) = (true, true);
        drop(state);
        self.0.news.notify_all();
        let deadline = Instant::now() + Duration::from_secs(1);
        while self.0.writing.try_lock().is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the stream was left before its end, because nobody reads it any more.
    pub fn was_abandoned(&self) -> bool {
        self.state().left
    }

    /// The outlets that could not take everything.
    pub fn take_failed(&self) -> Vec<FailedOutlet> {
        std::mem::take(&mut self.state().lost)
    }

    /// What was passed on, for the one that looks. A stop is noticed while nothing comes.
    pub fn reader(&self, stop: &Stop) -> impl Read + Send + use<> {
        Looked { relay: self.clone(), stop: stop.clone(), piece: Chunk::default(), taken: 0 }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// A pipe may be set to never wait by whoever shares it; then it is asked again.
fn retrying<T>(mut step: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match step() {
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
        match retrying(|| write.write(bytes))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    retrying(|| write.flush())
}

struct Looked {
    relay: Relay,
    stop: Stop,
    piece: Chunk,
    taken: usize,
}

impl Looked {
    /// The next piece; nothing at the end.
    fn next(&mut self) -> io::Result<Option<(Chunk, u64)>> {
        let mut state = self.relay.state();
        state.spool.give_back(std::mem::take(&mut self.piece), BLOCK);
        self.taken = 0;
        loop {
            if let Some(piece) = state.spool.pop() {
                return piece.map(Some);
            }
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            if state.ended || self.stop.is_set() {
                return Ok(None);
            }
            let waited = self.relay.0.news.wait_timeout(state, PATIENCE);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

impl Read for Looked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.piece.bytes().len() {
            let Some((piece, at)) = self.next()? else { return Ok(0) };
            self.relay.0.looked.store(at, Ordering::Relaxed);
            (self.piece, self.taken) = (piece, 0);
        }
        let left = &self.piece.bytes()[self.taken..];
        let count = buffer.len().min(left.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outlet that remembers.
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

    /// An outlet whose reader went away.
    struct Gone;

    impl Write for Gone {
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
    fn everything_is_passed_on_although_nobody_looks() {
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
    fn a_reader_that_goes_away_is_named_and_the_others_get_everything() {
        let memory = Memory::default();
        let outlets = vec![outlet("gone", Gone), outlet("memory", memory.clone())];
        let relay = Relay::start(io::Cursor::new(b"abc\n".repeat(1000)), outlets);
        let mut seen = Vec::new();
        relay.reader(&Stop::default()).read_to_end(&mut seen).unwrap();
        assert_eq!(seen, b"abc\n".repeat(1000));
        assert_eq!(*memory.0.lock().unwrap(), seen);
        assert_eq!(relay.take_failed().iter().map(|lost| &*lost.name).collect::<Vec<_>>(), ["gone"]);
    }

    #[test]
    fn a_stream_is_left_when_the_reader_of_an_essential_outlet_is_gone() {
        let (from, mut to) = io::pipe().unwrap();
        let relay = Relay::start(from, vec![Outlet { essential: true, ..outlet("gone", Gone) }]);
        to.write_all(b"abc\n").unwrap();
        assert!(relay.wait_for_end(Duration::from_secs(60)) && relay.was_abandoned());
        let mut seen = Vec::new();
        relay.reader(&Stop::default()).read_to_end(&mut seen).unwrap();
        assert_eq!(seen, b"abc\n", "what was read is counted");
        while to.write_all(b"abc\n").is_ok() {} // its writer meets a closed pipe
    }

    #[test]
    fn a_stop_is_noticed_while_nothing_comes() {
        let (from, _to) = io::pipe().unwrap();
        let relay = Relay::start(from, Vec::new());
        let stop = Stop::default();
        stop.flag().store(true, Ordering::Relaxed);
        assert_eq!(relay.reader(&stop).read(&mut [0; 8]).unwrap(), 0);
        assert!(!relay.wait_for_end(Duration::ZERO));
    }
}
