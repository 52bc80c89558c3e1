//! Which rate limit is reached first, and when: an estimate from the figures in the logs.
//!
//! A record says which share of a limit is used and when it resets, not how large the limit is. So the estimate needs two
//! figures of one window, and says nothing about the next one.

use crate::{
    facts::{
        Detail, Name,
        ledger::{Ledger, Location},
        trace::limit::{Kind, Limit, limits as met},
    },
    measure::{Millis, Time},
    report::{Column, Line, Report, ReportSpec, Table, Tone, View, column::columns, heads},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::LIMITS),
    make: Some(|view| forecast(view, None, None)),
    sample: &["limits", "--forecast", "--until", "2026-11-16T12:30Z", "--timezone", "UTC"],
    ..ReportSpec::rows(
        "forecast",
        "Estimate of the time at which running rate limits are reached, from the used shares in the logs.",
        || heads(&columns()),
    )
};

/// Records of one window whose times of reset differ by less than this are about the same one.
const SAME_RESET: Millis = Millis::new(60_000);

/// A larger share is not one: limits may be exceeded, but not by far.
const MAX_USED: f64 = 100.0;

names! {
    /// Expected fate of a limit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Fate {
        /// It is used up.
        Reached = "reached",
        /// It will be used up before it resets, if the pace stays the same.
        BeforeReset = "before_reset",
        /// It resets first.
        NotBeforeReset = "not_before_reset",
        /// There are not enough figures.
        Unknown = "unknown",
    }
}

/// A used share at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    time: Time,
    used: f64,
}

/// A limit until its next reset.
#[derive(Clone, Debug)]
struct Window {
    limit: Name,
    resets: Time,
    /// Sorted by time, one per time.
    figures: Vec<Figure>,
    /// When a request was rejected.
    rejected: Option<Time>,
}

/// The expected end of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    /// Share per hour.
    per_hour: f64,
    reached: Time,
    earliest: Time,
    /// `None` if it may never be reached at the slowest pace.
    latest: Option<Time>,
    /// Used share at the reset.
    at_reset: f64,
}

struct Row {
    window: Window,
    fate: Fate,
    estimate: Option<Estimate>,
    is_first: bool,
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text limit "Limit" [required] "Window of the limit, such as `five_hour` or `seven_day`." => &row.window.limit;
        text forecast "Forecast" [required] "Estimate: `reached`, `before_reset`, `not_before_reset` or `unknown`."
            => row.fate.name();
        flag is_first "First" [data] "Whether it is the first limit that is expected to be reached." => row.is_first;
        share used "Used" [nullable] "Used share in the last record." => row.window.last().map(|last| last.used);
        time seen "Seen" [wide] "Time of the last record." => row.window.seen();
        time resets "Resets" [required] "Time at which the limit resets." => row.window.resets;
        count figures "Figures" [no_sum, wide] "Used shares that the logs have of this window." => row.window.figures.len() as u64;
        share estimated_per_hour "Est. per hour" [nullable, wide] "Estimate: share used per hour, between the first and the last record."
            => row.estimate.map(|one| one.per_hour);
        time estimated_reached "Est. reached" "Estimate: when it is used up if the pace stays the same; missing if it resets before."
            => row.reached(|one| Some(one.reached));
        time estimated_earliest "Earliest" [wide] "Estimate: the same at the fastest pace in the window, or missing."
            => row.reached(|one| Some(one.earliest));
        time estimated_latest "Latest" [wide] "Estimate: the same at the slowest pace in the window, or missing."
            => row.reached(|one| one.latest);
        share estimated_at_reset "Est. at reset" [nullable] "Estimate: used share when it resets; 1 is all of it."
            => row.estimate.map(|one| one.at_reset);
    }
}

impl Row {
    fn of(window: Window) -> Self {
        let estimate = window.estimate();
        let fate = match (window.is_reached(), estimate) {
            (true, _) => Fate::Reached,
            (false, None) => Fate::Unknown,
            (false, Some(one)) if one.reached < window.resets => Fate::BeforeReset,
            (false, Some(_)) => Fate::NotBeforeReset,
        };
        Self { window, fate, estimate, is_first: false }
    }

    /// A time before the reset.
    fn reached(&self, of: fn(&Estimate) -> Option<Time>) -> Option<Time> {
        let one = self.estimate.as_ref().filter(|_| self.fate != Fate::Reached)?;
        of(one).filter(|time| *time < self.window.resets)
    }

