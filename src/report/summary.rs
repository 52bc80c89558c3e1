//! The `summarize` report: one object for programs, one screen for people.

use super::{
    Chart, CommandGroup, CommandSpec, Data, Line, Reader, Report, ReportSpec, RunOutcome, Section, Text,
    Tone, Value, View, figure,
};
use crate::{
    facts::{Account, Arrived, Detail, Input, Name, ledger::Ledger},
    input::SourceId,
    measure::Time,
};

mod keys;
mod notes;
mod screen;

pub(super) use screen::doubted;

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::TOTALS,
    content: Detail::EXCERPTS,
    is_gated: true,
    sample: &["summarize"],
    command: Some(CommandSpec {
        name: Some("summarize"),
        group: CommandGroup::Run,
        about: "Summarize runs: how they ended, what needs attention, cost",
        details: "Reads stream-json output, saved sessions, and logs of hosts and bridges, in any combination.",
        examples: &[
            (
                "A run, after it has ended",
                "claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize",
            ),
            ("The saved sessions of a project", "ccstat summarize ~/.claude/projects/my-project"),
            (
                "Text for the log of a job, and files for later",
                "ccstat summarize run.jsonl -o run.json -o run.md",
            ),
            ("A run in progress", "ccstat summarize --follow run.jsonl"),
            (
                "A step of a GitHub workflow, with the result as a test",
                "ccstat summarize run.jsonl --github -o run.xml",
            ),
        ],
        has_arguments: true,
    }),
    ..ReportSpec::tree(
        "summary",
        "Summary: how runs ended, what needs attention, tools, tokens, cost and kinds of records.",
        keys::KEYS,
    )
};

/// Names of the sources, indexed by [`SourceId`].
#[derive(Clone, Copy, Debug)]
pub struct Names<'a>(pub &'a [Name]);

impl<'a> Names<'a> {
    /// The name of a source; `-` for standard input.
    pub fn get(&self, source: SourceId) -> &'a str {
        self.0.get(source.0 as usize).map_or("-", |name| name)
    }

    /// The same, without copying the text.
    pub(super) fn text(&self, source: SourceId) -> Text {
        self.0.get(source.0 as usize).map_or(arcstr::literal!("-"), Text::from)
    }
}

/// Builds the summary.
pub fn summary(account: &Account, names: Names<'_>) -> Report {
    let data = keys::all(account, names);
    let (screen, notes) = (screen::screen(account, names), notes::notes(account));
    let run_outcomes =
        vec![RunOutcome { run: None, wall: account.duration.wall, failure: screen::failure(account) }];
    let (verdicts, reader) = (Vec::new(), Reader::default());
    Report { name: SPEC.name, data: Data::Tree(data), notes, verdicts, run_outcomes, screen, reader }
}

/// Adds charts, which need the rows.
#[must_use]
pub fn with_pictures(report: Report, view: &View<'_>) -> Report {
    report.with_charts(figure::overall(view).into_iter().map(Chart::page_only))
}

/// Says how much was read if reading was interrupted.
pub fn interrupted(input: &Input) -> Option<Line> {
    let total = input.interrupted?.total;
    let line = Line::new(Tone::Warning).word("Interrupted: ").value(Value::Bytes(input.bytes));
    // The total is the size on disk, which is too small for compressed files.
    let line = match total.filter(|total| *total >= input.bytes) {
        Some(total) => line.word(" of ").value(Value::Bytes(total)),
        None => line,
    };
    Some(line.word(" read"))
}

/// Lists every kind of record, not only those of logs with an unknown one.
#[must_use]
pub fn with_kinds(mut report: Report, account: &Account) -> Report {
    if account.unknown_kinds.is_empty() {
        report.screen.extend(screen::kinds(account).map(Section::Table));
    }
    report
}

/// Adds what a failed run said about its failure, if texts are kept.
#[must_use]
pub fn with_failure(mut report: Report, ledger: &Ledger) -> Report {
    let last = ledger.turns.iter().rfind(|turn| turn.counted).filter(|turn| !turn.ok);
    if let Some(words) = last.and_then(|turn| turn.failure.as_ref()) {
        let after = 1 + report.screen.iter().filter(|one| matches!(one, Section::About(_))).count();
        let line = Line::new(Tone::Plain).value(Value::text(words));
        report.screen.insert(after.min(report.screen.len()), Section::About(line));
    }
    report
}

/// Shows a run without a result as one that goes on.
#[must_use]
pub fn running(mut report: Report, account: &Account, now: Time) -> Report {
    if let Some(line) = screen::running(account, now)
        && let Some(Section::Verdict(verdict)) = report.screen.first_mut()
    {
        *verdict = line;
    }
    report
}

/// Adds what was measured while the stream arrived.
#[must_use]
pub fn arrived(mut report: Report, account: &Account, arrived: &Arrived) -> Report {
    if let Data::Tree(entries) = &mut report.data {
        entries
            .iter_mut()
            .filter(|(key, _)| key == "by_arrival")
            .for_each(|(_, value)| *value = keys::by_arrival(arrived).into());
    }
    // Not needed on screen if the log has times.
    let table = if account.duration.tool.is_none() { screen::arrived(arrived) } else { None };
    report.screen.extend(table.map(Section::Table));
    report
}
