//! Commands that write reports of rows: read, filter, make the report, write it.

use std::sync::Arc;

use super::{
    Reading, args, complain,
    hint::CommandHints,
    nothing_read,
    output::{Channel, Reports},
    plan,
    plan::Variables,
    print::Content,
    read, read_or_follow, status,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, Name, ledger::Ledger},
    input::{self, Roots},
    measure::{Prices, Time, calendar::Zone},
    render::Style,
    report::{
        self, Arrangement, Filter, Line, Names, Outcome, Report, ReportSpec, Tone, View, note_found_prices,
    },
    scan,
};

/// The report that a command writes, and what it needs.
pub(super) struct ReportRequest<'a> {
    pub(super) spec: &'static ReportSpec,
    /// The facts to keep for it.
    pub(super) detail: Detail,
    /// Count only sessions with these outcomes; all if empty.
    pub(super) outcomes: &'a [Outcome],
    /// Whether the filter on times applies. Without it, the report looks at times itself.
    pub(super) is_timed: bool,
    /// Makes the report.
    pub(super) make: &'a dyn Fn(&View<'_>) -> Report,
}

impl<'a> ReportRequest<'a> {
    /// A request with the detail that the spec asks for.
    pub(super) fn of(spec: &'static ReportSpec, make: &'a dyn Fn(&View<'_>) -> Report) -> Self {
        Self { spec, detail: spec.keeps, outcomes: &[], is_timed: true, make }
    }
}

/// The rows that are left after filters.
pub(super) struct Filtered {
    pub(super) ledger: Ledger,
    pub(super) names: Vec<Name>,
    pub(super) zone: Zone,
    pub(super) reading: Reading,
    /// Price files from a configuration file that was found automatically.
    found_prices: Vec<String>,
    /// There were sessions, but none matches the filters: their first and last time.
    pub(super) nothing: Option<TimeSpan>,
    /// No filter was given.
    whole: bool,
    /// Ids of all sessions, sorted, also of those that the filter excluded.
    ids: Arc<[Name]>,
    hints: CommandHints,
}

/// First and last time of the logs, as far as they have times.
pub(super) type TimeSpan = (Option<Time>, Option<Time>);

/// Reads, filters, makes the requested report and writes it.
pub(super) fn write_report(
    rows: &args::Rows,
    request: &ReportRequest<'_>,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    let arrangement = rows.arrange.arrangement(request.spec, &rows.output)?;
    let mut filtered = read_filtered(&rows.query, request, variables, &rows.output, &arrangement)?;
    let reports = filtered.reports(request.make, &rows.output, &arrangement)?;
    let status = filtered.deliver(&reports, &rows.output, style);
    // The program ends now: freeing each row would only take time.
    std::mem::forget(filtered);
    status
}

/// Reads the input, or follows it, and applies the filters.
pub(super) fn read_filtered(
    query: &args::Query,
    request: &ReportRequest<'_>,
    variables: &Variables,
    output: &args::Output,
    arrangement: &Arrangement,
) -> Result<Filtered, Error> {
    output.fits(request.spec.name)?;
    let detail = request.detail | output.content(request.spec, Channel::Stdout);
    let scope = Scope::of(query, detail, request.outcomes, variables)?;
    let scope = if request.is_timed { scope } else { scope.of_all_times() };
    let wanted = plan::wanted(&query.input, variables)?;
    let make = |reading: Reading| {
        let filtered = scope.apply(reading)?;
        filtered.finish((request.make)(&filtered.view()), arrangement)
    };
    let reading = read_or_follow(wanted, query, scope.detail, output, variables, &make)?;
    scope.apply(reading)
}

/// Like [`read_filtered`], with other sources than the typed paths, and without following.
pub(super) fn read_filtered_roots(
    wanted: &Roots,
    query: &args::Query,
    detail: Detail,
    variables: &Variables,
    output: &args::Output,
) -> Result<Filtered, Error> {
    let scope = Scope::of(query, detail, &[], variables)?;
    let reading = read(input::find(wanted), &query.input, scope.detail, output)?;
    scope.apply(reading)
}

/// Filters, prices and time zone of a query, and the facts to keep for them.
pub(super) struct Scope<'a> {
    query: &'a args::Query,
    outcomes: &'a [Outcome],
    zone: Zone,
    variables: &'a Variables,
    pub(super) prices: Prices,
    pub(super) detail: Detail,
    /// Whether the filter on times applies.
    is_timed: bool,
}

impl<'a> Scope<'a> {
    /// Resolves a query. The filters may need more than `detail`.
    pub(super) fn of(
        query: &'a args::Query,
        detail: Detail,
        outcomes: &'a [Outcome],
        variables: &'a Variables,
    ) -> Result<Self, Error> {
        let (zone, prices) = (query.filters.zone()?, plan::prices(&query.pricing)?);
        let mut scope = Self { query, outcomes, zone, variables, prices, detail, is_timed: true };
        scope.detail = scope.filter()?.detail(detail);
        Ok(scope)
    }

    /// The same for all times, for reports that compare periods.
    #[must_use]
    pub(super) fn of_all_times(self) -> Self {
        Self { is_timed: false, ..self }
    }

    /// Whether no filter was given.
    pub(super) fn is_whole(&self) -> Result<bool, Error> {
        Ok(self.filter()?.is_empty())
    }

    /// The filter, with times relative to now. With --follow it is resolved again for each report.
    fn filter(&self) -> Result<Filter, Error> {
        let mut filter = self.query.filters.filter(&self.zone)?;
        if !self.is_timed {
            (filter.since, filter.until) = (None, None);
        }
        Ok(Filter { outcomes: self.outcomes.to_vec(), ..filter })
    }

