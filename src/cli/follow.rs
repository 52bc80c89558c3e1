//! `--follow`: look, read, draw, wait, until a signal asks for the last report.
//!
//! Looking costs little and grows with the number of files, so it is done the less often the longer it takes: all looks
//! together take less than a hundredth of the time when nothing happens, however many files there are. Measured over a
//! minute without news, in a build without optimisation: 0.04 % of a processor for one file, 0.6 % for ten thousand.

use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Reading, args, complain, describe, plan::Variables, progress::Bar, screen::Screen, signal::Signals,
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    input::{self, FindError, Limits, Origin, Roots, Source},
    render::{self, Style},
    report::{Data, Report},
    scan::{
        Options, Progress,
        follow::{Check, Follower, Update},
    },
};

/// How long to wait before the next look while something happens; more often nobody sees a difference.
const BUSY: Duration = Duration::from_millis(250);

/// The same after a while without news.
const IDLE: Duration = Duration::from_secs(1);

/// Of this many parts of the time sweeps take one when nothing happens. Both kinds of looks together take less than a
/// hundredth.
const SWEEPING: u32 = 150;

/// The same for glances, which need less.
const GLANCING: u32 = 400;

/// Of this many parts of the time reading takes at most one, and drawing another.
const WORKING: u32 = 5;

/// What is shown, and how it is made of what was read.
pub(super) struct Follow<'a> {
    pub(super) input: &'a args::Input,
    pub(super) output: &'a args::Output,
    pub(super) variables: &'a Variables,
    pub(super) detail: Detail,
    /// Makes the report.
    pub(super) make: &'a dyn Fn(Reading) -> Result<Report, Error>,
}

impl Follow<'_> {
    /// Follows until a signal comes. What was read then is handed on as if it were read just now.
    pub(super) fn read(&self, wanted: Roots) -> Result<Reading, Error> {
        let search = input::find(&wanted);
        refuse_pipes(&search.sources)?;
        self.output.spare(&search.sources)?;
        for missing in &search.errors {
            complain(&waiting(missing));
        }
        let screen = Screen::default();
        let last = screen.clone();
        let signals = Signals::catch(move || last.leave());
        let mut followed = self.begin(wanted, &signals);
        // Who asks for the end during the first read gets what was read until then, as without --follow.
        let end = if signals.stop().is_set() {
            signals.wait(IDLE).unwrap_or(ExitStatus::Interrupted)
        } else {
            let end = self.watch(&mut followed, &signals, &screen);
            screen.leave();
            followed.check(Check::Full);
            end?
        };
        self.output.spare(followed.sources())?;
        let style = Some(self.variables.style());
        let reading = Reading { stop: Some(end), style, ..reading(&mut followed) };
        followed.errors().iter().for_each(|missing| complain(&missing.to_string()));
        reading.scan.unread.iter().for_each(|unread| complain(&describe(unread, &reading.sources)));
        Ok(reading)
    }

    fn begin(&self, wanted: Roots, signals: &Signals) -> Follower {
        let limits = Limits { max_record: self.input.max_record, ..Limits::default() };
        let stop = signals.stop().clone();
        let options = Options { threads: self.input.threads, limits, stop, detail: self.detail };
        let progress = Arc::new(Progress::default());
        let _bar = Bar::watch(&progress, !self.input.no_progress && !self.output.quiet);
        Follower::start(wanted, options, &progress)
    }

    /// Looks and draws until a signal comes.
    fn watch(
        &self,
        followed: &mut Follower,
        signals: &Signals,
        screen: &Screen,
    ) -> Result<ExitStatus, Error> {
        let mut picture = self.picture(screen)?;
        let mut rhythm = Rhythm::new(Instant::now());
        loop {
            if let Some(picture) = &mut picture {
                picture.draw(followed, self)?;
            }
            let (look, due) = rhythm.next();
            let due = picture.as_ref().and_then(Picture::due).map_or(due, |draw| draw.min(due));
            if let Some(end) = signals.wait(due.saturating_duration_since(Instant::now())) {
                return Ok(end);
            }
            let start = Instant::now();
            if start < rhythm.next().1 {
                continue; // it is time to draw, not to look
            }
            let seen = followed.check(look);
            rhythm.looked(look, start, Instant::now(), seen);
            if let Some(picture) = picture.as_mut().filter(|_| seen == Update::Content) {
                picture.changed();
            }
        }
    }

    /// What is drawn, if someone looks: data is for programs, and they want it once and whole.
    fn picture<'s>(&self, screen: &'s Screen) -> Result<Option<Picture<'s>>, Error> {
        if self.output.quiet {
            return Ok(None);
        }
        if self.output.format().is_for_people() && self.variables.can_draw() {
            screen.enter().map_err(Error::Write)?;
            return Ok(Some(Picture::new(screen)));
        }
        if io::stderr().is_terminal() {
            complain("following; the report is written at the end, which is Ctrl-C");
        }
        Ok(None)
    }
}

/// What is known now.
fn reading(followed: &mut Follower) -> Reading {
    let scan = followed.snapshot();
    let partial = !followed.errors().is_empty() || !scan.unread.is_empty();
    Reading { sources: followed.sources().to_vec(), scan, stop: None, style: None, partial }
}

/// What can be read only once cannot be looked at again.
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

/// When to look, and how far.
struct Rhythm {
    pause: Duration,
    glance: Instant,
    sweep: Instant,
    /// Before this no sweep is worth its time, whatever was seen.
    rest: Instant,
}

impl Rhythm {
    fn new(now: Instant) -> Self {
        Self { pause: BUSY, glance: now + BUSY, sweep: now + BUSY, rest: now }
    }