    /// The time at which it binds.
    fn binds(&self) -> Option<Time> {
        match self.fate {
            Fate::Reached => self.window.rejected.or(self.window.seen()),
            _ => self.reached(|one| Some(one.reached)),
        }
    }
}

impl Window {
    fn last(&self) -> Option<Figure> {
        self.figures.last().copied()
    }

    fn seen(&self) -> Option<Time> {
        self.last().map(|last| last.time).max(self.rejected)
    }

    fn is_reached(&self) -> bool {
        self.rejected.is_some() || self.last().is_some_and(|last| last.used >= 1.0)
    }

    /// The smallest step of the figures: shares are usually whole percentages.
    fn step(&self) -> f64 {
        let is_whole = |scale: f64| {
            self.figures.iter().all(|one| (one.used * scale - (one.used * scale).round()).abs() < 1e-6)
        };
        [100.0, 1000.0].into_iter().find(|scale| is_whole(*scale)).map_or(0.0, |scale| 1.0 / scale)
    }

    /// `None` without two figures at different times.
    ///
    /// The pace is that between the first and the last figure. The range is that of the paces from earlier figures to the last one,
    /// each wrong by one step of the figures; those of the last quarter of the time are too close for a pace.
    fn estimate(&self) -> Option<Estimate> {
        let (first, last, step) = (*self.figures.first()?, self.last()?, self.step());
        let hours = |from: Time, to: Time| to.since(from).as_f64() / 3_600_000.0;
        let span = hours(first.time, last.time);
        if span <= 0.0 {
            return None;
        }
        let early = self.figures.iter().filter(|one| hours(one.time, last.time) >= span / 4.0);
        let paces = |error: f64| {
            early.clone().map(move |one| (last.used - one.used + error) / hours(one.time, last.time))
        };
        let per_hour = (last.used - first.used) / span;
        let (fastest, slowest) =
            (paces(step).fold(per_hour, f64::max), paces(-step).fold(per_hour, f64::min));
        let after = |rest: f64, pace: f64| {
            let hours = if pace > 0.0 { rest.max(0.0) / pace } else { f64::INFINITY };
            // A time beyond all calendars is never.
            (hours < 1e6).then(|| last.time.plus(Millis::from_f64(hours * 3_600_000.0)))
        };
        let never = Time::from_micros(i64::MAX);
        let rest = 1.0 - last.used;
        Some(Estimate {
            per_hour,
            reached: after(rest, per_hour).unwrap_or(never),
            earliest: after(rest - step / 2.0, fastest).unwrap_or(never),
            latest: after(rest + step / 2.0, slowest),
            at_reset: last.used + per_hour.max(0.0) * hours(last.time, self.resets),
        })
    }
}

/// Estimates when the limits that are running at `now` are reached, from the records since `since`. Without the time, no limit is
/// running.
pub fn forecast(view: &View<'_>, since: Option<Time>, now: Option<Time>) -> Report {
    let limits: Vec<Limit> =
        met(view.ledger).into_iter().filter(|limit| limit.kind == Kind::RateLimit).collect();
    let (windows, ended) = windows(view.ledger, &limits, since, now);
    let mut rows: Vec<Row> = windows.into_iter().map(Row::of).collect();
    rows.sort_by(|one, two| {
        let order = |row: &Row| (row.fate, row.binds(), row.window.resets);
        order(one).cmp(&order(two)).then_with(|| one.window.limit.cmp(&two.window.limit))
    });
    if let Some(first) = rows.first_mut() {
        first.is_first = matches!(first.fate, Fate::Reached | Fate::BeforeReset);
    }
    let notes = vec![summary(&rows, limits.is_empty(), ended)];
    Report::of(SPEC.name, Table::of("Forecast of rate limits (estimates)", &columns(), &rows), notes)
}

