//! Windows of five hours: which one is running, how fast it is used, and where that leads.

use std::collections::BTreeMap;

use super::{BLOCKS, By, Row, columns, divided};
use crate::{
    facts::ledger::{Charge, Ledger},
    measure::{Millis, Time, calendar},
    report::{Column, Line, Report, Shown, Tone, Value, View, column::shown_as, sum::Sum},
};

/// Length of a window.
pub(in crate::report) const WINDOW: Millis = Millis::new(5 * 60 * 60 * 1000);

/// Windows that began so long ago are not recent. The same as in ccusage.
const RECENT: Millis = Millis::new(3 * 24 * 60 * 60 * 1000);

/// Which windows a report shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Windows {
    /// All.
    #[default]
    All,
    /// Those that began in the last three days, and the running one.
    Recent,
    /// The one that is running.
    Active,
}

/// The responses of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    start: Time,
    first: Time,
    last: Time,
}

impl Window {
    /// All windows of these charges, by their starts.
    fn all(charges: &[Charge]) -> BTreeMap<Time, Self> {
        let times = || charges.iter().filter_map(|charge| charge.context.time);
        let starts = calendar::window_starts(times().collect());
        let mut windows: BTreeMap<Time, Self> = BTreeMap::new();
        for time in times() {
            if let Some(start) = start_of(&starts, time) {
                let window = windows.entry(start).or_insert(Self { start, first: time, last: time });
                (window.first, window.last) = (window.first.min(time), window.last.max(time));
            }
        }
        windows
    }

    fn is_active(&self, now: Time) -> bool {
        is_active(self.start, self.last, now)
    }

    fn is_shown(&self, windows: Windows, now: Time) -> bool {
        windows.has(self.start, self.is_active(now), now)
    }
}

impl Windows {
    /// Whether a window that began at this time is shown.
    pub(in crate::report) fn has(self, start: Time, is_active: bool, now: Time) -> bool {
        match self {
            Self::All => true,
            Self::Recent => now.since(start) <= RECENT || is_active,
            Self::Active => is_active,
        }
    }
}

/// Whether a window is running: it began, has not ended, and its last response is not older than a window.
pub(in crate::report) fn is_active(start: Time, last: Time, now: Time) -> bool {
    start <= now && now < start.plus(WINDOW) && now.since(last) < WINDOW
}

/// The start of the window that a time is in.
pub(in crate::report) fn start_of(starts: &[Time], time: Time) -> Option<Time> {
    starts.partition_point(|&start| start <= time).checked_sub(1).map(|at| starts[at])
}

/// Use of a window per time between its first and its last response, as ccusage counts it.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct BurnRate {
    /// All tokens, per minute.
    pub(in crate::report) tokens: f64,
    /// Tokens that have nothing to do with the cache, per minute.
    pub(in crate::report) uncached: f64,
    /// Dollars per hour.
    pub(in crate::report) cost: Option<f64>,
}

impl BurnRate {
    /// `None` if all responses have the same time.
    pub(in crate::report) fn of(sum: &Sum, first: Time, last: Time) -> Option<Self> {
        let minutes = last.since(first).as_f64() / 60_000.0;
        let per_minute = |amount: Value| amount.number().map(|number| number / minutes);
        let uncached = sum.tokens.input.saturating_add(sum.tokens.output);
        (minutes > 0.0).then_some(Self {
            tokens: per_minute(sum.all_tokens().into())?,
            uncached: per_minute(uncached.into())?,
            cost: per_minute(sum.cost.into()).map(|cost| cost * 60.0),
        })
    }

    /// The use of the window at its end if the rate stays the same. Like ccusage, it counts whole minutes.
    pub(in crate::report) fn projection(self, sum: &Sum, rest: Millis) -> Projection {
        let minutes = (rest.as_f64() / 60_000.0).round();
        let at_end = |now: Value, per_minute: f64| {
            now.number().map_or(Value::Missing, |number| now.like(number + per_minute * minutes))
        };
        Projection {
            tokens: at_end(sum.all_tokens().into(), self.tokens),
            cost: at_end(sum.cost.into(), self.cost.unwrap_or_default() / 60.0),
            minutes: Value::Count(0).like(minutes),
        }
    }
}

/// The estimated use of a window at its end.
#[derive(Clone, Debug)]
pub(in crate::report) struct Projection {
    pub(in crate::report) tokens: Value,
    pub(in crate::report) cost: Value,
    /// Minutes until then.
    pub(in crate::report) minutes: Value,
}

/// The state of the window of a row.
#[derive(Clone, Debug)]
pub(super) struct WindowState {
    ends: Time,
    /// `None` if the time is not known.
    is_active: Option<bool>,
    running: Option<Running>,
}

/// Figures of a running window.
#[derive(Clone, Debug)]
struct Running {
    remaining: Millis,
    rate: Option<(BurnRate, Projection)>,
}

impl WindowState {
    fn of(window: &Window, sum: &Sum, now: Option<Time>) -> Self {
        let ends = window.start.plus(WINDOW);
        let is_active = now.map(|now| window.is_active(now));
        let running = now.filter(|_| is_active == Some(true)).map(|now| {
            let remaining = ends.since(now);
            let rate = BurnRate::of(sum, window.first, window.last);
            Running { remaining, rate: rate.map(|rate| (rate, rate.projection(sum, remaining))) }
        });
        Self { ends, is_active, running }
    }
}

impl Row {
    fn window(&self) -> Option<&WindowState> {
        self.window.as_deref()
    }

    fn running(&self) -> Option<&Running> {
        self.window()?.running.as_ref()
    }

    fn rate(&self) -> Option<&(BurnRate, Projection)> {
        self.running()?.rate.as_ref()
    }

