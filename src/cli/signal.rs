//! Signals that end following: the first asks for the last report, a second one ends at once.

use std::{
    sync::{atomic::Ordering, mpsc},
    time::Duration,
};

#[cfg(unix)]
use signal_hook::consts::SIGHUP;
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

/// How the program ends with a signal.
pub(super) fn ending(signal: i32) -> ExitStatus {
    let known = ENDINGS.iter().find(|(known, _)| *known == signal);
    known.map_or(ExitStatus::Interrupted, |(_, status)| *status)
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