/// The windows that are running, and the last reset of those that are not.
fn windows(
    ledger: &Ledger,
    limits: &[Limit],
    since: Option<Time>,
    now: Option<Time>,
) -> (Vec<Window>, Option<Time>) {
    let clock = Clock::of(ledger, limits);
    let (mut all, mut ended): (Vec<Window>, Option<Time>) = (Vec::new(), None);
    for limit in limits {
        let (Some(resets), Some(time)) = (limit.resets, clock.time(limit)) else { continue };
        if since.is_some_and(|since| time < since) || now.is_some_and(|now| now <= time) {
            continue;
        }
        if now.is_none_or(|now| resets <= now) {
            ended = ended.max(Some(resets));
            continue;
        }
        let (status, name) = parts(limit.what.as_deref().unwrap_or_default());
        let apart = |one: &Window| one.resets.max(resets).since(one.resets.min(resets));
        let known = all.iter().position(|one| one.limit == name && apart(one) < SAME_RESET);
        let at = known.unwrap_or_else(|| {
            all.push(Window { limit: Name::from(name), resets, figures: Vec::new(), rejected: None });
            all.len() - 1
        });
        let used = limit.used.filter(|used| (0.0..=MAX_USED).contains(used));
        all[at].figures.extend(used.map(|used| Figure { time, used }));
        if status == "rejected" {
            all[at].rejected = Some(all[at].rejected.map_or(time, |first| first.min(time)));
        }
    }
    for window in &mut all {
        // If several figures have the same time, the largest counts.
        window.figures.sort_by(|one, two| one.time.cmp(&two.time).then(two.used.total_cmp(&one.used)));
        window.figures.dedup_by_key(|figure| figure.time);
    }
    (all, ended)
}

/// Status and window of a limit, as `limits` shows them.
fn parts(what: &str) -> (&str, &str) {
    what.split_once(' ').unwrap_or(("", what))
}

/// Times of records that have none: that of the record before them in the same log, else of the one after.
struct Clock(Vec<(Location, Time)>);

impl Clock {
    fn of(ledger: &Ledger, limits: &[Limit]) -> Self {
        let sources: Vec<_> =
            limits.iter().filter_map(|limit| Some(limit.context.location?.source)).collect();
        let timed = ledger.contexts().filter_map(|context| context.location.zip(context.time));
        let mut all: Vec<(Location, Time)> = timed.filter(|(at, _)| sources.contains(&at.source)).collect();
        all.sort_unstable();
        Self(all)
    }

    fn time(&self, limit: &Limit) -> Option<Time> {
        let own = limit.context.time;
        own.or_else(|| {
            let at = limit.context.location?;
            let after = self.0.partition_point(|(one, _)| *one < at);
            let is_near = |(one, _): &&(Location, Time)| one.source == at.source;
            let before = self.0[..after].last().filter(is_near);
            before.or_else(|| self.0.get(after).filter(is_near)).map(|(_, time)| *time)
        })
    }
}

/// Which limit is reached first, or why nothing can be said.
fn summary(rows: &[Row], is_empty: bool, ended: Option<Time>) -> Line {
    let line = Line::new(Tone::Plain);
    if is_empty {
        return line.word("no forecast: the logs have no record of a rate limit; only the output of a run with a subscription has them");
    }
    let Some(first) = rows.first() else {
        let line = line.word("no forecast: no rate limit is running");
        return match ended {
            Some(reset) => line.word("; the last one was reset at ").value(reset),
            None => line.word(", or its records have no time"),
        };
    };
    let name = first.window.limit.as_str();
    match (first.fate, first.estimate) {
        (Fate::Reached, _) => {
            let line = Line::new(Tone::Bad).value(name).word(" is used up; it resets at ");
            line.value(first.window.resets)
        }
        (Fate::BeforeReset, Some(one)) => {
            let line = Line::new(Tone::Warning).value(name).word(" binds first: about ").value(one.reached);
            let line = line.word(", from ").value(one.earliest);
            let line = match first.reached(|one| one.latest) {
                Some(latest) => line.word(" to ").value(latest),
                None => line.word(", or not before it resets"),
            };
            line.word(" (an estimate from ").value(first.window.figures.len() as u64).word(" figures)")
        }
        (Fate::NotBeforeReset, Some(_)) => {
            let may =
                rows.iter().find_map(|row| Some((&row.window.limit, row.reached(|one| Some(one.earliest))?)));
            let line = Line::new(Tone::Good).word("no limit is expected to be reached before it resets");
            let line = match may {
                Some((name, time)) => {
                    line.word("; at the fastest pace, ").value(name.as_str()).word(" is at ").value(time)
                }
                None => line,
            };
            line.word(" (an estimate)")
        }
        _ => line.word("no forecast: the logs have fewer than two used shares of one window"),
    }
}
