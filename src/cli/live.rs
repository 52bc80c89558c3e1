//! A line on standard error that says what happens now, while a run goes on.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::{line, plan::parse_duration};
use crate::{
    facts::{Account, Name},
    measure::{Millis, Usd},
    render::human,
    report::Value,
};

/// Whether to say what happens while it happens.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub struct Live {
    /// Show what happens now, on standard error: a line that changes, or plain lines for a CI log
    ///
    /// Elapsed time, turns, what runs now and for how long, calls, tokens and cost so far. Without this it is shown if standard
    /// error is a terminal that the stream itself does not fill. The report then tells latencies by arrival too, which a
    /// log without times cannot.
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub live: Option<How>,
    /// Do not show what happens now
    #[arg(long, conflicts_with = "live")]
    pub no_live: bool,
    /// Print a plain line this often, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub live_every: Duration,
}

/// How to show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// As a line on a terminal, else plain
    Auto,
    /// As one line that changes
    Line,
    /// As a line every so often
    Plain,
}

impl Live {
    /// Whether it would be shown without being asked for, or is asked for.
    pub(super) fn would_show(&self, stdout_is_used: bool) -> bool {
        self.how(stdout_is_used).is_some()
    }

    fn how(&self, stdout_is_used: bool) -> Option<How> {
        let terminal = io::stderr().is_terminal();
        // A stream that scrolls over the same terminal would tear the line apart.
        let free = !(stdout_is_used && io::stdout().is_terminal());
        match self.live {
            _ if self.no_live => None,
            Some(How::Auto) if terminal => Some(How::Line),
            Some(How::Auto) => Some(How::Plain),
            Some(how) => Some(how),
            None => (terminal && free).then_some(How::Line),
        }
    }

    /// Starts to show it, unless nobody wants or nobody would see it.
    pub(super) fn start(&self, quiet: bool, stdout_is_used: bool) -> Show {
        match self.how(stdout_is_used) {
            _ if quiet && self.live.is_none() => Show::Nothing,
            None => Show::Nothing,
            Some(How::Plain) => Show::Plain { every: self.live_every, last: Instant::now() },
            Some(How::Auto | How::Line) => Show::Line(line()),
        }
    }
}

fn line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, line::target());
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// What shows it.
#[derive(Clone)]
pub(super) enum Show {
    Nothing,
    Line(ProgressBar),
    Plain { every: Duration, last: Instant },
}

impl Show {
    /// Whether anyone wants to know.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Shows how it is now.
    pub(super) fn show(&mut self, now: &Now) {
        match self {
            Self::Nothing => {}
            Self::Line(bar) => {
                bar.set_message(now.words());
                bar.tick();
            }
            Self::Plain { every, last } => {
                if last.elapsed() >= *every {
                    *last = Instant::now();
                    let _ = writeln!(anstream::stderr(), "ccstat: {}", now.words());
                }
            }
        }
    }

    /// Does something that writes to the same terminal.
    pub(super) fn around<R>(&self, write: impl FnOnce() -> R) -> R {
        match self {
            Self::Line(bar) => bar.suspend(write),
            Self::Nothing | Self::Plain { .. } => write(),
        }
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if let Self::Line(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// How it is now.
#[derive(Clone, Debug, Default)]
pub(super) struct Now {
    /// Since the start.
    pub(super) elapsed: Millis,
    /// Since the last record.
    pub(super) silence: Millis,
    /// What was counted so far.
    pub(super) account: Account,
    /// What responses cost at least that no figure holds yet.
    pub(super) unbilled: Option<Usd>,
    /// How often the main agent answered.
    pub(super) turns: u64,
    /// Calls without an answer, and since when they run.
    pub(super) running: Vec<(Name, Millis)>,
}

impl Now {
    /// In one line.
    fn words(&self) -> String {
        let account = &self.account;
        let counted = |count: u64, one: &str, many: &str| {
            (count > 0)
                .then(|| format!("{} {}", human::value(&count.into()), if count == 1 { one } else { many }))
        };
        let tokens = account.tokens.prompt() + account.tokens.output;
        let parts = [
            Some(human::value(&self.elapsed.into())),
            (self.turns > 0).then(|| format!("turn {}", self.turns)),
            Some(self.doing()),
            counted(account.tools.total.calls, "call", "calls"),
            counted(account.errors.tool, "error", "errors"),
            counted(account.denials.total, "denied", "denied"),
            (tokens > 0).then(|| format!("{} tokens", human::short_value(&Value::Count(tokens)))),
            self.cost(),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// What runs, and for how long.
    fn doing(&self) -> String {
        let since = |since: Millis| human::value(&self.elapsed.saturating_sub(since).into());
        match &*self.running {
            [] => format!("waiting for {}", human::value(&self.silence.into())),
            [(tool, start)] => format!("{} for {}", human::text(tool), since(*start)),
            [(tool, start), more @ ..] => {
                format!("{} for {} and {} more", human::text(tool), since(*start), more.len())
            }
        }
    }

    /// What it cost so far, or at least.
    pub(super) fn least(&self) -> Option<Usd> {
        let parts = [self.account.cost.total, self.unbilled];
        parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().sum())
    }

    fn cost(&self) -> Option<String> {
        let cost = human::value(&self.least()?.into());
        Some(if self.account.cost.complete { cost } else { format!("at least {cost}") })
    }
}
