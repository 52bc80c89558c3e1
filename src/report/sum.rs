//! Parts that rows of several reports share: sums of tokens and cost, call counts, context and location.

use super::{Column, Line, Names, Shown, Text, Tone, Unit, Value, column::columns};
use crate::{
    facts::{
        Latencies, ToolCount,
        ledger::{Charge, Context, Ledger, Location, ResponseIndex, Session},
    },
    measure::{Millis, Tokens, Usd, add, calendar::Zone},
};

/// Input of a report: the filtered ledger, the names of the sources and the time zone.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The rows, after filtering.
    pub ledger: &'a Ledger,
    /// Names of the sources.
    pub names: Names<'a>,
    /// Time zone in which days begin and times are shown.
    pub zone: &'a Zone,
}

impl<'a> View<'a> {
    pub(super) fn session(&self, context: &Context) -> Option<&'a Session> {
        self.ledger.session(context)
    }

    /// Whether a row is from a lean log of an archive, which has no content.
    pub(super) fn is_lean(&self, context: &Context) -> bool {
        let Some(Location { source, .. }) = context.location else { return false };
        let sources = &self.ledger.sources;
        sources.binary_search_by_key(&source, |one| one.id).is_ok_and(|at| sources[at].lean)
    }

    /// Says that some logs have no content, for reports that exist to show it.
    pub(super) fn lean_note(&self) -> Option<Line> {
        let lean = self.ledger.sources.iter().filter(|source| source.lean).count() as u64;
        let line = Line::new(Tone::Warning).count(lean, " log is", " logs are");
        (lean > 0).then(|| line.word(" archived with --lean, which keeps no content"))
    }

    /// The title of each session: one that was written for it, else its last prompt, else its first one. All are
    /// missing unless content is kept.
    pub(super) fn titles(&self) -> Vec<Value> {
        let title = |session: &Session| text(session.title.as_ref().or(session.last_prompt.as_ref()));
        let mut titles: Vec<Value> = self.ledger.sessions.iter().map(title).collect();
        for prompt in &self.ledger.prompts {
            if let (Some(session), Some(words)) = (prompt.context.session, &prompt.text)
                && titles[session.get()] == Value::Missing
            {
                titles[session.get()] = Value::text(words);
            }
        }
        titles
    }

    pub(super) fn session_id(&self, context: &Context) -> Value {
        text(self.session(context).and_then(|session| session.id.as_ref()))
    }

    pub(super) fn project(&self, context: &Context) -> Value {
        text(self.session(context).and_then(|session| session.project.as_ref()))
    }

    /// `main`, or the type of the subagent.
    pub(super) fn agent(&self, context: &Context) -> &'a str {
        match context.agent.map(|agent| &self.ledger.agents[agent]) {
            None => MAIN,
            Some(agent) => agent.kind.as_deref().unwrap_or(SOME_AGENT),
        }
    }

    /// The same as a value, without copying the text.
    pub(super) fn agent_text(&self, context: &Context) -> Value {
        match context.agent.map(|agent| &self.ledger.agents[agent].kind) {
            None => Value::Text(arcstr::literal!(MAIN)),
            Some(None) => Value::Text(arcstr::literal!(SOME_AGENT)),
            Some(Some(kind)) => Value::text(kind),
        }
    }

    pub(super) fn source(&self, at: Option<Location>) -> Value {
        at.map_or(Value::Missing, |at| Value::Text(self.names.text(at.source)))
    }

    /// `file:line`.
    pub(super) fn place(&self, at: Option<Location>) -> Value {
        at.map(|at| format!("{}:{}", self.names.get(at.source), at.line)).into()
    }
}

/// Name of the main agent.
pub(super) const MAIN: &str = "main";

/// Name of a subagent whose type is not in the log.
pub(super) const SOME_AGENT: &str = "subagent";

/// A text, or [`Value::Missing`].
pub(super) fn text(words: Option<impl Into<Text>>) -> Value {
    words.map_or(Value::Missing, Value::text)
}

/// Tokens and cost of several charges.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) tokens: Tokens,
    pub(super) cost: Option<Usd>,
    pub(super) saved: Option<Usd>,
    pub(super) responses: u64,
    last: Option<ResponseIndex>,
}

impl Sum {
    /// Adds a charge. Charges of one response are adjacent, so the response is counted once.
    pub(super) fn add(&mut self, charge: &Charge) {
        self.tokens += charge.tokens;
        add(&mut self.cost, charge.cost);
        add(&mut self.saved, charge.saved);
        self.responses += charge.responses;
        if charge.response.is_some() && charge.response != self.last {
            self.responses += 1;
            self.last = charge.response;
        }
    }

    /// Tokens of prompts and of output.
    pub(super) fn all_tokens(&self) -> u64 {
        self.tokens.prompt().saturating_add(self.tokens.output)
    }

    pub(super) fn of<'e>(charges: impl IntoIterator<Item = &'e Charge>) -> Self {
        charges.into_iter().fold(Self::default(), |mut sum, charge| {
            sum.add(charge);
            sum
        })
    }

    /// Share of prompt tokens that were read from the cache.
    pub(super) fn hit_rate(&self) -> Option<f64> {
        ratio(self.tokens.cache_read, self.tokens.prompt())
    }
}

