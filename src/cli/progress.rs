//! A bar on standard error while a long read goes on, if someone is looking.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, atomic::Ordering, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::scan::Progress;

/// A read that is over before this is not worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows how far reading is, until it is dropped.
pub(super) struct Bar {
    over: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Starts to look at a read, unless nobody would see it.
    pub(super) fn watch(progress: &Arc<Progress>, wanted: bool) -> Self {
        if !wanted || !io::stderr().is_terminal() {
            return Self { over: None, thread: None };
        }
        let (over, receiver) = mpsc::channel();
        let progress = Arc::clone(progress);
        let thread = std::thread::spawn(move || show(&progress, &receiver));
        Self { over: Some(over), thread: Some(thread) }
    }
}

fn show(progress: &Progress, over: &mpsc::Receiver<()>) {
    let waiting = |time| over.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
    if !waiting(PATIENCE) {
        return;
    }
    let total = progress.total.load(Ordering::Relaxed);
    let (bar, template) = match total {
        0 => (ProgressBar::no_length(), "{spinner} reading {bytes} · {bytes_per_sec}"),
        total => {
            (ProgressBar::new(total), "reading {bar:30} {bytes} of {total_bytes} · {bytes_per_sec} · {eta}")
        }
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    loop {
        bar.set_position(progress.done.load(Ordering::Relaxed));
        bar.tick();
        if !waiting(Duration::from_millis(100)) {
            return bar.finish_and_clear();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // A bar that failed is no reason to fail.
            drop(thread.join());
        }
    }
}
