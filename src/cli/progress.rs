//! A bar on standard error while a long read goes on, if someone is looking.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, atomic::Ordering, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line;
use crate::{measure::Millis, render::human, report::Value, scan::Progress};

/// A read that is over before this is not worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Seconds left beyond which the rate says nothing yet.
const LONGEST: f64 = 24.0 * 3600.0;

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
        let begun = Instant::now();
        let thread = std::thread::spawn(move || show(&progress, begun, &receiver));
        Self { over: Some(over), thread: Some(thread) }
    }
}

fn show(progress: &Progress, begun: Instant, over: &mpsc::Receiver<()>) {
    let waiting = |time| over.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
    if !waiting(PATIENCE) {
        return;
    }
    let style =
        |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let (measured, open) = (style("reading {bar:20} {wide_msg}"), style("{spinner} reading {wide_msg}"));
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()); // until it has its words
    loop {
        let done = progress.done.load(Ordering::Relaxed);
        let total = Some(progress.total.load(Ordering::Relaxed)).filter(|total| *total > 0 && *total >= done);
        match total {
            Some(total) => {
                bar.set_style(measured.clone());
                bar.set_length(total);
            }
            None => bar.set_style(open.clone()),
        }
        bar.set_position(done);
        bar.set_message(words(done, total, begun.elapsed()));
        if bar.is_hidden() {
            bar.set_draw_target(line::target());
        }
        bar.tick();
        if !waiting(Duration::from_millis(100)) {
            return bar.finish_and_clear();
        }
    }
}

/// `158.0 MB of 1.1 GB · 310.2 MB/s · 3.0 s left`. The rate is the mean from the start: that of the last moment would be absurd
/// in the first one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "for showing; a float cast saturates"
)]
fn words(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let bytes = |count: u64| human::value(&Value::Bytes(count));
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let read = match total {
        Some(total) => format!("{} of {}", bytes(done), bytes(total)),
        None => bytes(done),
    };
    let seconds = total.map(|total| total.saturating_sub(done) as f64 / rate).filter(|left| *left < LONGEST);
    let left =
        seconds.map(|seconds| format!("{} left", human::value(&Millis::from_f64(seconds * 1000.0).into())));
    let parts = [Some(read), Some(format!("{}/s", bytes(rate as u64))), left];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_the_units_of_reports_and_at_a_mean_rate() {
        let half = Duration::from_millis(500);
        assert_eq!(
            words(158_000_000, Some(1_100_000_000), half),
            "158.0 MB of 1.1 GB · 316.0 MB/s · 3.0 s left"
        );
        assert_eq!(words(12_345, None, half), "12.3 kB · 24.7 kB/s");
        assert_eq!(words(0, Some(10), Duration::ZERO), "0 B of 10 B · 0 B/s");
        assert_eq!(words(32, Some(400_000_000_000), half), "32 B of 400.0 GB · 64 B/s");
    }
}
