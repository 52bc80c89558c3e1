//! `doctor`: where logs are looked for, what they cover, and what ccstat does not know about them.

use super::{
    Column, CommandGroup, CommandSpec, Data,
    Key::{self, List, Maybe, Object, One},
    Line, Reader, Report, ReportSpec, Section, Table, Tone, Unit, Value,
    column::columns,
    spec::object,
};
use crate::{
    facts::{Account, Detail},
    measure::{Time, calendar::Zone},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::TOTALS,
    command: Some(CommandSpec {
        group: CommandGroup::Programs,
        about: "Check which logs are found, and what is unknown about them",
        details: "Lists the places where logs are looked for, and the archive if the configuration names one (`to` of `archive`), how \
            far back they reach, when Claude Code will delete the oldest \
            ones (`cleanupPeriodDays` in its settings, else 30 days), models without a price, unknown kinds of records, \
            invalid lines, CLI versions, and the configuration files in effect. Reads files only, and uses no network.",
        examples: &[
            ("Why a session is missing", "ccstat doctor"),
            ("Which models of old runs have no price", "ccstat doctor runs/ --json"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::tree(
        "doctor",
        "Check of the machine: places of logs, time covered, deletion, unpriced models, unknown kinds, configuration.",
        KEYS,
    )
};

/// Logs and settings that were found on the machine.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The places where logs are looked for.
    pub places: Vec<Place>,
    /// When Claude Code deletes saved sessions; `None` for other logs.
    pub retention: Option<Retention>,
    /// Models in the logs that have no price.
    pub unpriced: Vec<String>,
    /// Kind of standard input: `pipe or file`, `terminal` or `device`.
    pub stdin: &'static str,
    /// Configuration files in effect.
    pub configuration: Vec<String>,
}

/// A place where logs are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its path.
    pub path: String,
    /// Whether it exists.
    pub exists: bool,
    /// Number of logs in it.
    pub files: u64,
    /// Their size on disk.
    pub bytes: u64,
    /// Whether it is an archive.
    pub is_archive: bool,
    /// Earliest time in their first records.
    pub first: Option<Time>,
}

/// When saved sessions are deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Days after the last change of a log.
    pub days: u64,
    /// The settings file that says so; `None` for the default of the CLI.
    pub settings: Option<String>,
    /// Last change of the oldest log.
    pub oldest: Option<Time>,
    /// When that log is deleted, at the next start of the CLI.
    pub next: Option<Time>,
    /// Number of logs that will be deleted at the next start.
    pub due: u64,
}

const COUNT: Key = One(Unit::Count);
const TEXT: Key = One(Unit::Text);
const TIME: Key = Maybe(&One(Unit::Time));

/// The findings, with the totals of the logs.
struct Checkup<'a> {
    found: &'a Findings,
    account: &'a Account,
    /// Days from the first to the last record.
    days: Option<u64>,
}

