//! Commands that show rows: read, keep what is asked for, make the report, write it.

use super::{
    Reading, again::Again, args, complain, gather, nothing_read, plan, plan::Variables, print::Content, read,
    status,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Detail, Name, ledger::Ledger},
    input::{self, Roots},
    measure::{Prices, calendar::Zone},
    render::Style,
    report::{
        self, Arrangement, Filter, Line, Names, Outcome, Report, ReportSpec, Tone, View, note_found_prices,
    },
};

/// What a command asks.
pub(super) struct Question<'a> {
    /// The report that answers it.
    pub(super) spec: &'static ReportSpec,
    /// How much has to be kept for it.
    pub(super) detail: Detail,
    /// Only sessions that ended like this.
    pub(super) outcomes: &'a [Outcome],
    /// Makes the report.
    pub(super) make: &'a dyn Fn(&View<'_>) -> Report,
}

impl<'a> Question<'a> {
    /// With everything that the report needs.
    pub(super) fn of(spec: &'static ReportSpec, make: &'a dyn Fn(&View<'_>) -> Report) -> Self {
        Self { spec, detail: spec.keeps, outcomes: &[], make }
    }
}

/// Rows that were read and narrowed.
pub(super) struct Narrowed {
    pub(super) ledger: Ledger,
    pub(super) names: Vec<Name>,
    pub(super) zone: Zone,
    pub(super) reading: Reading,
    /// Files of prices that a configuration gave that was only found.
    found_prices: Vec<String>,
    /// A filter left nothing.
    pub(super) nothing: bool,
    /// No filter was asked for.
    whole: bool,
    again: Again,
}

/// Answers with a report of rows.
pub(super) fn answer(
    rows: &args::Rows,
    question: &Question<'_>,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    let arrangement = rows.arrange.arrangement(question.spec)?;
    let narrowed = narrowed(&rows.asked, question, variables, &rows.output, &arrangement)?;
    let report = (question.make)(&narrowed.view());
    let status = narrowed.deliver(report, rows, &arrangement, style);
    // The program ends now: giving every row back by itself would only take time.
    std::mem::forget(narrowed);
    status
}

/// Reads, and leaves the rows that count.
pub(super) fn narrowed(
    asked: &args::Asked,
    question: &Question<'_>,
    variables: &Variables,
    output: &args::Output,
    arrangement: &Arrangement,
) -> Result<Narrowed, Error> {
    output.fits(question.spec.name)?;
    let scope = Scope::of(asked, question.detail, question.outcomes, variables)?;
    let wanted = plan::wanted(&asked.input, variables)?;
    let make = |reading: Reading| {
        let narrowed = scope.narrow(reading)?;
        narrowed.finished((question.make)(&narrowed.view()), arrangement)
    };
    let reading = gather(wanted, asked, scope.detail, output, variables, &make)?;
    scope.narrow(reading)
}

/// The same of what is named here, not of the paths among the arguments.
pub(super) fn narrowed_of(
    wanted: &Roots,
    asked: &args::Asked,
    detail: Detail,
    variables: &Variables,
    output: &args::Output,
) -> Result<Narrowed, Error> {
    let scope = Scope::of(asked, detail, &[], variables)?;
    let reading = read(input::find(wanted), &asked.input, scope.detail, output)?;
    scope.narrow(reading)
}

/// What counts, and how much of it has to be kept.
pub(super) struct Scope<'a> {
    asked: &'a args::Asked,
    outcomes: &'a [Outcome],
    zone: Zone,
    variables: &'a Variables,
    pub(super) prices: Prices,
    pub(super) detail: Detail,
}

impl<'a> Scope<'a> {
    /// What is asked for with so much detail, of sessions that ended like this.
    pub(super) fn of(
        asked: &'a args::Asked,
        detail: Detail,
        outcomes: &'a [Outcome],
        variables: &'a Variables,
    ) -> Result<Self, Error> {
        let (zone, prices) = (asked.narrow.zone()?, plan::prices(&asked.pricing)?);
        let mut scope = Self { asked, outcomes, zone, variables, prices, detail };
        scope.detail = scope.filter()?.detail(detail);
        Ok(scope)
    }

    /// Whether no filter was asked for.
    pub(super) fn is_whole(&self) -> Result<bool, Error> {
        Ok(self.filter()?.is_empty())
    }

