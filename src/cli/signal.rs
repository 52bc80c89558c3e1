//! Catches signals, or console events on Windows.
//!
//! `--follow` ends at the first signal with a last report, and at the second one at once. `run` forwards
//! signals to its command.

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

/// Ctrl-C. These constants are the signal numbers that Node and the C library of Windows use for console
/// events.
#[cfg(windows)]
pub(super) const SIGINT: i32 = 2;
/// Ctrl-Break.
#[cfg(windows)]
pub(super) const SIGBREAK: i32 = 21;
/// The console window was closed.
#[cfg(windows)]
pub(super) const SIGHUP: i32 = 1;
/// The user logs off, or the system shuts down.
#[cfg(windows)]
pub(super) const SIGTERM: i32 = 15;

/// Signals that end `--follow`, with the exit status of each.
const EXIT_STATUSES: &[(i32, ExitStatus)] = &[
    (SIGINT, ExitStatus::Interrupted),
    (SIGTERM, ExitStatus::Terminated),
    (SIGHUP, ExitStatus::HungUp),
    // The only event that one program can send to another.
    #[cfg(windows)]
    (SIGBREAK, ExitStatus::Terminated),
];

/// Signals that stop reading a pipe, after its writer had time for its last output.
pub(super) const PIPE_SIGNALS: &[i32] = &[
    SIGINT,
    SIGTERM,
    SIGHUP,
    #[cfg(unix)]
    SIGQUIT,
    #[cfg(windows)]
    SIGBREAK,
];

/// The exit status after a signal.
pub(super) fn exit_status(signal: i32) -> ExitStatus {
    let known = EXIT_STATUSES.iter().find(|(known, _)| *known == signal);
    known.map_or(ExitStatus::Interrupted, |(_, status)| *status)
}

/// A caught signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) number: i32,
    pub(super) origin: Origin,
}

/// The sender of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The kernel: a key was typed at the terminal, or the terminal was closed or resized.
    #[cfg(unix)]
    Kernel,
    /// A process, by its id.
    #[cfg(unix)]
    Process(i32),
    /// macOS and Windows do not report the sender.
    Unknown,
}

/// Calls `notify` for each of these signals, on a separate thread, until it returns false.
///
/// Signals that were ignored at the start stay ignored, here and in child processes: `nohup` and shells
/// without job control rely on that.
#[cfg(unix)]
pub(super) fn listen(
    numbers: &[i32],
    mut notify: impl FnMut(Received) -> bool + Send + 'static,
) -> io::Result<()> {
    use signal_hook::iterator::{SignalsInfo, exfiltrator::WithOrigin};
    let ignored = ignored();
    let caught = numbers.iter().filter(|number| ignored >> (*number - 1) & 1 == 0);
    let mut signals = SignalsInfo::<WithOrigin>::new(caught)?;
    let hides_origins = hides_origins();
    std::thread::spawn(move || {
        for caught in &mut signals {
            let origin = if hides_origins { Origin::Unknown } else { origin(&caught) };
            if !notify(Received { number: caught.signal, origin }) {
                return;
            }
        }
    });
    Ok(())
}

/// Calls `notify` for each of these console events, on a thread of the system. As on Unix, a caught event has
/// no effect once nobody receives it any more.
#[cfg(windows)]
pub(super) fn listen(
    numbers: &[i32],
    mut notify: impl FnMut(Received) -> bool + Send + 'static,
) -> io::Result<()> {
    let numbers = numbers.to_vec();
    windows::listen(move |event| {
        let number = number(event);
        let is_caught = numbers.contains(&number);
        if is_caught {
            notify(Received { number, origin: Origin::Unknown });
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

/// Sets `stop` at the first interrupt, so that what was read is reported. A second interrupt ends the program
/// at once.
#[cfg(unix)]
pub(super) fn on_interrupt(stop: &Stop) {
    // If no handler can be set, an interrupt ends the program as usual.
    let _ = signal_hook::flag::register_conditional_default(SIGINT, stop.flag());
    let _ = signal_hook::flag::register(SIGINT, stop.flag());
}

/// Sets `stop` at the first Ctrl-C, so that what was read is reported. A second one ends the program at once.
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

/// Whether a test asks for unknown origins, as on macOS. Works only in builds with debug assertions.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a hook for tests, not an option")]
fn hides_origins() -> bool {
    cfg!(debug_assertions) && std::env::var_os("TEST_SIGNALS_WITHOUT_ORIGIN").is_some()
}

/// The ignored signals: bit N-1 is signal N.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// None: other systems report ignored signals only through an unsafe interface.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored() -> u64 {
    0
}

/// Waits for signals that end the program.
pub(super) struct Signals {
    receiver: mpsc::Receiver<ExitStatus>,
    /// Keeps the channel open: without a sender, waiting would end at once.
    _sender: mpsc::Sender<ExitStatus>,
    stop: Stop,
}

impl Signals {
    /// Starts to catch signals. Calls `clean_up` before a second signal ends the program.
    pub(super) fn catch(clean_up: impl Fn() + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        let signals = Self { receiver, _sender: sender.clone(), stop: Stop::default() };
        let flag = signals.stop.flag();
        for_each_signal(move |signal| {
            let status = exit_status(signal);
            if flag.swap(true, Ordering::Relaxed) {
                clean_up();
                // The parent sees that a signal ended us. If that fails, it gets the same exit code.
                #[cfg(unix)]
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                std::process::exit(status.code().into());
            }
            // The receiver may be gone already.
            let _ = sender.send(status);
        });
        signals
    }

    /// The stop flag, set by the first signal.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Waits for a signal, at most this long, and returns its exit status.
    pub(super) fn wait(&self, time: Duration) -> Option<ExitStatus> {
        self.receiver.recv_timeout(time).ok()
    }
}

/// Calls `act` for each signal of [`EXIT_STATUSES`], on a separate thread.
#[cfg(unix)]
fn for_each_signal(mut act: impl FnMut(i32) + Send + 'static) {
    // If no handler can be set, signals end the program as usual.
    if let Ok(mut signals) =
        signal_hook::iterator::Signals::new(EXIT_STATUSES.iter().map(|(signal, _)| signal))
    {
        std::thread::spawn(move || signals.forever().for_each(&mut act));
    }
}

/// Calls `act` for each console event of [`EXIT_STATUSES`].
#[cfg(windows)]
fn for_each_signal(mut act: impl FnMut(i32) + Send + 'static) {
    let numbers: Vec<i32> = EXIT_STATUSES.iter().map(|(signal, _)| *signal).collect();
    let _ = listen(&numbers, move |received| {
        act(received.number);
        true
    });
}
