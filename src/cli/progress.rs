//! A progress bar on standard error during a long read, if standard error is a terminal.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, atomic::Ordering, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line;
use crate::{measure::Millis, render::human, report::Value, scan::Progress};

/// Time before the bar appears; shorter reads have none.
const DELAY: Duration = Duration::from_millis(500);

/// Estimates of the remaining time above this many seconds are not shown: the rate is not reliable yet.
const MAX_REMAINING: f64 = 24.0 * 3600.0;

/// Shows the progress of a read until it is dropped.
pub(super) struct Bar {
    /// Dropped to end the thread.
    end: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Starts to show the progress of a read, if it is `wanted` and standard error is a terminal.
    pub(super) fn watch(progress: &Arc<Progress>, wanted: bool) -> Self {
        if !wanted || !io::stderr().is_terminal() {
            return Self { end: None, thread: None };
        }
        let (end, receiver) = mpsc::channel();
        let progress = Arc::clone(progress);
        let start = Instant::now();
        let thread = std::thread::spawn(move || show(&progress, start, &receiver));
        Self { end: Some(end), thread: Some(thread) }
    }
}

fn show(progress: &Progress, start: Instant, end: &mpsc::Receiver<()>) {
    let waiting = |time| end.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
    if !waiting(DELAY) {
        return;
    }
    let style =
        |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let (measured, open) = (style("reading {bar:20} {wide_msg}"), style("{spinner} reading {wide_msg}"));
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()); // until it has a message
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
        bar.set_message(message(done, total, start.elapsed()));
        if bar.is_hidden() {
            bar.set_draw_target(line::target());
        }
        bar.tick();
        if !waiting(Duration::from_millis(100)) {
            return bar.finish_and_clear();
        }
    }
}

/// Formats the progress as `158.0 MB of 1.1 GB · 310.2 MB/s · 3.0 s left`. The rate is the mean since the
/// start, which is steadier than the current one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "for showing; a float cast saturates"
)]
fn message(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let bytes = |count: u64| human::value(&Value::Bytes(count));
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let read = match total {
        Some(total) => format!("{} of {}", bytes(done), bytes(total)),
        None => bytes(done),
    };
    let seconds =
        total.map(|total| total.saturating_sub(done) as f64 / rate).filter(|left| *left < MAX_REMAINING);
    let left =
        seconds.map(|seconds| format!("{} left", human::value(&Millis::from_f64(seconds * 1000.0).into())));
    let parts = [Some(read), Some(format!("{}/s", bytes(rate as u64))), left];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the bar is ignored.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_units_as_in_reports_and_the_mean_rate() {
        let half = Duration::from_millis(500);
        assert_eq!(
            message(158_000_000, Some(1_100_000_000), half),
            "158.0 MB of 1.1 GB · 316.0 MB/s · 3.0 s left"
        );
        assert_eq!(message(12_345, None, half), "12.3 kB · 24.7 kB/s");
        assert_eq!(message(0, Some(10), Duration::ZERO), "0 B of 10 B · 0 B/s");
        assert_eq!(message(32, Some(400_000_000_000), half), "32 B of 400.0 GB · 64 B/s");
    }
}