object! { KEYS, all(all: &Checkup<'_>)
    places: "Places where logs are looked for.", List(&Object(PLACE)) =>
        Value::List(all.found.places.iter().map(|one| place(one).into()).collect());
    logs: "Logs that were read.", Object(LOGS) => logs(all);
    retention: "When Claude Code deletes saved sessions; null keys for other logs.", Object(RETENTION) =>
        retention(all.found.retention.as_ref());
    unpriced_models: "Models in the logs that have no price.", List(&TEXT) => list(&all.found.unpriced);
    unknown_kinds: "Kinds of records that ccstat does not know.", List(&TEXT) => list(all.account.unknown_kinds.keys());
    unknown_blocks: "Kinds of blocks that ccstat does not know.", List(&TEXT) =>
        list(all.account.unknown_blocks.keys());
    versions: "CLI versions that wrote the logs.", List(&TEXT) => list(&all.account.versions);
    stdin: "Standard input: `pipe or file`, `terminal` or `device`.", TEXT => all.found.stdin;
    configuration: "Configuration files in effect.", List(&TEXT) => list(&all.found.configuration);
}

object! { PLACE, place(place: &Place)
    path: "Path.", TEXT => &*place.path;
    exists: "Whether it exists.", One(Unit::Flag) => place.exists;
    files: "Logs in it.", COUNT => place.files;
    bytes: "Their size on disk.", One(Unit::Bytes) => Value::Bytes(place.bytes);
    archive: "Whether it is an archive.", One(Unit::Flag) => place.is_archive;
    first: "How far back they reach: the earliest time in their first records.", TIME => place.first;
}

object! { LOGS, logs(all: &Checkup<'_>)
    sources: "Files and streams.", COUNT => all.account.input.sources;
    bytes: "Bytes after decompression.", One(Unit::Bytes) => Value::Bytes(all.account.input.bytes);
    records: "JSON objects with a `type`.", COUNT => all.account.input.records;
    invalid: "Lines and values that are not records.", COUNT => all.account.input.invalid;
    truncated: "Sources that end inside a record.", COUNT => all.account.input.truncated;
    sessions: "Sessions.", COUNT => all.account.sessions;
    first: "Earliest time in a record.", TIME => all.account.duration.first;
    last: "Latest time in a record.", TIME => all.account.duration.last;
    days: "Days from the first to the last record.", Maybe(&COUNT) => all.days;
}

object! { RETENTION, retention(retention: Option<&Retention>)
    days: "Days after the last change of a log.", Maybe(&COUNT) => retention.map(|one| one.days);
    settings: "Settings file that says so; null for the default of the CLI.", Maybe(&TEXT) =>
        retention.and_then(|one| one.settings.as_deref());
    oldest: "Last change of the oldest log.", TIME => retention.and_then(|one| one.oldest);
    next_deletion: "Time from which the CLI deletes that log.", TIME => retention.and_then(|one| one.next);
    due: "Logs that the CLI deletes when it starts next.", Maybe(&COUNT) => retention.map(|one| one.due);
}

fn list(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Value {
    Value::List(texts.into_iter().map(|text| Value::text(text.as_ref())).collect())
}

fn place_columns() -> Vec<Column<Place>> {
    columns! { |row: Place|
        text path "Place" "Path." => &row.path;
        text state "State" "Whether it exists." => match (row.exists, row.is_archive) {
            (false, _) => "does not exist",
            (true, false) => "exists",
            (true, true) => "archive",
        };
        count files "Logs" "Logs in it." => row.files;
        bytes bytes "Size" "Their size on disk." => row.bytes;
        time first "Since" "Earliest time in their first records." => row.first;
    }
}

/// Builds the report.
pub fn doctor(found: &Findings, account: &Account, zone: &Zone) -> Report {
    let span = account.duration.first.zip(account.duration.last);
    let days = span.map(|(first, last)| {
        zone.days(&(first..Time::from_micros(last.micros().saturating_add(1)))).len() as u64
    });
    let all = Checkup { found, account, days };
    let lines = attention(&all);
    let mut screen = vec![Section::Verdict(verdict(&all))];
    if !lines.is_empty() {
        screen.push(Section::Attention(lines));
    }
    screen.push(Section::Table(Table::of("Places of logs", &place_columns(), &found.places)));
    Report {
        name: SPEC.name,
        data: Data::Tree(self::all(&all)),
        notes: notes(&all),
        verdicts: Vec::new(),
        run_outcomes: Vec::new(),
        screen,
        reader: Reader::default(),
    }
}

/// The headline: how much was found, and for how many days.
fn verdict(all: &Checkup<'_>) -> Line {
    let account = all.account;
    if account.input.records == 0 {
        return Line::new(Tone::Bad).word("No logs were found");
    }
    let line = Line::new(Tone::Good).count(account.sessions, " session", " sessions").word(" in ");
    let line = line.count(account.input.sources, " log", " logs");
    match (account.duration.first.zip(account.duration.last), all.days) {
        (Some((first, last)), Some(days)) => {
            let line = line.word(" · ").count(days, " day", " days").word(", from ");
            line.value(first).word(" to ").value(last)
        }
        _ => line.word(" · without times"),
    }
}

fn attention(all: &Checkup<'_>) -> Vec<Line> {
    let Checkup { found, account, .. } = all;
    let mut lines = Vec::new();
    let mut named = |what: &'static str, names: Value, after: &'static str| {
        if names != Value::List(Vec::new()) {
            lines.push(Line::new(Tone::Warning).word(what).value(names).words(after));
        }
    };
    named("no price for ", list(&found.unpriced), ": add a price with {a price file}");
    named(
        "unknown kinds of records: ",
        list(account.unknown_kinds.keys()),
        "; they are counted (see `{kinds}`)",
    );
    named(
        "unknown kinds of blocks: ",
        list(account.unknown_blocks.keys()),
        "; they are counted (see `{kinds}`)",
    );
    if account.input.invalid + account.input.truncated > 0 {
        let line = Line::new(Tone::Warning).count(account.input.invalid, " invalid line", " invalid lines");
        let line = line.word(", ").count(account.input.truncated, " cut off log", " cut off logs");
        lines.push(line.words(" (see `{summarize}`)"));
    }
    if let Some(due) = found.retention.as_ref().map(|one| one.due).filter(|due| *due > 0) {
        let line = Line::new(Tone::Warning).word("Claude Code deletes ").count(due, " log", " logs");
        lines.push(line.words(" when it starts next: keep them with `{an archive}`"));
    }
    lines
}

/// How far back logs and archives reach.
fn reach(found: &Findings) -> Option<Line> {
    let first = |is_archive: bool| {
        let places = found.places.iter().filter(|place| place.is_archive == is_archive);
        places.filter_map(|place| place.first).min()
    };
    let line = Line::new(Tone::Plain);
    match (first(false), first(true)) {
        (Some(logs), Some(archive)) => {
            Some(line.word("logs reach back to ").value(logs).word(", the archive to ").value(archive))
        }
        (None, Some(archive)) => Some(line.word("the archive reaches back to ").value(archive)),
        (Some(logs), None) => {
            let line = line.word("logs reach back to ").value(logs);
            Some(if found.retention.is_some() {
                line.words("; `{an archive}` keeps them for longer")
            } else {
                line
            })
        }
        (None, None) => None,
    }
}

fn notes(all: &Checkup<'_>) -> Vec<Line> {
    let mut notes = Vec::new();
    if let Some(Retention { days, settings, next, .. }) = &all.found.retention {
        let line = Line::new(Tone::Plain).word("Claude Code deletes a session ");
        let line = line.count(*days, " day", " days").word(" after its last change (");
        let line = match settings {
            Some(path) => line.word("cleanupPeriodDays in ").value(&**path),
            None => line.word("the default; set cleanupPeriodDays in its settings.json"),
        };
        notes.push(match next {
            Some(next) => line.word("): the oldest from ").value(*next).word(" on"),
            None => line.word(")"),
        });
    }
    let line = |what: &'static str, values: Value| Line::new(Tone::Plain).word(what).value(values);
    if !all.account.versions.is_empty() {
        notes.push(line("CLI versions: ", list(&all.account.versions)));
    }
    notes.extend(reach(all.found));
    notes.push(match &all.found.configuration[..] {
        [] => Line::new(Tone::Plain).word("configuration files: none"),
        files => line("configuration files: ", list(files)),
    });
    notes.push(line("standard input: ", all.found.stdin.into()));
    notes
}
