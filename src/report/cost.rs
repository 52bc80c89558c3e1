//! Tokens and cost, grouped by day, project, model, tool, agent and more.

mod by;
pub(super) mod chart;
pub(super) mod window;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

pub use by::By;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{
    Column, CommandGroup, CommandSpec, Line, Preset, Report, ReportSpec, Shown, Table, Text, Tone, Unit,
    Value, View,
    column::{columns, shown_as},
    filter::server_of,
    heads,
    prompts::PromptIds,
    sessions::cost_notes,
    spec::PERIOD,
    sum::{HasCost, Sum, cost_columns, has, share},
};
#[cfg(feature = "cli")]
use crate::facts::Detail;
use crate::{
    facts::{
        Name,
        ledger::{Charge, Response, SessionIndex, Timelines},
    },
    measure::{Time, Tokens, Usd, calendar},
};
use window::{WindowState, block_columns, start_of};
pub use window::{Windows, blocks};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(|view| cost(view, &[By::Day])),
    sample: &["cost", "--by", "project,model"],
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show tokens and cost by day, project, model, tool and more",
        details: "A session's cost is split over its responses in proportion to the price of their tokens, and by model as the \
            CLI reports. Cost that cannot be attributed is in a row without a name, so rows always add up to the total. A session with \
            several branches is divided by time: a response belongs to the branch of its own record. Work belongs to the \
            pull request that its session linked last; before the first link, to that one.",
        examples: &[
            (
                "Why last month was so expensive",
                "ccstat cost --since last-month --until last-month --by project,model",
            ),
            ("The cost of subagents", "ccstat cost --by agent ~/.claude/projects"),
            ("The cost of each pull request in the last 30 days", "ccstat cost --by pr --since 30d"),
            ("The most expensive prompts of this week", "ccstat cost --by prompt --since monday --limit 10"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "cost",
        "Tokens and cost, by day, project, session, prompt, model, tool, agent, branch, pull request and more.",
        || heads(&columns(&By::ALL)),
    )
};
/// `cost --by prompt`, which shows the texts of prompts.
#[cfg(feature = "cli")]
pub(crate) const BY_PROMPT: ReportSpec = ReportSpec { content: Detail::EXCERPTS, ..SPEC };
pub(crate) const DAILY: ReportSpec = ReportSpec {
    keeps: PERIOD,
    make: Some(daily),
    ccusage: Some(Preset::Daily),
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show tokens and cost by day",
        details: "The same as `cost --by day`.",
        examples: &[
            ("The last week, day by day", "ccstat daily --since 7d"),
            (
                "Days of a project, in another time zone",
                "ccstat daily --project my-app --timezone America/New_York",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("daily", "Tokens and cost by day.", || heads(&columns(&[By::Day])))
};
pub(crate) const WEEKLY: ReportSpec = ReportSpec {
    keeps: PERIOD,
    make: Some(weekly),
    ccusage: Some(Preset::Weekly),
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show tokens and cost by week",
        details: "The same as `cost --by week`: weeks begin on Monday.",
        examples: &[("Week by week", "ccstat weekly"), ("For a spreadsheet", "ccstat weekly --format csv")],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("weekly", "Tokens and cost by week.", || heads(&columns(&[By::Week])))
};
pub(crate) const MONTHLY: ReportSpec = ReportSpec {
    keeps: PERIOD,
    make: Some(monthly),
    ccusage: Some(Preset::Monthly),
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show tokens and cost by month",
        details: "The same as `cost --by month`.",
        examples: &[("Month by month", "ccstat monthly"), ("One model only", "ccstat monthly --model opus")],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("monthly", "Tokens and cost by month.", || heads(&columns(&[By::Month])))
};
pub(crate) const BLOCKS: ReportSpec = ReportSpec {
    keeps: PERIOD,
    make: Some(|view| blocks(view, Windows::All, None)),
    ccusage: Some(Preset::Blocks),
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Show tokens and cost by window of five hours",
        details: "The same as `cost --by window`: a window starts at the full hour of its first response and lasts five \
            hours, like the limits of subscriptions.",
        examples: &[
            ("Today's windows, as they fill", "ccstat blocks --since today --follow"),
            ("How the running window goes on", "ccstat blocks --active"),
            ("The most expensive ones", "ccstat blocks --sort cost_usd --limit 5"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("blocks", "Tokens and cost by window of five hours.", || heads(&block_columns()))
};

#[derive(Default)]
struct Row {
    keys: BTreeMap<By, Value>,
    /// First line of the prompt, if grouped by prompt.
    prompt_text: Value,
    sum: Sum,
    sessions: BTreeSet<SessionIndex>,
    models: BTreeSet<Name>,
    last_session: Option<SessionIndex>,
    last_model: Option<Name>,
    whole: Option<Usd>,
    /// The largest cost of a row.
    largest: Option<Usd>,
    /// The state of its window, in a report of windows.
    window: Option<Box<WindowState>>,
}

has! { HasCost for Row: sum -> Sum }

impl Row {
    /// Whether there is nothing to show: no responses, no tokens, no cost.
    fn is_nothing(&self) -> bool {
        let Sum { tokens, cost, responses, .. } = &self.sum;
        *responses == 0 && *tokens == Tokens::default() && cost.unwrap_or_default() == Usd::ZERO
    }

    fn bar(&self) -> Value {
        match (self.largest, share(self.sum.cost, self.largest)) {
            (None, _) => Value::Missing,
            (_, Some(part)) if part > 0.0 => Value::Bar(0.0, part),
            _ => "".into(),
        }
    }

    /// Marks the row with the largest cost.
    fn mark(&self) -> Option<&'static str> {
        self.largest.map(|largest| if self.sum.cost == Some(largest) { "max" } else { "" })
    }

    fn add(&mut self, charge: &Charge) {
        self.sum.add(charge);
        // Charges of one session and one model follow each other.
        if (self.last_session, &self.last_model) == (charge.context.session, &charge.model) {
            return;
        }
        (self.last_session, self.last_model) = (charge.context.session, charge.model.clone());
        self.sessions.extend(charge.context.session);
        self.models.extend(charge.model.clone());
    }
}

fn columns(by: &[By]) -> Vec<Column<Row>> {
    let is_series = matches!(by, [one] if one.is_time());
    let bars = if is_series { bar_columns() } else { Vec::new() };
    columns! { |row: Row|
        ..by.iter().map(|one| if by.len() > 1 { one.column().optional() } else { one.column() });
        ..by.contains(&By::Prompt).then(prompt_text_column);
        count sessions "Sessions" [no_sum, wide] "Sessions involved." => row.sessions.len() as u64;
        ..token_columns();
        share share "Share" [nullable, wide] "Share of the total cost." => share(row.sum.cost, row.whole);
        share cache_hit_rate "Cache hits" [nullable, wide] "Share of prompt tokens that were read from the cache."
            => row.sum.hit_rate();
        usd cache_saved_usd "Cache saved" [wide] "Amount saved by the cache: cost of the same prompts without a cache, minus their actual cost."
            => row.sum.saved;
        list models "Models" [data] "Models that were charged."
            => Value::List(row.models.iter().map(Value::text).collect());
        ..bars;
    }
}

/// Tokens and cost. On screen, cache writes are one column, so that they fit beside the others.
fn token_columns() -> Vec<Column<Row>> {
    let writes = ["cache_write_5m", "cache_write_1h"];
    let mut all = shown_as(Shown::Data, &writes, cost_columns());
    let at = all.iter().position(|column| column.head.key == writes[0]).unwrap_or(all.len());
    let both = columns! { |row: Row|
        count cache_write "Cache write" [screen] "Tokens written to the cache." => row.sum.tokens.cache_write();
    };
    all.splice(at..at, both);
    all
}

/// Columns of periods on screen: a bar for the cost, and a mark at the largest.
fn bar_columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        bar bar "" [nullable, screen] "Cost, relative to the largest row." => row.bar();
        text largest "" [screen] "`max` for the largest cost." => row.mark();
    }
}

/// Column for the text of prompts.
fn prompt_text_column() -> Column<Row> {
    let value = |row: &Row| row.prompt_text.clone();
    Column::new(Unit::Text, "prompt_text", "Prompt", "First line of the prompt.", value).content()
}

/// Tokens and cost, grouped by `by`.
pub fn cost(view: &View<'_>, by: &[By]) -> Report {
    divided(SPEC.name, "Cost", view, by, columns(by), |_| ())
}

fn daily(view: &View<'_>) -> Report {
    by_period(DAILY.name, "Cost by day", view, By::Day)
}

fn weekly(view: &View<'_>) -> Report {
    by_period(WEEKLY.name, "Cost by week", view, By::Week)
}

fn monthly(view: &View<'_>) -> Report {
    by_period(MONTHLY.name, "Cost by month", view, By::Month)
}

fn by_period(name: &'static str, title: &'static str, view: &View<'_>, by: By) -> Report {
    divided(name, title, view, &[by], columns(&[by]), |_| ())
}

/// Builds a table of these columns. `complete` adds to each row what its columns need.
fn divided(
    name: &'static str,
    title: &'static str,
    view: &View<'_>,
    by: &[By],
    mut columns: Vec<Column<Row>>,
    complete: impl Fn(&mut Row),
) -> Report {
    let mut keys = Keys::new(view, by);
    let mut rows: HashMap<Key, Row, foldhash::fast::RandomState> = HashMap::default();
    let mut total = Row::default();
    for charge in &view.ledger.charges {
        let key = by.iter().map(|by| keys.of(*by, charge)).collect();
        rows.entry(key).or_default().add(charge);
        total.add(charge);
    }
    total.whole = total.sum.cost;
    let largest = rows.values().filter_map(|row| row.sum.cost).max().filter(|_| rows.len() > 1);
    let mut rows: Vec<(Key, Row)> = rows
        .into_iter()
        .filter(|(key, row)| !(row.is_nothing() && key.iter().any(Option::is_none)))
        .collect();
    rows.sort_unstable_by(|(one, _), (two, _)| one.cmp(two));
    let mut rows: Vec<Row> = rows
        .into_iter()
        .map(|(key, row)| {
            let prompt_text = keys.prompt_text(by, &key);
            let key = by.iter().zip(key).map(|(by, key)| (*by, shown(*by, key)));
            Row { keys: key.collect(), prompt_text, whole: total.whole, largest, ..row }
        })
        .collect();
    let is_series = by.first().is_some_and(|by| by.is_time());
    if is_series {
        rows.sort_by_key(|row| row.keys.get(&by[0]) == Some(&Value::Missing));
    } else {
        rows.sort_by_key(|row| std::cmp::Reverse(row.sum.cost));
    }
    rows.iter_mut().for_each(complete);
    columns.iter_mut().for_each(|column| column.head.optional = false);
    if view.ledger.has_content {
        // People read the text of a prompt instead of its id.
        columns = shown_as(Shown::Data, &[By::Prompt.name()], columns);
    }
    let notes = unattributed(&rows, by).chain(cost_notes(view.ledger)).collect();
    let table = Table::of(title, &columns, &rows).with_total(&columns, &total).on_screen(50);
    let table = if is_series { table.keeping_last() } else { table };
    Report::of(name, table, notes).with_charts(chart::charts(view, by))
}

/// One part for each thing that cost is divided by; `None` if it is not known.
type Key = SmallVec<[Option<Text>; 2]>;

fn shown(by: By, key: Option<Text>) -> Value {
    match (by, key) {
        (_, None) => Value::Missing,
        (By::Window, Some(key)) => Time::parse(&key).into(),
        (_, Some(key)) => Value::Text(key),
    }
}

/// Notes about cost that cannot be attributed, one per grouping.
fn unattributed<'a>(rows: &'a [Row], by: &'a [By]) -> impl Iterator<Item = Line> + 'a {
    by.iter().filter_map(move |by| {
        let without = rows.iter().filter(|row| row.keys.get(by) == Some(&Value::Missing));
        let amount: Usd = without.filter_map(|row| row.sum.cost).sum();
        (amount != Usd::ZERO).then(|| Line::new(Tone::Plain).value(amount).word(by.unknown()))
    })
}

/// Computes the grouping keys of charges.
struct Keys<'a> {
    view: &'a View<'a>,
    /// Starts of windows, if grouped by window.
    windows: Vec<Time>,
    /// Cache of the last period and its name, since charges of one period are adjacent.
    last: BTreeMap<By, (Range<Time>, Option<Text>)>,
    /// Ids of prompts, if grouped by prompt.
    prompts: Option<PromptIds<'a>>,
    /// Pull requests of sessions by time.
    pull_requests: Timelines,
}