/// `part / whole`, or `None` if `whole` is zero.
#[expect(clippy::cast_precision_loss, reason = "a ratio is shown with a few digits")]
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `part / whole` of two amounts, or `None` if one is unknown or `whole` is zero.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with a few digits")]
pub(super) fn share(part: Option<Usd>, whole: Option<Usd>) -> Option<f64> {
    let (part, whole) = (part?.nanos(), whole?.nanos());
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// Implements a trait of rows with the fields of a row:
///
/// ```text
/// has! { HasCost for Row: sum -> Sum }
/// has! { HasLocation for Row: source, at }
/// ```
macro_rules! has {
    (HasLocation for $row:ty: $source:ident, $($location:ident).+) => {
        impl HasLocation for $row {
            fn source(&self) -> &Value {
                &self.$source
            }

            fn location(&self) -> Option<$crate::facts::ledger::Location> {
                self.$($location).+
            }
        }
    };
    ($trait:ident for $row:ty: $field:ident -> $ty:ty) => {
        impl $trait for $row {
            fn $field(&self) -> &$ty {
                &self.$field
            }
        }
    };
}
pub(super) use has;

/// Rows with tokens and cost.
pub(super) trait HasCost {
    fn sum(&self) -> &Sum;
}

/// Columns for tokens by type and their cost.
pub(super) fn cost_columns<R: HasCost>() -> Vec<Column<R>> {
    columns! { |row: R|
        count responses "Responses" [wide] "API responses." => row.sum().responses;
        count input "Input" "Input tokens that were not cached." => row.sum().tokens.input;
        count output "Output" "Output tokens." => row.sum().tokens.output;
        count cache_read "Cache read" "Tokens read from the cache." => row.sum().tokens.cache_read;
        count cache_write_5m "Write 5m" [wide] "Tokens written to the cache for five minutes."
            => row.sum().tokens.cache_write_5m;
        count cache_write_1h "Write 1h" [wide] "Tokens written to the cache for an hour."
            => row.sum().tokens.cache_write_1h;
        usd cost_usd "Cost" "Cost at API prices: reported by the CLI, otherwise computed from tokens." => row.sum().cost;
    }
}

/// Rows with tool calls.
pub(super) trait HasCalls {
    fn calls(&self) -> &ToolCount;
}

/// Columns that count calls by outcome.
pub(super) fn call_columns<R: HasCalls>() -> Vec<Column<R>> {
    columns! { |row: R|
        count calls "Calls" "Tool calls." => row.calls().calls;
        count ok "Ok" [wide] "Calls that succeeded." => row.calls().ok;
        count errors "Errors" "Calls that failed." => row.calls().errors;
        count denied "Denied" "Calls that were denied." => row.calls().denied;
        count open "Open" [wide] "Calls without a result in the log." => row.calls().open;
    }
}

/// One latency figure of a row.
pub(super) fn latency<R: HasCalls>(row: &R, of: fn(&Latencies) -> Millis) -> Value {
    row.calls().latency.as_ref().map(of).into()
}

/// Columns for latency percentiles and the maximum.
pub(super) fn latency_columns<R: HasCalls>() -> Vec<Column<R>> {
    columns! { |row: R|
        millis p50_ms "p50" [nullable, no_sum] "Median latency." => latency(row, |all| all.p50);
        millis p90_ms "p90" [nullable, no_sum, wide] "90th percentile of the latency."
            => latency(row, |all| all.p90);
        millis p99_ms "p99" [nullable, no_sum, wide] "99th percentile of the latency."
            => latency(row, |all| all.p99);
        millis max_ms "Max" [nullable, no_sum] "Longest latency." => latency(row, |all| all.max);
    }
}

/// Rows that point into a log.
pub(super) trait HasLocation {
    fn source(&self) -> &Value;
    fn location(&self) -> Option<Location>;
}

/// Agent, session and location of a row, as cells.
#[derive(Clone, Debug, Default)]
pub(super) struct RowContext {
    pub(super) agent: Value,
    pub(super) session: Value,
    pub(super) project: Value,
    pub(super) source: Value,
    pub(super) place: Value,
    pub(super) at: Option<Location>,
}

impl RowContext {
    pub(super) fn of(view: &View<'_>, context: &Context) -> Self {
        Self {
            agent: view.agent_text(context),
            session: view.session_id(context),
            project: view.project(context),
            source: view.source(context.location),
            place: view.place(context.location),
            at: context.location,
        }
    }
}

/// Rows with a [`RowContext`].
pub(super) trait HasContext {
    fn context(&self) -> &RowContext;
}

/// A fact with its context.
pub(super) struct Row<T> {
    pub(super) fact: T,
    pub(super) context: RowContext,
}

impl<T> HasContext for Row<T> {
    fn context(&self) -> &RowContext {
        &self.context
    }
}

impl<R: HasContext> HasLocation for R {
    fn source(&self) -> &Value {
        &self.context().source
    }
    fn location(&self) -> Option<Location> {
        self.context().at
    }
}

/// Column for the agent of a row.
pub(super) fn agent_column<R: HasContext>(about: &'static str) -> Column<R> {
    Column::new(Unit::Text, "agent", "Agent", about, |row: &R| row.context().agent.clone())
}

/// Columns for the session and project of a row, for programs.
pub(super) fn session_columns<R: HasContext>() -> Vec<Column<R>> {
    columns! { |row: R|
        text session "Session" [data] "Session id." => row.context().session.clone();
        text project "Project" [data] "Working directory of the session." => row.context().project.clone();
    }
}

/// Column for `file:line`, for people.
pub(super) fn place_column<R: HasContext>(about: &'static str) -> Column<R> {
    Column::new(Unit::Text, "place", "Location", about, |row: &R| row.context().place.clone())
        .shown(Shown::Screen)
}

/// Columns for source and line, for programs.
pub(super) fn place_columns<R: HasLocation>() -> Vec<Column<R>> {
    columns! { |row: R|
        text source "Source" [data] "Log that contains the record." => row.source().clone();
        count line "Line" [no_sum, nullable, data] "Line in the log, starting at 1." => row.location().map(|at| at.line);
    }
}