    /// Makes the rows and applies the filters.
    pub(super) fn apply(&self, mut reading: Reading) -> Result<Filtered, Error> {
        let ledger = std::mem::take(&mut reading.scan.facts).ledger(&self.prices);
        Ok(self.filtered(ledger, reading, &self.filter()?))
    }

    /// Makes the rows, applies the filters, and selects the content to print.
    pub(super) fn apply_with_content(&self, mut reading: Reading) -> Result<(Filtered, Content), Error> {
        let ledger = std::mem::take(&mut reading.scan.facts).ledger(&self.prices);
        let filter = self.filter()?;
        let names: Vec<Name> = reading.sources.iter().map(|source| source.name().into()).collect();
        if !filter.selects_parts() {
            let filtered = self.filtered(ledger, reading, &filter);
            let content = Content::of(&filtered.ledger, &names);
            return Ok((filtered, content));
        }
        // Records have no tool, model or skill, so their content is selected part by part.
        let mut whole = ledger.clone();
        whole.name_machines(scan::machines(&reading.sources));
        filter.of_whole_records().select(&mut whole, Names(&names));
        let content = Content::of(&whole, &names);
        let filtered = self.filtered(ledger, reading, &filter);
        let content = content.selecting(&filtered.ledger);
        Ok((filtered, content))
    }

    /// Applies the filter to these rows.
    fn filtered(&self, mut ledger: Ledger, reading: Reading, filter: &Filter) -> Filtered {
        let names: Vec<Name> = reading.sources.iter().map(|source| source.name().into()).collect();
        let mut ids: Vec<Name> = ledger.sessions.iter().filter_map(|session| session.id.clone()).collect();
        ids.sort_unstable();
        ids.dedup();
        let starts = ledger.sessions.iter().filter_map(|session| session.started);
        let span = (starts.min(), ledger.sessions.iter().filter_map(|session| session.ended).max());
        let had_sessions = !ledger.sessions.is_empty();
        ledger.name_machines(scan::machines(&reading.sources));
        filter.select(&mut ledger, Names(&names));
        let nothing = (had_sessions && ledger.sessions.is_empty()).then_some(span);
        let (zone, whole) = (self.zone.clone(), filter.is_empty());
        let (hints, found_prices) = (self.variables.hints.clone(), self.variables.found_prices.clone());
        Filtered { ledger, names, zone, reading, found_prices, nothing, whole, ids: ids.into(), hints }
    }
}

impl Filtered {
    pub(super) fn view(&self) -> View<'_> {
        View { ledger: &self.ledger, names: Names(&self.names), zone: &self.zone }
    }

    /// Arranges a report of these rows, and adds notes and commands.
    pub(super) fn finish(&self, mut report: Report, arrangement: &Arrangement) -> Result<Report, Error> {
        report = self.or_nothing_matches(report);
        report.notes.extend(report::interrupted(&self.ledger.input));
        if !self.ledger.has_content {
            report = report.without_content();
        }
        let mut report = report.with_ids(Arc::clone(&self.ids)).arranged(arrangement)?.local(&self.zone);
        note_found_prices(&mut report, &self.found_prices);
        Ok(self.with_commands(report))
    }

    /// Spells out the commands in a report of these rows.
    pub(super) fn with_commands(&self, report: Report) -> Report {
        self.hints.fill_in(report, self.whole)
    }

    /// Makes and finishes a report of these rows. If files must not contain texts of the logs, the texts are
    /// removed and the report is made again.
    pub(super) fn reports(
        &mut self,
        make: &dyn Fn(&View<'_>) -> Report,
        output: &args::Output,
        arrangement: &Arrangement,
    ) -> Result<Reports, Error> {
        let shown = self.finish(make(&self.view()), arrangement)?;
        let mut reports = Reports::from(shown);
        if self.ledger.has_content && !output.files_content() {
            self.ledger.strip_content();
            reports.filed = Some(self.finish(make(&self.view()), arrangement)?);
        }
        Ok(reports)
    }

    /// Writes a report of these rows.
    pub(super) fn deliver(
        &self,
        reports: &Reports,
        output: &args::Output,
        style: Style,
    ) -> Result<ExitStatus, Error> {
        let status = status(&self.ledger.input, &self.reading.stop, self.reading.partial, &reports.shown);
        let status = output.deliver(reports, status, self.reading.style.unwrap_or(style))?;
        self.complain_of_nothing(status);
        Ok(status)
    }

    /// The report, or one line in place of its screen if nothing matches the filters.
    pub(super) fn or_nothing_matches(&self, mut report: Report) -> Report {
        if let Some(line) = self.nothing_matches() {
            (report.screen, report.notes) = (Vec::new(), vec![line]);
        }
        report
    }

    /// A line if nothing matches the filters, with the time that the logs cover.
    pub(super) fn nothing_matches(&self) -> Option<Line> {
        let (first, last) = self.nothing?;
        let line = Line::new(Tone::Warning).word("nothing matches the filters: ");
        Some(match first.zip(last) {
            Some((first, last)) => {
                line.word("the logs cover ").value(self.minute(first)).word(" to ").value(self.minute(last))
            }
            None => line.count(
                self.ledger.input.records,
                " record was read, without a time",
                " records were read, without a time",
            ),
        })
    }

    fn minute(&self, time: Time) -> Option<String> {
        self.zone.minute(time)
    }

    /// Reports that nothing was read, unless there was an error message about every source.
    pub(super) fn complain_of_nothing(&self, status: ExitStatus) {
        let input = &self.ledger.input;
        if status == ExitStatus::NothingRead && !(self.reading.partial && input.bytes == 0) {
            complain(&nothing_read(input, &self.reading.sources));
        }
    }
}
