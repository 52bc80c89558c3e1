//! `--follow`: checks files for changes, reads and draws, until a signal asks for the last report.
//!
//! The cost of a check grows with the number of files, so the interval grows with its duration: while nothing
//! changes, all checks together take less than 1 % of the time. Measured over a minute without changes, in a
//! build without optimisation: 0.04 % of a processor for one file, 0.6 % for ten thousand.

use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Reading, args, complain, describe, plan::Variables, progress::Bar, scan_options, screen::Screen,
    signal::Signals,
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    input::{self, FindError, Origin, Roots, Source},
    render::{self, Style},
    report::{Data, Report},
    scan::{
        Options, Progress,
        follow::{Check, Follower, Update},
    },
};

/// Interval between checks while files change. People do not notice shorter ones.
const BUSY: Duration = Duration::from_millis(250);

/// Interval between checks after a while without changes.
const IDLE: Duration = Duration::from_secs(1);

/// While nothing changes, full checks take at most one part in this many of the time.
const FULL_CHECK_SHARE: u32 = 150;

/// While nothing changes, checks of recent files take at most one part in this many of the time.
const RECENT_CHECK_SHARE: u32 = 400;

/// Reading takes at most one part in this many of the time, and so does drawing.
const WORK_SHARE: u32 = 5;

/// A report that is kept up to date.
pub(super) struct Follow<'a> {
    pub(super) input: &'a args::Input,
    pub(super) output: &'a args::Output,
    pub(super) variables: &'a Variables,
    pub(super) detail: Detail,
    /// Makes the report.
    pub(super) make: &'a dyn Fn(Reading) -> Result<Report, Error>,
}

impl Follow<'_> {
    /// Follows until a signal arrives, then returns what was read, as a normal read would.
    pub(super) fn read(&self, wanted: Roots) -> Result<Reading, Error> {
        let search = input::find(&wanted);
        refuse_pipes(&search.sources)?;
        self.output.refuse_overwrite(&search.sources)?;
        for missing in &search.errors {
            complain(&waiting(missing));
        }
        let screen = Screen::default();
        let screen_to_leave = screen.clone();
        let signals = Signals::catch(move || screen_to_leave.leave());
        let mut followed = self.start(wanted, &signals);
        // A signal during the first read reports what was read until then, as without --follow.
        let end = if signals.stop().is_set() {
            signals.wait(IDLE).unwrap_or(ExitStatus::Interrupted)
        } else {
            let end = self.watch(&mut followed, &signals, &screen);
            screen.leave();
            followed.check(Check::Full);
            end?
        };
        self.output.refuse_overwrite(followed.sources())?;
        let style = Some(self.variables.style());
        let reading = Reading { stop: Some(end), style, ..reading(&mut followed) };
        followed.errors().iter().for_each(|missing| complain(&missing.to_string()));
        reading.scan.unread.iter().for_each(|unread| complain(&describe(unread, &reading.sources)));
        Ok(reading)
    }

    fn start(&self, wanted: Roots, signals: &Signals) -> Follower {
        let stop = signals.stop().clone();
        let options = Options { stop, ..scan_options(self.input, self.detail) };
        let progress = Arc::new(Progress::default());
        let _bar = Bar::watch(&progress, !self.input.no_progress && !self.output.quiet);
        Follower::start(wanted, options, &progress)
    }

    /// Checks and draws until a signal arrives.
    fn watch(
        &self,
        followed: &mut Follower,
        signals: &Signals,
        screen: &Screen,
    ) -> Result<ExitStatus, Error> {
        let mut view = self.view(screen)?;
        let mut schedule = Schedule::new(Instant::now());
        loop {
            if let Some(view) = &mut view {
                view.draw(followed, self)?;
            }
            let (check, due) = schedule.next();
            let due = view.as_ref().and_then(LiveView::due).map_or(due, |draw| draw.min(due));
            if let Some(end) = signals.wait(due.saturating_duration_since(Instant::now())) {
                return Ok(end);
            }
            let start = Instant::now();
            if start < schedule.next().1 {
                continue; // it is time to draw, not to check
            }
            let update = followed.check(check);
            schedule.record(check, start, Instant::now(), update);
            if let Some(view) = view.as_mut().filter(|_| update == Update::Content) {
                view.mark_changed();
            }
        }
    }

    /// The view to draw, if standard output is a terminal and the format is for people: programs get the
    /// report once.
    fn view<'s>(&self, screen: &'s Screen) -> Result<Option<LiveView<'s>>, Error> {
        if self.output.quiet {
            return Ok(None);
        }
        if self.output.format().is_for_people() && self.variables.can_draw() {
            screen.enter().map_err(Error::Write)?;
            return Ok(Some(LiveView::new(screen)));
        }
        if io::stderr().is_terminal() {
            complain("following; press Ctrl-C to end and write the report");
        }
        Ok(None)
    }
}