    /// The next look, and when it is due. A sweep is a glance too.
    fn next(&self) -> (Check, Instant) {
        if self.sweep <= self.glance { (Check::Full, self.sweep) } else { (Check::Recent, self.glance) }
    }

    /// A look is over: the next one is due the later the longer it took.
    fn looked(&mut self, look: Check, start: Instant, now: Instant, seen: Update) {
        let took = now - start;
        self.pause = if seen == Update::Nothing { (self.pause * 5 / 4).min(IDLE) } else { BUSY };
        let parts = match (seen, look) {
            (Update::Content, _) => WORKING,
            (Update::Nothing | Update::Folder, Check::Full) => SWEEPING,
            (Update::Nothing | Update::Folder, Check::Recent) => GLANCING,
        };
        let due = now + self.pause.max(took * parts);
        match look {
            Check::Recent => self.glance = due,
            Check::Full => {
                (self.sweep, self.glance) = (due, self.glance.max(now + self.pause));
                self.rest = now + took * WORKING;
            }
        }
        if seen == Update::Folder {
            self.sweep = self.sweep.min(self.rest.max(now));
        }
    }
}

/// What is on the screen.
struct Picture<'s> {
    screen: &'s Screen,
    report: Option<Report>,
    text: String,
    /// What is drawn has changed since.
    stale: bool,
    /// Before this it is not drawn again.
    earliest: Instant,
    last_change: Option<Instant>,
    /// Width, height and status as they were drawn.
    drawn: Option<(Style, u16, String)>,
}

impl<'s> Picture<'s> {
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

    fn changed(&mut self) {
        self.stale = true;
        self.last_change = Some(Instant::now());
    }

    /// When something that is known already has to be drawn.
    fn due(&self) -> Option<Instant> {
        self.stale.then_some(self.earliest)
    }

    /// Draws what has changed: the report, the size of the window, or the words about it.
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
            self.earliest = now + BUSY.max((now - start) * WORKING);
        }
        Ok(())
    }

    /// The report as text. Where its newest rows are the last ones, earlier rows are left out until it has room.
    fn rendered(&mut self, follow: &Follow<'_>, style: Style, room: usize) -> Result<String, Error> {
        let Some(report) = &mut self.report else { return Ok("nothing to report yet\n".to_owned()) };
        let mut shown = room;
        loop {
            let keeps_last = keep_last(report, shown);
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
            Some(moment) => format!("last change {}", ago(moment.elapsed())),
            None => "no change yet".to_owned(),
        };
        let text = format!("following {files} file{s} · {change} · Ctrl-C ends");
        if style.color { format!("\x1b[2m{text}") } else { text }
    }
}

/// Leaves this many rows for people, if the report keeps its last rows; whether it does.
fn keep_last(report: &mut Report, rows: usize) -> bool {
    match &mut report.data {
        Data::Rows(table) if table.keeps_last => {
            table.screen_rows = Some(rows);
            true
        }
        Data::Rows(_) | Data::Tree(_) | Data::Bare(_) => false,
    }
}

/// How long ago, in words that change the more slowly the longer it is.
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

    /// Looks for so long at what takes so long: how often each, and the part of the time that it took.
    fn looks(glance: Duration, sweep: Duration, seen: Update) -> (u32, u32, f64) {
        let begin = Instant::now();
        let mut rhythm = Rhythm::new(begin);
        let (mut glances, mut sweeps) = (0, 0);
        loop {
            let (look, start) = rhythm.next();
            if start - begin > Duration::from_secs(600) {
                let spent = glance * glances + sweep * sweeps;
                return (glances, sweeps, spent.as_secs_f64() / 600.0);
            }
            let took = match look {
                Check::Recent => glance,
                Check::Full => sweep,
            };
            *(if look == Check::Recent { &mut glances } else { &mut sweeps }) += 1;
            rhythm.looked(look, start, start + took, seen);
        }
    }

    #[test]
    fn however_long_looks_take_they_take_less_than_a_hundredth_of_the_time() {
        for (glance, sweep) in [(20, 50), (300, 60_000), (300, 2_000_000), (100_000, 1_000_000)] {
            let (_, _, part) =
                looks(Duration::from_micros(glance), Duration::from_micros(sweep), Update::Nothing);
            assert!(part < 0.01, "{glance} µs, {sweep} µs: {part}");
        }
    }

    #[test]
    fn a_few_files_are_looked_at_each_second_and_more_often_while_they_change() {
        let (glances, sweeps, _) =
            looks(Duration::from_micros(20), Duration::from_micros(50), Update::Nothing);
        assert!((590..620).contains(&(glances + sweeps)), "{glances} {sweeps}");
        let (glances, sweeps, _) =
            looks(Duration::from_micros(20), Duration::from_micros(50), Update::Content);
        assert!((2390..2410).contains(&(glances + sweeps)), "{glances} {sweeps}");
    }

    #[test]
    fn among_many_files_those_that_live_are_looked_at_as_often_as_ever() {
        let (glances, sweeps, _) =
            looks(Duration::from_micros(300), Duration::from_millis(60), Update::Nothing);
        assert!(glances > 530 && (60..70).contains(&sweeps), "{glances} {sweeps}");
    }

    #[test]
    fn a_folder_that_changes_is_swept_soon_but_not_all_the_time() {
        let (_, sweeps, part) = looks(Duration::from_micros(300), Duration::from_millis(60), Update::Folder);
        assert!(sweeps > 1000 && part < 0.21, "{sweeps} {part}");
    }

    #[test]
    fn time_goes_by_in_words() {
        let words = [0, 12, 61, 7200].map(|seconds| ago(Duration::from_secs(seconds)));
        assert_eq!(words, ["just now", "12 s ago", "1 min ago", "2 h ago"]);
    }
}