    fn cost_per_hour(&self) -> Value {
        let rate = self.rate().and_then(|(rate, _)| rate.cost);
        rate.map_or(Value::Missing, |cost| Value::Usd(crate::measure::Usd::default()).like(cost))
    }
}

/// Columns about windows that are running. People read a sentence instead, unless they ask for that window.
pub(super) fn block_columns() -> Vec<Column<Row>> {
    let window = columns! { |row: Row|
        time ends "Ends" "End of the window, five hours after its start." => row.window().map(|window| window.ends);
        flag active "Active" [nullable] "Whether the window is running."
            => row.window().and_then(|window| window.is_active);
        millis remaining_ms "Left" [nullable, no_sum] "Time until the end of a running window."
            => row.running().map(|running| running.remaining);
        number tokens_per_minute "Tokens/min" [nullable]
            "Tokens per minute between the first and the last response of a running window."
            => row.rate().map(|(rate, _)| rate.tokens);
        usd cost_per_hour_usd "Per hour" [nullable, no_sum]
            "Cost per hour between the first and the last response of a running window."
            => row.cost_per_hour();
        count projected_tokens "Est. tokens" [nullable, no_sum]
            "Estimate: tokens of a running window at its end, if its rate stays the same."
            => row.rate().map_or(Value::Missing, |(_, end)| end.tokens.clone());
        usd projected_cost_usd "Est. cost" [nullable, no_sum]
            "Estimate: cost of a running window at its end, if its rate stays the same."
            => row.rate().map_or(Value::Missing, |(_, end)| end.cost.clone());
    };
    let keys: Vec<&str> = window.iter().map(|column| column.head.key).collect();
    let mut all = columns(&[By::Window]);
    all.extend(shown_as(Shown::Data, &keys, window));
    all
}

/// Columns that say little about a single window.
const OF_SEVERAL: &[&str] = &["share", "cache_saved_usd", "cache_hit_rate", "sessions"];

/// Tokens and cost by window. Without the time, no window counts as running.
pub fn blocks(view: &View<'_>, windows: Windows, now: Option<Time>) -> Report {
    let all = Window::all(&view.ledger.charges);
    let narrowed;
    let view = match now.filter(|_| windows != Windows::All) {
        None => *view,
        Some(now) => {
            narrowed = narrow(view.ledger, &all, windows, now);
            View { ledger: &narrowed, ..*view }
        }
    };
    let mut columns = block_columns();
    if windows == Windows::Active {
        columns = shown_as(Shown::Data, OF_SEVERAL, columns);
        columns = shown_as(Shown::Always, &["ends", "cost_per_hour_usd", "projected_cost_usd"], columns);
    }
    let state = |row: &mut Row| {
        let start = match row.keys.get(&By::Window) {
            Some(Value::Time(start)) => *start,
            _ => return,
        };
        row.window = all.get(&start).map(|window| Box::new(WindowState::of(window, &row.sum, now)));
    };
    let running = all.values().find(|window| now.is_some_and(|now| window.is_active(now)));
    let mut report =
        divided(BLOCKS.name, "Cost by window of five hours", &view, &[By::Window], columns, state);
    let is_empty = view.ledger.charges.is_empty();
    let note = match (running, now) {
        (Some(window), Some(now)) => Some(running_note(&view, window, now)),
        (None, Some(now)) if windows == Windows::Active || windows == Windows::Recent && is_empty => {
            Some(idle_note(&all, now))
        }
        _ => None,
    };
    report.notes.splice(0..0, note);
    report
}

/// The ledger with the charges of some windows alone.
fn narrow(ledger: &Ledger, all: &BTreeMap<Time, Window>, windows: Windows, now: Time) -> Ledger {
    let starts: Vec<Time> = all.keys().copied().collect();
    let is_shown = |charge: &&Charge| {
        let start = charge.context.time.and_then(|time| start_of(&starts, time));
        start.and_then(|start| all.get(&start)).is_some_and(|window| window.is_shown(windows, now))
    };
    Ledger {
        input: ledger.input.clone(),
        sessions: ledger.sessions.clone(),
        charges: ledger.charges.iter().filter(is_shown).cloned().collect(),
        ..Ledger::default()
    }
}

/// The running window in a sentence.
fn running_note(view: &View<'_>, window: &Window, now: Time) -> Line {
    let is_in = |charge: &&Charge| {
        charge.context.time.is_some_and(|time| window.start <= time && time < window.start.plus(WINDOW))
    };
    let sum = Sum::of(view.ledger.charges.iter().filter(is_in));
    let state = WindowState::of(window, &sum, Some(now));
    let line = Line::new(Tone::Running).word("the window since ").value(window.start).word(" is running: ");
    let line = match sum.cost {
        Some(cost) => line.value(cost),
        None => line.value(sum.all_tokens()).word(" tokens"),
    };
    let Some(Running { remaining, rate }) = state.running else { return line };
    let line = line.word(" so far, ").value(remaining).word(" left");
    match rate {
        Some((BurnRate { cost: Some(_), .. }, end)) => {
            line.word("; about ").value(end.cost).word(" at its end if it goes on like this (an estimate)")
        }
        Some((_, end)) => line
            .word("; about ")
            .value(end.tokens)
            .word(" tokens at its end if it goes on like this (an estimate)"),
        None => line.word("; one response is not enough to estimate its end"),
    }
}

/// No window is running: when the last one ended.
fn idle_note(all: &BTreeMap<Time, Window>, now: Time) -> Line {
    let line = Line::new(Tone::Plain).word("no window is running");
    match all.range(..=now).next_back().map(|(_, window)| window) {
        Some(window) => line
            .word(": the last response was at ")
            .value(window.last)
            .word(", and its window ended at ")
            .value(window.start.plus(WINDOW)),
        None => line.word(": no response has a time"),
    }
}
