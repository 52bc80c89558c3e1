//! The interface of the library: name logs, get the summary or a report, write it in any format.

mod stream;
mod table;

use std::{
    fmt,
    io::{self, Read, Write},
    ops::Deref,
    path::PathBuf,
    sync::Mutex,
};

pub use stream::Stream;
pub use table::{Cell, Column, Report, Row};

use crate::{
    error::Error,
    event::Event,
    facts::{Account, Detail, Facts, Name, ledger::Ledger},
    input::{self, Environment, Limits, Place, Roots, Search, Source},
    measure::{
        Prices,
        calendar::{self, Zone},
    },
    render::{self, Format, Style},
    report::{self, Filter, Names, Pattern, ReportSpec, View},
    scan::{self, Observer, Options, Progress, Unread},
};

/// Logs to read, and which of their rows count.
///
/// Nothing is read before [`summary`](Self::summary) or [`report`](Self::report) is called. Broken records are counted and never
/// an error; sources that cannot be read are listed in the result.
///
/// ```
/// # fn main() -> Result<(), ccstat::Error> {
/// let summary = ccstat::Logs::paths(["testdata/logs"]).since("2026-01-01").summary()?;
/// println!("{} sessions, {} denied calls", summary.sessions, summary.denials.total);
/// # Ok(())
/// # }
/// ```
pub struct Logs {
    from: From,
    threads: usize,
    max_record: usize,
    since: Option<String>,
    until: Option<String>,
    time_zone: Option<String>,
    projects: Vec<String>,
    machines: Vec<String>,
    models: Vec<String>,
    sessions: Vec<String>,
    tools: Vec<String>,
    prices: Prices,
}

/// The source of the records.
enum From {
    Files(Roots),
    Reader(Box<dyn Read + Send>),
}