    /// What is relative to now is resolved when a report is made: with --follow that is again and again.
    fn filter(&self) -> Result<Filter, Error> {
        Ok(Filter { outcomes: self.outcomes.to_vec(), ..self.asked.narrow.filter(&self.zone)? })
    }

    /// Leaves the rows that count.
    pub(super) fn narrow(&self, mut reading: Reading) -> Result<Narrowed, Error> {
        let ledger = std::mem::take(&mut reading.scan.facts).ledger(&self.prices);
        Ok(self.narrowed(ledger, reading, &self.filter()?))
    }

    /// Leaves the rows that count, and what is printed of them.
    pub(super) fn narrow_content(&self, mut reading: Reading) -> Result<(Narrowed, Content), Error> {
        let ledger = std::mem::take(&mut reading.scan.facts).ledger(&self.prices);
        let filter = self.filter()?;
        let names: Vec<Name> = reading.sources.iter().map(|source| source.name().into()).collect();
        if filter.tools.is_empty() && filter.models.is_empty() {
            let narrowed = self.narrowed(ledger, reading, &filter);
            let content = Content::of(&narrowed.ledger, &names);
            return Ok((narrowed, content));
        }
        // Records have neither a tool nor a model: what is printed of them is chosen part by part.
        let mut whole = ledger.clone();
        Filter { tools: Vec::new(), models: Vec::new(), ..filter.clone() }.select(&mut whole, Names(&names));
        let content = Content::of(&whole, &names);
        let narrowed = self.narrowed(ledger, reading, &filter);
        let content = content.choosing(&narrowed.ledger);
        Ok((narrowed, content))
    }

    /// Leaves the rows that count.
    fn narrowed(&self, mut ledger: Ledger, reading: Reading, filter: &Filter) -> Narrowed {
        let names: Vec<Name> = reading.sources.iter().map(|source| source.name().into()).collect();
        let before = ledger.sessions.len();
        filter.select(&mut ledger, Names(&names));
        let nothing = before > 0 && ledger.sessions.is_empty();
        let (zone, whole) = (self.zone.clone(), filter.is_empty());
        let (again, found_prices) = (self.variables.again.clone(), self.variables.found_prices.clone());
        Narrowed { ledger, names, zone, reading, found_prices, nothing, whole, again }
    }
}

impl Narrowed {
    pub(super) fn view(&self) -> View<'_> {
        View { ledger: &self.ledger, names: Names(&self.names), zone: &self.zone }
    }

    /// The report that was made of it, as it is written.
    fn finished(&self, mut report: Report, arrangement: &Arrangement) -> Result<Report, Error> {
        report.notes.extend(self.nothing_matches());
        report.notes.extend(report::interrupted(&self.ledger.input));
        let mut report = report.arranged(arrangement)?.local(&self.zone);
        note_found_prices(&mut report, &self.found_prices);
        Ok(self.typed(report))
    }

    /// The same with its commands as they are typed.
    pub(super) fn typed(&self, report: Report) -> Report {
        self.again.type_out(report, self.whole)
    }

    /// Writes the report that was made of it.
    pub(super) fn deliver(
        &self,
        report: Report,
        rows: &args::Rows,
        arrangement: &Arrangement,
        style: Style,
    ) -> Result<ExitStatus, Error> {
        let status = status(&self.ledger.input, &self.reading.stop, self.reading.partial, &report);
        let report = self.finished(report, arrangement)?;
        let status = rows.output.deliver(&report, status, self.reading.style.unwrap_or(style))?;
        self.complain_of_nothing(status);
        Ok(status)
    }

    /// Says that the filters left nothing.
    pub(super) fn nothing_matches(&self) -> Option<Line> {
        self.nothing.then(|| {
            Line::new(Tone::Warning).word("nothing matches the filters: ").count(
                self.ledger.input.records,
                " record was read",
                " records were read",
            )
        })
    }

    /// Where every source was named on standard error already, there is nothing to add.
    pub(super) fn complain_of_nothing(&self, status: ExitStatus) {
        let input = &self.ledger.input;
        if status == ExitStatus::NothingRead && !(self.reading.partial && input.bytes == 0) {
            complain(&nothing_read(input, &self.reading.sources));
        }
    }
}
