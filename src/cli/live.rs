//! The live display: a line on standard error with the state of a run.

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

/// Options of the live display.
#[derive(Debug, Args)]
#[command(next_help_heading = "While it runs")]
pub struct Live {
    /// Show the state of the run on standard error: one updated line, or plain lines for a CI log
    ///
    /// Shows the elapsed time, the step, the running tool and for how long, and the calls, tokens and cost so
    /// far. Without this option, it is shown if standard error is a terminal that the stream is not written
    /// to. With it, the report has latencies measured by arrival, also for logs without times.
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub live: Option<LiveMode>,
    /// Do not show the state of the run
    #[arg(long, conflicts_with = "live", hide_short_help = true)]
    pub no_live: bool,
    /// Print a plain line this often, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, hide_short_help = true)]
    pub live_every: Duration,
}

/// Forms of the live display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LiveMode {
    /// One updated line on a terminal, else plain lines
    Auto,
    /// One updated line
    Line,
    /// A new line at each interval
    Plain,
}

impl Live {
    /// Whether something is displayed, by request or by default.
    pub(super) fn would_show(&self, stdout_is_used: bool) -> bool {
        self.mode(stdout_is_used).is_some()
    }

    fn mode(&self, stdout_is_used: bool) -> Option<LiveMode> {
        let terminal = io::stderr().is_terminal();
        // A stream written to the same terminal would overwrite the line.
        let free = !(stdout_is_used && io::stdout().is_terminal());
        match self.live {
            _ if self.no_live => None,
            Some(LiveMode::Auto) if terminal => Some(LiveMode::Line),
            Some(LiveMode::Auto) => Some(LiveMode::Plain),
            Some(mode) => Some(mode),
            None => (terminal && free).then_some(LiveMode::Line),
        }
    }

    /// Starts the display. `quiet` hides it unless `--live` was given.
    pub(super) fn start(&self, quiet: bool, stdout_is_used: bool) -> LiveDisplay {
        match self.mode(stdout_is_used) {
            _ if quiet && self.live.is_none() => LiveDisplay::Hidden,
            None => LiveDisplay::Hidden,
            Some(LiveMode::Plain) => LiveDisplay::Plain { every: self.live_every, last: Instant::now() },
            Some(LiveMode::Auto | LiveMode::Line) => LiveDisplay::Line(line()),
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

/// Shows the state of a run.
#[derive(Clone)]
pub(super) enum LiveDisplay {
    Hidden,
    Line(ProgressBar),
    Plain { every: Duration, last: Instant },
}

impl LiveDisplay {
    /// Whether something is shown.
    pub(super) fn is_visible(&self) -> bool {
        !matches!(self, Self::Hidden)
    }

    /// Shows this state.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        match self {
            Self::Hidden => {}
            Self::Line(bar) => {
                bar.set_message(snapshot.line());
                bar.tick();
            }
            Self::Plain { every, last } => {
                if last.elapsed() >= *every {
                    *last = Instant::now();
                    let _ = writeln!(anstream::stderr(), "ccstat: {}", snapshot.line());
                }
            }
        }
    }

    /// Clears the line while `write` writes to the same terminal.
    pub(super) fn suspended<R>(&self, write: impl FnOnce() -> R) -> R {
        match self {
            Self::Line(bar) => bar.suspend(write),
            Self::Hidden | Self::Plain { .. } => write(),
        }
    }

    /// Removes the line.
    pub(super) fn clear(&self) {
        if let Self::Line(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// The state of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    /// Time since the start.
    pub(super) elapsed: Millis,
    /// Time since the last input.
    pub(super) idle: Millis,
    /// Totals so far.
    pub(super) account: Account,
    /// Minimum cost of the responses that no result has billed yet.
    pub(super) unbilled: Option<Usd>,
    /// Number of responses of the main agent.
    pub(super) steps: u64,
    /// How many subagents were started, and how many of them run.
    pub(super) agents: (u64, u64),
    /// Calls without a result, and when they started.
    pub(super) running: Vec<(Name, Millis)>,
}

impl Snapshot {
    /// The state in one line.
    fn line(&self) -> String {
        let account = &self.account;
        let counted = |count: u64, one: &str, many: &str| {
            (count > 0)
                .then(|| format!("{} {}", human::value(&count.into()), if count == 1 { one } else { many }))
        };
        let tokens = account.tokens.prompt() + account.tokens.output;
        let parts = [
            Some(human::value(&self.elapsed.into())),
            (self.steps > 0).then(|| format!("step {}", self.steps)),
            Some(self.activity()),
            self.fan_out(),
            counted(account.tools.total.calls, "call", "calls"),
            counted(account.errors.tool, "error", "errors"),
            counted(account.denials.total, "denied", "denied"),
            (tokens > 0).then(|| format!("{} tokens", human::short_value(&Value::Count(tokens)))),
            self.cost(),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// The subagents, and how many of them run.
    pub(super) fn fan_out(&self) -> Option<String> {
        let (started, running) = self.agents;
        let count = |count: u64| human::value(&count.into());
        let all =
            if started == 1 { "1 subagent".to_owned() } else { format!("{} subagents", count(started)) };
        match (started, running) {
            (0, _) => None,
            (_, 0) => Some(all),
            _ => Some(format!("{all}, {} running", count(running))),
        }
    }

    /// The running calls, or how long nothing has arrived.
    fn activity(&self) -> String {
        let since = |since: Millis| human::value(&self.elapsed.saturating_sub(since).into());
        match &*self.running {
            [] => format!("waiting for {}", human::value(&self.idle.into())),
            [(tool, start)] => format!("{} for {}", human::text(tool), since(*start)),
            [(tool, start), more @ ..] => {
                format!("{} for {} and {} more", human::text(tool), since(*start), more.len())
            }
        }
    }

    /// The cost so far, or a lower bound of it.
    pub(super) fn minimum_cost(&self) -> Option<Usd> {
        let parts = [self.account.cost.total, self.unbilled];
        parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().sum())
    }

    fn cost(&self) -> Option<String> {
        let cost = human::value(&self.minimum_cost()?.into());
        Some(if self.account.cost.complete { cost } else { format!("at least {cost}") })
    }
}