impl Logs {
    /// Reads files, folders (with everything below them) and patterns such as `logs/*.jsonl`. `-` is standard
    /// input.
    pub fn paths<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self::from(From::Files(Roots::Paths(paths.into_iter().map(Into::into).collect())))
    }

    /// Reads the sessions that Claude Code saved for this user, where the program looks for them: below
    /// `CLAUDE_CONFIG_DIR` if it is set, else below the home folder.
    #[expect(clippy::disallowed_methods, reason = "the caller asks for what the environment names")]
    pub fn saved_sessions() -> Self {
        let config_dir = std::env::var("CLAUDE_CONFIG_DIR").ok().filter(|value| !value.is_empty());
        let environment = Environment { config_dir, home: std::env::home_dir() };
        Self::from(From::Files(Roots::SavedSessions(environment)))
    }

    /// Reads one stream to its end, compressed or not.
    pub fn reader(reader: impl Read + Send + 'static) -> Self {
        Self::from(From::Reader(Box::new(reader)))
    }

    fn from(from: From) -> Self {
        Self {
            from,
            threads: 0,
            max_record: Limits::default().max_record,
            since: None,
            until: None,
            time_zone: None,
            projects: Vec::new(),
            machines: Vec::new(),
            models: Vec::new(),
            sessions: Vec::new(),
            tools: Vec::new(),
            prices: Prices::built_in(),
        }
    }

    /// Reads with this many threads; 0, the default, is one per processor. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Counts a record larger than this many bytes as invalid. The default is 64 MiB.
    #[must_use]
    pub fn max_record(mut self, bytes: usize) -> Self {
        self.max_record = bytes;
        self
    }

    /// Counts only what happened at this time or later: `7d`, `monday`, `2026-06`, `2026-06-01T12:00:00Z` and
    /// so on.
    #[must_use]
    pub fn since(mut self, time: impl Into<String>) -> Self {
        self.since = Some(time.into());
        self
    }

    /// Counts only what happened before this time, or before the end of this day, week or month.
    #[must_use]
    pub fn until(mut self, time: impl Into<String>) -> Self {
        self.until = Some(time.into());
        self
    }

    /// Takes days, and times without an offset, in this zone: `Europe/Berlin`, `+02:00`, `UTC`. The default
    /// is the zone of the machine.
    #[must_use]
    pub fn time_zone(mut self, zone: impl Into<String>) -> Self {
        self.time_zone = Some(zone.into());
        self
    }

    /// Counts only projects with this in the path of their folder; `*` and `?` match anything. Several calls
    /// add up.
    #[must_use]
    pub fn project(mut self, pattern: impl Into<String>) -> Self {
        self.projects.push(pattern.into());
        self
    }

    /// Counts only sessions that were archived on this machine; `*` and `?` match anything. Several calls add up.
    #[must_use]
    pub fn machine(mut self, pattern: impl Into<String>) -> Self {
        self.machines.push(pattern.into());
        self
    }

    /// Counts only models with this in their name; `*` and `?` match anything. Several calls add up.
    #[must_use]
    pub fn model(mut self, pattern: impl Into<String>) -> Self {
        self.models.push(pattern.into());
        self
    }

    /// Counts only sessions whose id begins with this. Several calls add up.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.sessions.push(id.into());
        self
    }

    /// Counts only calls of this tool; `*` and `?` match anything. Several calls add up.
    #[must_use]
    pub fn tool(mut self, pattern: impl Into<String>) -> Self {
        self.tools.push(pattern.into());
        self
    }

    /// Uses these prices before the built-in ones: JSON in the form of a pricing file of the program.
    pub fn prices(mut self, json: &str) -> Result<Self, Error> {
        self.prices = self.prices.with_file("prices", json)?;
        Ok(self)
    }

    /// Reads the logs and adds them up.
    pub fn summary(self) -> Result<Summary, Error> {
        let query = Query::new(&self)?;
        let detail = if query.filter.is_empty() { Detail::TOTALS } else { Detail::ROWS | Detail::RECORDS };
        let found = self.read(detail)?;
        if query.filter.is_empty() {
            let Found { facts, names, unreadable, .. } = found;
            return Ok(Summary { account: facts.settle(&query.prices), names, unreadable });
        }
        let (ledger, names, unreadable) = found.ledger(&query);
        Ok(Summary { account: ledger.account(), names, unreadable })
    }

    /// Reads the logs and makes the report of this name: one of [`report_names`].
    ///
    /// Reports whose command has arguments of its own are made without them: `cost` is by day, `show` is of
    /// the latest session that counts, `check` applies the default gates, and `suggestions` are exact rules.
    pub fn report(self, name: &str) -> Result<Report, Error> {
        let (spec, make) = made(name)?;
        let query = Query::new(&self)?;
        let (ledger, names, unreadable) = self.read(query.filter.detail(spec.keeps))?.ledger(&query);
        let report = make(&View { ledger: &ledger, names: Names(&names), zone: &query.zone });
        Ok(Report::new(report.without_content().local(&query.zone), unreadable))
    }

    fn read(self, detail: Detail) -> Result<Found, Error> {
        let limits = Limits { max_record: self.max_record, ..Limits::default() };
        let options = Options { threads: self.threads, limits, detail, ..Options::default() };
        match self.from {
            From::Files(roots) => {
                let Search { sources, errors, .. } = input::find(&roots);
                let names: Vec<Name> = sources.iter().map(|source| source.name().into()).collect();
                let scan = scan::scan(&sources, &options, &Progress::default());
                let missing = errors.iter().map(|error| Unreadable { reason: error.to_string() });
                let unread = scan.unread.iter().map(|unread| Unreadable::new(unread, &names));
                let unreadable = missing.chain(unread).collect();
                Ok(Found { facts: scan.facts, sources, names, unreadable })
            }
            From::Reader(reader) => {
                let facts = Mutex::new(Facts::new(detail));
                let names = vec!["-".into()];
                let unread = scan::scan_stream(reader, &options, &facts, &mut Unwatched);
                let facts = facts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
                let unreadable = unread.iter().map(|unread| Unreadable::new(unread, &names)).collect();
                Ok(Found { facts, sources: Vec::new(), names, unreadable })
            }
        }
    }
}

