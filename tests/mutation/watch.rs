//! Ends the tests if something hangs, and prints action it was.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// The time limit. A log of a hundred mutants takes a hundredth of it.
const BOUND: Duration = Duration::from_secs(5);

/// Running actions, with their start.
type Running = Arc<Mutex<Vec<(Instant, String)>>>;

/// Aborts the process when an action takes too long.
pub(crate) struct Watch(Running);

impl Default for Watch {
    fn default() -> Self {
        let running = Running::default();
        let watched = Arc::downgrade(&running);
        thread::spawn(move || {
            while let Some(running) = watched.upgrade() {
                let late = running.lock().unwrap().iter().find(|(since, _)| since.elapsed() > BOUND).cloned();
                if let Some((_, action)) = late {
                    eprintln!("it hangs, or takes longer than {BOUND:?}: {action}");
                    std::process::abort();
                }
                drop(running);
                thread::sleep(BOUND / 50);
            }
        });
        Self(running)
    }
}

impl Watch {
    /// Runs an action under the time limit.
    pub(crate) fn during<T>(&self, action: &str, act: impl FnOnce() -> T) -> T {
        let since = Instant::now();
        self.0.lock().unwrap().push((since, action.to_owned()));
        let _done = Done(&self.0, since);
        act()
    }
}

/// Removes the action from the list at its end, even after a panic.
struct Done<'a>(&'a Running, Instant);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let mut running = self.0.lock().unwrap();
        if let Some(at) = running.iter().position(|(since, _)| *since == self.1) {
            running.swap_remove(at);
        }
    }
}
