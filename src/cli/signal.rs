//! Signals: those that end following, where the first asks for the last report and a second one ends at once, and those that are
//! passed on to a command. On Windows, events of the console take their place.

use std::{
    io,
    sync::{atomic::Ordering, mpsc},
    time::Duration,
};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

#[cfg(windows)]
use super::windows::{self, Event};
use crate::{error::ExitStatus, input::Stop};

/// The numbers that the C library of Windows, and Node, have for the events of a console: here Ctrl-C.
#[cfg(windows)]
pub(super) const SIGINT: i32 = 2;
/// Ctrl-Break.
#[cfg(windows)]
pub(super) const SIGBREAK: i32 = 21;
/// The window was closed.
#[cfg(windows)]
pub(super) const SIGHUP: i32 = 1;
/// The user logs off, or the system shuts down.
#[cfg(windows)]
pub(super) const SIGTERM: i32 = 15;

/// The signals that end following, and how the program ends with each.
const ENDINGS: &[(i32, ExitStatus)] = &[
    (SIGINT, ExitStatus::Interrupted),
    (SIGTERM, ExitStatus::Terminated),
    (SIGHUP, ExitStatus::HungUp),
    // The only event that one program can send to another, and so what ends it from outside.
    #[cfg(windows)]
    (SIGBREAK, ExitStatus::Terminated),
];

/// The signals that end a pipe, after the last words of its writer.
pub(super) const OF_A_PIPE: &[i32] = &[
    SIGINT,
    SIGTERM,
    SIGHUP,
    #[cfg(unix)]
    SIGQUIT,
    #[cfg(windows)]
    SIGBREAK,
];

/// How the program ends with a signal.
pub(super) fn ending(signal: i32) -> ExitStatus {
    let known = ENDINGS.iter().find(|(known, _)| *known == signal);
    known.map_or(ExitStatus::Interrupted, |(_, status)| *status)
}

/// A signal that was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) number: i32,
    pub(super) origin: Origin,
}

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The kernel: it was typed at the terminal, or the terminal was closed or resized.
    #[cfg(unix)]
    Kernel,
    /// A process, by its number.
    #[cfg(unix)]
    Process(i32),
    /// macOS and Windows do not say it.
    Unknown,
}

/// Catches signals from now on, on a thread of its own, until `tell` returns false. Signals that are ignored already stay
/// ignored, here and in the programs that are started: `nohup` and shells without job control rely on it.
#[cfg(unix)]
pub(super) fn listen(
    numbers: &[i32],
    mut tell: impl FnMut(Received) -> bool + Send + 'static,
) -> io::Result<()> {
    use signal_hook::iterator::{SignalsInfo, exfiltrator::WithOrigin};
    let ignored = ignored();
    let caught = numbers.iter().filter(|number| ignored >> (*number - 1) & 1 == 0);
    let mut signals = SignalsInfo::<WithOrigin>::new(caught)?;
    let hidden = hides_origins();
    std::thread::spawn(move || {
        for caught in &mut signals {
            let origin = if hidden { Origin::Unknown } else { origin(&caught) };
            if !tell(Received { number: caught.signal, origin }) {
                return;
            }
        }
    });
    Ok(())
}

/// Catches events of the console from now on, on a thread of the system. As on Unix, they have no effect when nobody wants to
/// be told any more.
#[cfg(windows)]
pub(super) fn listen(
    numbers: &[i32],
    mut tell: impl FnMut(Received) -> bool + Send + 'static,
) -> io::Result<()> {
    let numbers = numbers.to_vec();
    windows::listen(move |event| {
        let number = number(event);
        let is_caught = numbers.contains(&number);
        if is_caught {
            tell(Received { number, origin: Origin::Unknown });
        }
        is_caught
    })
}

#[cfg(windows)]
fn number(event: Event) -> i32 {
    match event {
        Event::Interrupt => SIGINT,
        Event::Break => SIGBREAK,
        Event::Close => SIGHUP,
        Event::Shutdown => SIGTERM,
    }
}

/// The first interrupt asks for the report of what was read, a second one ends at once.
#[cfg(unix)]
pub(super) fn on_interrupt(stop: &Stop) {
    // If no handler can be set, an interrupt ends the program by default.
    let _ = signal_hook::flag::register_conditional_default(SIGINT, stop.flag());
    let _ = signal_hook::flag::register(SIGINT, stop.flag());
}

/// The same on Windows.
#[cfg(windows)]
pub(super) fn on_interrupt(stop: &Stop) {
    let flag = stop.flag();
    let _ = windows::listen(move |event| number(event) == SIGINT && !flag.swap(true, Ordering::Relaxed));
}

#[cfg(unix)]
fn origin(caught: &signal_hook::low_level::siginfo::Origin) -> Origin {
    use signal_hook::low_level::siginfo::Cause;
    match (caught.cause, caught.process) {
        (Cause::Kernel, _) => Origin::Kernel,
        (Cause::Sent(_), Some(process)) => Origin::Process(process.pid),
        _ => Origin::Unknown,
    }
}

/// Whether a test wants origins as on macOS. Only builds with debug assertions can be asked.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a hook for tests, which is no option")]
fn hides_origins() -> bool {
    cfg!(debug_assertions) && std::env::var_os("TEST_SIGNALS_WITHOUT_ORIGIN").is_some()
}

/// The signals that are ignored, as bits from the lowest.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Other systems tell it only to unsafe code.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored() -> u64 {
    0
}

/// Waits for signals.
pub(super) struct Signals {
    receiver: mpsc::Receiver<ExitStatus>,
    /// Never used, only kept: without a sender there would be nothing to wait for.
    _sender: mpsc::Sender<ExitStatus>,
    stop: Stop,
}

impl Signals {
    /// Catches them from now on. Before a second one ends the program, `last` is done.
    pub(super) fn catch(last: impl Fn() + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        let signals = Self { receiver, _sender: sender.clone(), stop: Stop::default() };
        let flag = signals.stop.flag();
        each(move |signal| {
            let ending = ending(signal);
            if flag.swap(true, Ordering::Relaxed) {
                last();
                // Whoever waits for us sees that a signal ended us; where that fails, the same number.
                #[cfg(unix)]
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                std::process::exit(ending.code().into());
            }
            // Whoever waited may have ended already.
            let _ = sender.send(ending);
        });
        signals
    }

    /// The wish to stop that the first signal sets.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Waits so long, or until a signal comes: how the program ends with it.
    pub(super) fn wait(&self, time: Duration) -> Option<ExitStatus> {
        self.receiver.recv_timeout(time).ok()
    }
}

/// Does something for each signal, on a thread of its own, which sleeps until there is one.
#[cfg(unix)]
fn each(mut act: impl FnMut(i32) + Send + 'static) {
    // Where no handler can be set, signals end the program as they always did.
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(ENDINGS.iter().map(|(signal, _)| signal)) {
        std::thread::spawn(move || signals.forever().for_each(&mut act));
    }
}

/// The same with the events of a console.
#[cfg(windows)]
fn each(mut act: impl FnMut(i32) + Send + 'static) {
    let numbers: Vec<i32> = ENDINGS.iter().map(|(signal, _)| *signal).collect();
    let _ = listen(&numbers, move |received| {
        act(received.number);
        true
    });
}