impl<'a> Keys<'a> {
    fn new(view: &'a View<'a>, by: &[By]) -> Self {
        let times = || view.ledger.charges.iter().filter_map(|charge| charge.context.time).collect();
        let windows = if by.contains(&By::Window) { calendar::window_starts(times()) } else { Vec::new() };
        let prompts = by.contains(&By::Prompt).then(|| PromptIds::of(view));
        let pull_requests = view.ledger.pull_request_times();
        Self { view, windows, last: BTreeMap::new(), prompts, pull_requests }
    }

    /// The text of the prompt in a key, if grouped by prompt and kept.
    fn prompt_text(&self, by: &[By], key: &Key) -> Value {
        let at = by.iter().position(|by| *by == By::Prompt);
        let id = at.and_then(|at| key[at].as_ref());
        self.prompts.as_ref().zip(id).map_or(Value::Missing, |(prompts, id)| prompts.text(id))
    }

    fn of(&mut self, by: By, charge: &Charge) -> Option<Text> {
        let own = |value: Value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        };
        match by {
            By::Day | By::Week | By::Month | By::Hour | By::Window => self.period(by, charge.context.time?),
            By::Project => own(self.view.project(&charge.context)),
            By::Machine => self.view.session(&charge.context)?.machine.as_ref().map(Text::from),
            By::Session => own(self.view.session_id(&charge.context)),
            By::Prompt => self.prompts.as_ref().and_then(|prompts| prompts.find(&charge.context)),
            By::Model => charge.model.as_ref().map(Text::from),
            By::Tool => charge.tool.as_ref().map(Text::from),
            By::Agent => charge.response.and_then(|_| own(self.view.agent_text(&charge.context))),
            By::Branch => charge.context.branch.as_ref().map(Text::from),
            By::Pr => self.pull_requests.at(&charge.context).map(Text::from),
            By::Skill => self.response(charge)?.more().skill.as_ref().map(Text::from),
            By::McpServer => server_of(charge, self.response(charge)).map(Text::from),
            By::Effort => self.response(charge)?.more().effort.as_ref().map(Text::from),
            By::Workflow => self.view.ledger.workflow(&charge.context).map(Text::from),
            By::Version => {
                let session = self.view.session(&charge.context).and_then(|session| session.version.as_ref());
                charge.context.version.as_ref().or(session).map(Text::from)
            }
        }
    }

    fn response(&self, charge: &Charge) -> Option<&'a Response> {
        charge.response.map(|at| &self.view.ledger.responses[at])
    }

    /// The name of the period that a time is in.
    fn period(&mut self, by: By, time: Time) -> Option<Text> {
        if let Some((range, name)) = self.last.get(&by)
            && range.contains(&time)
        {
            return name.clone();
        }
        let zone = self.view.zone;
        let (range, name) = match by {
            By::Day => (zone.same_day(time), zone.day(time)),
            By::Week => (zone.same_day(time), zone.week(time)),
            By::Month => (zone.same_day(time), zone.month(time)),
            By::Hour => (zone.same_hour(time), zone.hour(time)),
            _ => {
                let start = start_of(&self.windows, time)?;
                let after = self.windows.partition_point(|&start| start <= time);
                let end = self.windows.get(after).copied().unwrap_or(Time::from_micros(i64::MAX));
                (start..end, Some(start.to_string()))
            }
        };
        let name = name.map(Text::from);
        self.last.insert(by, (range, name.clone()));
        name
    }
}