/// Everything read so far.
fn reading(followed: &mut Follower) -> Reading {
    let scan = followed.snapshot();
    let partial = !followed.errors().is_empty() || !scan.unread.is_empty();
    Reading { sources: followed.sources().to_vec(), scan, stop: None, style: None, partial }
}

/// Refuses sources that can be read only once.
fn refuse_pipes(sources: &[Source]) -> Result<(), Error> {
    let is_file = |source: &&Source| match &source.origin {
        Origin::Stdin => false,
        Origin::File(path) => path.is_file(),
    };
    match sources.iter().find(|source| !is_file(source)) {
        None => Ok(()),
        Some(source) => {
            let name = match &source.origin {
                Origin::Stdin => "standard input".to_owned(),
                Origin::File(_) => format!("`{}`", source.name()),
            };
            Err(Error::Usage(format!(
                "cannot follow {name}: name a file or a folder; a pipe is read to its end without --follow"
            )))
        }
    }
}

fn waiting(missing: &FindError) -> String {
    match missing {
        FindError::BadPattern { .. } => missing.to_string(),
        _ => format!("{missing}; waiting for it"),
    }
}

/// Decides when the next check is due, and of which kind.
struct Schedule {
    interval: Duration,
    next_recent: Instant,
    next_full: Instant,
    /// No full check starts before this, whatever has changed.
    earliest_full: Instant,
}

impl Schedule {
    fn new(now: Instant) -> Self {
        Self { interval: BUSY, next_recent: now + BUSY, next_full: now + BUSY, earliest_full: now }
    }

    /// The next check, and when it is due. A full check includes recent files.
    fn next(&self) -> (Check, Instant) {
        if self.next_full <= self.next_recent {
            (Check::Full, self.next_full)
        } else {
            (Check::Recent, self.next_recent)
        }
    }

    /// Records a finished check. The longer it took, the later the next one is due.
    fn record(&mut self, check: Check, start: Instant, now: Instant, update: Update) {
        let took = now - start;
        self.interval = if update == Update::Nothing { (self.interval * 5 / 4).min(IDLE) } else { BUSY };
        let share = match (update, check) {
            (Update::Content, _) => WORK_SHARE,
            (Update::Nothing | Update::Folder, Check::Full) => FULL_CHECK_SHARE,
            (Update::Nothing | Update::Folder, Check::Recent) => RECENT_CHECK_SHARE,
        };
        let due = now + self.interval.max(took * share);
        match check {
            Check::Recent => self.next_recent = due,
            Check::Full => {
                (self.next_full, self.next_recent) = (due, self.next_recent.max(now + self.interval));
                self.earliest_full = now + took * WORK_SHARE;
            }
        }
        if update == Update::Folder {
            self.next_full = self.next_full.min(self.earliest_full.max(now));
        }
    }
}

/// The report on the screen.
struct LiveView<'s> {
    screen: &'s Screen,
    report: Option<Report>,
    text: String,
    /// The files have changed since the report was made.
    stale: bool,
    /// The report is not made again before this.
    earliest: Instant,
    last_change: Option<Instant>,
    /// Width, height and status line of the last drawing.
    drawn: Option<(Style, u16, String)>,
}

impl<'s> LiveView<'s> {
    fn new(screen: &'s Screen) -> Self {
        let now = Instant::now();
        Self {
            screen,
            report: None,
            text: String::new(),
            stale: true,
            earliest: now,
            last_change: None,
            drawn: None,
        }
    }

    fn mark_changed(&mut self) {
        self.stale = true;
        self.last_change = Some(Instant::now());
    }

    /// When a pending change has to be drawn.
    fn due(&self) -> Option<Instant> {
        self.stale.then_some(self.earliest)
    }

    /// Draws again if the report, the size of the window or the status line has changed.
    fn draw(&mut self, followed: &mut Follower, follow: &Follow<'_>) -> Result<(), Error> {
        let start = Instant::now();
        let renewed = self.stale && start >= self.earliest;
        if renewed {
            let reading = reading(followed);
            self.report = (reading.scan.facts.records() > 0).then(|| (follow.make)(reading)).transpose()?;
            self.stale = false;
        }
        let style = follow.variables.style();
        let rows = terminal_size::terminal_size().map_or(24, |(_, height)| height.0);
        let status = self.status(followed.sources().len(), style);
        let drawn = Some((style, rows, status));
        if !renewed && drawn == self.drawn {
            return Ok(());
        }
        let same_size = |(before, height, _): &(Style, u16, String)| *before == style && *height == rows;
        if renewed || !self.drawn.as_ref().is_some_and(same_size) {
            self.text = self.rendered(follow, style, usize::from(rows).saturating_sub(1))?;
        }
        if let Some((_, rows, status)) = &drawn {
            self.screen.paint(&self.text, *rows, status).map_err(Error::Write)?;
        }
        self.drawn = drawn;
        if renewed {
            let now = Instant::now();
            self.earliest = now + BUSY.max((now - start) * WORK_SHARE);
        }
        Ok(())
    }