/// Everything that was read.
struct Found {
    facts: Facts,
    /// Empty for a reader.
    sources: Vec<Source>,
    /// Names of the sources.
    names: Vec<Name>,
    unreadable: Vec<Unreadable>,
}

impl Found {
    /// The rows that match the filter.
    fn ledger(self, query: &Query) -> (Ledger, Vec<Name>, Vec<Unreadable>) {
        let Self { facts, sources, names, unreadable } = self;
        let mut ledger = facts.ledger(&query.prices);
        ledger.name_machines(scan::machines(&sources));
        query.filter.select(&mut ledger, Names(&names));
        (ledger, names, unreadable)
    }
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from: &dyn fmt::Debug = match &self.from {
            From::Files(roots) => roots,
            From::Reader(_) => &"reader",
        };
        f.debug_struct("Logs").field("from", from).finish_non_exhaustive()
    }
}

/// The names that [`Logs::report`] takes.
pub fn report_names() -> impl Iterator<Item = &'static str> {
    report::REPORTS.iter().filter(|spec| spec.make.is_some()).map(|spec| spec.name)
}

/// Makes a report of rows.
type Make = fn(&View<'_>) -> report::Report;

/// The report of this name, and how it is made.
fn made(name: &str) -> Result<(&'static ReportSpec, Make), Error> {
    let known = ReportSpec::named(name).and_then(|spec| Some((spec, spec.make?)));
    known.ok_or_else(|| {
        let names: Vec<&str> = report_names().collect();
        Error::Usage(format!("no report `{name}`; there are {}", names.join(", ")))
    })
}

/// Filters, zone and prices, parsed.
struct Query {
    filter: Filter,
    zone: Zone,
    prices: Prices,
}

impl Query {
    fn new(logs: &Logs) -> Result<Self, Error> {
        let zone = Zone::named_or_system(logs.time_zone.as_deref());
        let zone = zone.map_err(Error::Usage)?;
        let now = calendar::now();
        let time = |text: &Option<String>, is_end| {
            text.as_deref().map(|text| zone.parse_time(text, now, is_end)).transpose().map_err(Error::Usage)
        };
        let patterns = |texts: &[String]| -> Result<Vec<Pattern>, Error> {
            texts.iter().map(|text| Pattern::new(text).map_err(Error::Usage)).collect()
        };
        let filter = Filter {
            since: time(&logs.since, false)?,
            until: time(&logs.until, true)?,
            projects: patterns(&logs.projects)?,
            machines: patterns(&logs.machines)?,
            models: patterns(&logs.models)?,
            sessions: patterns(&logs.sessions)?,
            tools: patterns(&logs.tools)?,
            ..Filter::default()
        };
        Ok(Self { filter, zone, prices: logs.prices.clone() })
    }
}

/// Nobody watches the records of a reader.
struct Unwatched;

impl Observer for Unwatched {
    fn record(&mut self, _place: Place, _event: &Event<'_>, _text: &[u8]) {}

    fn batch_end(&mut self) {}
}

/// A source that could not be read, or not to its end. Everything before the error is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// Which one and why, in one sentence.
    pub reason: String,
}

impl Unreadable {
    fn new(unread: &Unread, names: &[Name]) -> Self {
        Self { reason: unread.describe(Names(names).get(unread.source)) }
    }
}

/// Every figure of the logs. It dereferences to [`Account`], which holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    account: Account,
    names: Vec<Name>,
    unreadable: Vec<Unreadable>,
}

impl Summary {
    /// Sources that could not be read, or not to their end.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// Writes it. Tables are not limited in width and have no colours.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        let report = report::summary(&self.account, Names(&self.names));
        render::render(&report, format, Style::default(), out)
    }
}

impl Deref for Summary {
    type Target = Account;

    fn deref(&self) -> &Account {
        &self.account
    }
}
