//! Nothing hangs: whoever takes too long is named, and everything ends.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// What may take no longer: a log of a hundred mutants takes a hundredth of it.
const BOUND: Duration = Duration::from_secs(5);

/// What is going on, and since when.
type Going = Arc<Mutex<Vec<(Instant, String)>>>;

/// Looks whether something takes too long.
pub(crate) struct Watch(Going);

impl Default for Watch {
    fn default() -> Self {
        let going = Going::default();
        let watched = Arc::downgrade(&going);
        thread::spawn(move || {
            while let Some(going) = watched.upgrade() {
                let late = going.lock().unwrap().iter().find(|(since, _)| since.elapsed() > BOUND).cloned();
                if let Some((_, what)) = late {
                    eprintln!("it hangs, or takes longer than {BOUND:?}: {what}");
                    std::process::abort();
                }
                drop(going);
                thread::sleep(BOUND / 50);
            }
        });
        Self(going)
    }
}

impl Watch {
    /// Does something while it is watched.
    pub(crate) fn during<T>(&self, what: &str, act: impl FnOnce() -> T) -> T {
        let since = Instant::now();
        self.0.lock().unwrap().push((since, what.to_owned()));
        let _done = Done(&self.0, since);
        act()
    }
}

/// Takes it off the list at the end, also of a panic.
struct Done<'a>(&'a Going, Instant);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let mut going = self.0.lock().unwrap();
        if let Some(at) = going.iter().position(|(since, _)| *since == self.1) {
            going.swap_remove(at);
        }
    }
}