    /// Renders the report. If its last rows are the newest, earlier rows are left out until it fits the
    /// screen.
    fn rendered(&mut self, follow: &Follow<'_>, style: Style, room: usize) -> Result<String, Error> {
        let Some(report) = &mut self.report else { return Ok("nothing to report yet\n".to_owned()) };
        let mut shown = room;
        loop {
            let keeps_last = limit_to_last(report, shown);
            let mut text = Vec::new();
            render::render(report, follow.output.format(), style, &mut text).map_err(Error::Write)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let over = text.lines().count().saturating_sub(room);
            if !keeps_last || over == 0 || shown <= 1 {
                return Ok(text);
            }
            shown = shown.saturating_sub(over).max(1);
        }
    }

    fn status(&self, files: usize, style: Style) -> String {
        let s = if files == 1 { "" } else { "s" };
        let change = match self.last_change {
            Some(time) => format!("last change {}", ago(time.elapsed())),
            None => "no change yet".to_owned(),
        };
        let text = format!("following {files} file{s} · {change} · Ctrl-C ends");
        if style.color { format!("\x1b[2m{text}") } else { text }
    }
}

/// Limits the report to its last `rows` rows, and returns true, if its last rows are the ones to keep.
fn limit_to_last(report: &mut Report, rows: usize) -> bool {
    match &mut report.data {
        Data::Rows(table) if table.keeps_last => {
            table.screen_rows = Some(rows);
            true
        }
        Data::Rows(_) | Data::Tree(_) | Data::Bare(_) => false,
    }
}

/// Formats a duration as `12 s ago`, with a unit that grows with it.
fn ago(time: Duration) -> Cow<'static, str> {
    match time.as_secs() {
        0 => "just now".into(),
        seconds @ 1..60 => format!("{seconds} s ago").into(),
        seconds @ 60..3600 => format!("{} min ago", seconds / 60).into(),
        seconds => format!("{} h ago", seconds / 3600).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates ten minutes of checks that take this long: the number of recent and full checks, and their
    /// share of the time.
    fn simulate(recent: Duration, full: Duration, update: Update) -> (u32, u32, f64) {
        let begin = Instant::now();
        let mut schedule = Schedule::new(begin);
        let (mut recents, mut fulls) = (0, 0);
        loop {
            let (check, start) = schedule.next();
            if start - begin > Duration::from_secs(600) {
                let spent = recent * recents + full * fulls;
                return (recents, fulls, spent.as_secs_f64() / 600.0);
            }
            let took = match check {
                Check::Recent => recent,
                Check::Full => full,
            };
            *(if check == Check::Recent { &mut recents } else { &mut fulls }) += 1;
            schedule.record(check, start, start + took, update);
        }
    }

    #[test]
    fn checks_take_less_than_a_hundredth_of_the_time_however_slow_they_are() {
        for (recent, full) in [(20, 50), (300, 60_000), (300, 2_000_000), (100_000, 1_000_000)] {
            let (_, _, share) =
                simulate(Duration::from_micros(recent), Duration::from_micros(full), Update::Nothing);
            assert!(share < 0.01, "{recent} µs, {full} µs: {share}");
        }
    }

    #[test]
    fn a_few_files_are_checked_each_second_and_more_often_while_they_change() {
        let (recents, fulls, _) =
            simulate(Duration::from_micros(20), Duration::from_micros(50), Update::Nothing);
        assert!((590..620).contains(&(recents + fulls)), "{recents} {fulls}");
        let (recents, fulls, _) =
            simulate(Duration::from_micros(20), Duration::from_micros(50), Update::Content);
        assert!((2390..2410).contains(&(recents + fulls)), "{recents} {fulls}");
    }

    #[test]
    fn recent_files_are_checked_as_often_among_many_files() {
        let (recents, fulls, _) =
            simulate(Duration::from_micros(300), Duration::from_millis(60), Update::Nothing);
        assert!(recents > 530 && (60..70).contains(&fulls), "{recents} {fulls}");
    }

    #[test]
    fn a_changed_folder_is_checked_soon_but_not_all_the_time() {
        let (_, fulls, share) =
            simulate(Duration::from_micros(300), Duration::from_millis(60), Update::Folder);
        assert!(fulls > 1000 && share < 0.21, "{fulls} {share}");
    }

    #[test]
    fn durations_are_rounded_to_a_unit_that_grows() {
        let words = [0, 12, 61, 7200].map(|seconds| ago(Duration::from_secs(seconds)));
        assert_eq!(words, ["just now", "12 s ago", "1 min ago", "2 h ago"]);
    }
}
