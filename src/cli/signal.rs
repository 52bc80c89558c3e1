//! Signals: those that end following, where the first asks for the last report and a second one ends at once, and those that are
//! passed on to a command.

use std::{
    io,
    sync::{atomic::Ordering, mpsc},
    time::Duration,
};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGQUIT};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level,
};

use crate::{error::ExitStatus, input::Stop};

/// The signals that end following, and how the program ends with each.
const ENDINGS: &[(i32, ExitStatus)] = &[
    (SIGINT, ExitStatus::Interrupted),
    (SIGTERM, ExitStatus::Terminated),
    #[cfg(unix)]
    (SIGHUP, ExitStatus::HungUp),
];

/// The signals that end a pipe, after the last words of its writer.
pub(super) const OF_A_PIPE: &[i32] = &[
    SIGINT,
    SIGTERM,
    #[cfg(unix)]
    SIGHUP,
    #[cfg(unix)]
    SIGQUIT,
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
    Kernel,
    /// A process, by its number.
    Process(i32),
    /// macOS does not say it.
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

/// Elsewhere an interrupt ends the program.
#[cfg(not(unix))]
pub(super) fn listen(_: &[i32], _: impl FnMut(Received) -> bool + Send + 'static) -> io::Result<()> {
    Ok(())
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
                let _ = low_level::emulate_default_handler(signal);
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

/// The same where signals can only set flags.
#[cfg(not(unix))]
fn each(mut act: impl FnMut(i32) + Send + 'static) {
    use std::sync::{Arc, atomic::AtomicBool};
    let flags: Vec<(i32, Arc<AtomicBool>)> =
        ENDINGS.iter().map(|(signal, _)| (*signal, Arc::default())).collect();
    for (signal, flag) in &flags {
        let _ = signal_hook::flag::register(*signal, Arc::clone(flag));
    }
    std::thread::spawn(move || {
        loop {
            let set = flags.iter().filter(|(_, flag)| flag.swap(false, Ordering::Relaxed));
            set.for_each(|(signal, _)| act(*signal));
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}
