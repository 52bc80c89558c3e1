//! `summarize`: the one report that reads a pipe while it is passed on, and judges all that was read as one.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Reading, args, complain, gather, nothing_read,
    output::Channel,
    plan::{self, Variables},
    print::{Printer, Prints, Shelf},
    read,
    rows::{Narrowed, Scope},
    spare, status,
    tee::{held, is_pipe},
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Account, Arrived, Detail, Name, ledger::Ledger},
    input::{self, Limits, Roots, Search, Source},
    measure::{Prices, calendar::Zone},
    render::Style,
    report::{self, Gate, Names, Report, View},
};

pub(super) fn summarize(asked: &args::Summarize, variables: &Variables) -> Result<ExitStatus, Error> {
    asked.output.fits("summary")?;
    let wanted = plan::wanted(&asked.asked.input, variables)?;
    let search = if asked.asked.follow {
        if asked.tee.prints() {
            return Err(Error::Usage(
                "--print prints what was read once: it cannot be used with --follow".to_owned(),
            ));
        }
        None
    } else {
        Some(input::find(&wanted))
    };
    let task = Task { asked, gates: asked.gates.gates(), variables, wanted };
    let narrows = asked.asked.narrow.narrows()?;
    let live = search.as_ref().is_some_and(|search| is_pipe(&search.sources)) && !narrows;
    match search {
        Some(search) if asked.tee.prints() && !live => task.printed(search),
        search if narrows || task.gates.iter().any(|gate| gate.detail() != Detail::TOTALS) => {
            task.narrowed(search)
        }
        search => task.lean(search),
    }
}

struct Task<'a> {
    asked: &'a args::Summarize,
    gates: Vec<Gate>,
    variables: &'a Variables,
    wanted: Roots,
}

impl Task<'_> {
    /// Sums alone.
    fn lean(&self, search: Option<Search>) -> Result<ExitStatus, Error> {
        let prices = plan::prices(&self.asked.asked.pricing)?;
        let make = |reading: Reading| {
            let account = reading.scan.facts.settle(&prices);
            Ok(self.sum(&account, Names(&names(&reading.sources)), None))
        };
        let (mut reading, arrived) = self.read(search, Detail::TOTALS, &prices, &make)?;
        let account = std::mem::take(&mut reading.scan.facts).settle(&prices);
        let names = names(&reading.sources);
        let report = self.sum(&account, Names(&names), arrived.as_ref());
        let status = self.deliver(&report, &account, Names(&names), &reading)?;
        // Where every source was named on standard error already, there is nothing to add.
        if status == ExitStatus::NothingRead && !(reading.partial && account.input.bytes == 0) {
            complain(&nothing_read(&account.input, &reading.sources));
        }
        Ok(status)
    }

    fn sum(&self, account: &Account, names: Names<'_>, arrived: Option<&Arrived>) -> Report {
        let mut report = report::summary(account, names);
        report::note_found_prices(&mut report, &self.variables.found_prices);
        if let Some(arrived) = arrived {
            report = report::arrived(report, account, arrived);
        }
        let ledger = Ledger { input: account.input.clone(), ..Ledger::default() };
        report.verdicts =
            report::judge(&View { ledger: &ledger, names, zone: &Zone::default() }, &self.gates, None);
        self.variables.again.type_out(report, true)
    }

    /// The same of some rows, or with gates, which take the records one by one.
    fn narrowed(&self, search: Option<Search>) -> Result<ExitStatus, Error> {
        let scope = Scope::of(&self.asked.asked, Detail::ROWS | Detail::RECORDS, &[], self.variables)?;
        let make = |reading: Reading| {
            let narrowed = scope.narrow(reading)?;
            Ok(self.sum_rows(&narrowed, &narrowed.ledger.account(), None))
        };
        let (reading, arrived) = self.read(search, scope.detail, &scope.prices, &make)?;
        self.finish(&scope.narrow(reading)?, arrived.as_ref())
    }

    /// The same, after the content of these rows is printed: nothing is printed before it is known to match.
    fn printed(&self, search: Search) -> Result<ExitStatus, Error> {
        let args::Summarize { asked, output, tee, .. } = self.asked;
        let scope = Scope::of(asked, Detail::ROWS | Detail::RECORDS, &[], self.variables)?;
        let missing = !search.errors.is_empty();
        let shelf = Shelf::new(&search.sources);
        let (reading, arrived, shelf) = if tee.looks_at(&search.sources)? && is_pipe(&search.sources) {
            spare(&search, output)?;
            let shelf = Arc::new(Mutex::new(shelf));
            let printer = Some(Prints::Held(Arc::clone(&shelf)));
            let (reading, arrived) =
                tee.read(&search.sources, &asked.input, output, scope.detail, &scope.prices, printer)?;
            (reading, arrived.filter(|_| tee.is_live()), shelf)
        } else if shelf.keeps_some() {
            spare(&search, output)?;
            let mut shelf = shelf;
            let reading = held(&search.sources, &asked.input, scope.detail, &mut shelf);
            (reading, None, Arc::new(Mutex::new(shelf)))
        } else {
            (read(search, &asked.input, scope.detail, output)?, None, Arc::new(Mutex::new(shelf)))
        };
        let (mut narrowed, content) = scope.narrow_content(reading)?;
        narrowed.reading.partial |= missing;
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = Limits { max_record: asked.input.max_record, ..Limits::default() };
        let printer = Printer::new(self.variables.style().color);
        // A reader that goes away wants no more, but the report may go elsewhere.
        match content.print(printer, &mut shelf, &narrowed.reading.sources, limits) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(Error::Write(error)),
            Ok(()) | Err(_) => {}
        }
        if let Some(error) = shelf.error() {
            complain(&format!("not all of it could be printed: {error}"));
            narrowed.reading.partial = true;
        }
        self.finish(&narrowed, arrived.as_ref())
    }

    fn finish(&self, narrowed: &Narrowed, arrived: Option<&Arrived>) -> Result<ExitStatus, Error> {
        let account = narrowed.ledger.account();
        let report = self.sum_rows(narrowed, &account, arrived);
        let status = self.deliver(&report, &account, narrowed.view().names, &narrowed.reading)?;
        narrowed.complain_of_nothing(status);
        Ok(status)
    }

    fn sum_rows(&self, narrowed: &Narrowed, account: &Account, arrived: Option<&Arrived>) -> Report {
        let view = narrowed.view();
        let mut report = report::summary(account, view.names);
        report::note_found_prices(&mut report, &self.variables.found_prices);
        if let Some(arrived) = arrived {
            report = report::arrived(report, account, arrived);
        }
        report.notes.extend(narrowed.nothing_matches());
        report.verdicts = report::judge(&view, &self.gates, None);
        narrowed.typed(report)
    }

    /// Reads what was asked for, in the way that was asked for; when it arrived, if that was asked for too.
    fn read(
        &self,
        search: Option<Search>,
        detail: Detail,
        prices: &Prices,
        make: &dyn Fn(Reading) -> Result<Report, Error>,
    ) -> Result<(Reading, Option<Arrived>), Error> {
        let args::Summarize { asked, output, tee, .. } = self.asked;
        let Some(search) = search else {
            let reading = gather(self.wanted.clone(), asked, detail, output, self.variables, make)?;
            return Ok((reading, None));
        };
        if tee.looks_at(&search.sources)? {
            spare(&search, output)?;
            let printer = || Prints::Live(Printer::new(self.variables.style().color));
            let printer = tee.prints().then(printer);
            let (mut reading, arrived) =
                tee.read(&search.sources, &asked.input, output, detail, prices, printer)?;
            reading.partial |= !search.errors.is_empty();
            return Ok((reading, arrived.filter(|_| tee.is_live())));
        }
        Ok((read(search, &asked.input, detail, output)?, None))
    }

    fn deliver(
        &self,
        report: &Report,
        account: &Account,
        names: Names<'_>,
        reading: &Reading,
    ) -> Result<ExitStatus, Error> {
        let status = status(&account.input, &reading.stop, reading.partial, report);
        let status = self.asked.github.tell(report, account, names, self.variables, status);
        let channel = self.asked.tee.channel();
        let style: Style = match channel {
            Channel::Stdout => reading.style.unwrap_or_else(|| self.variables.style()),
            Channel::Stderr => self.variables.style_of(&std::io::stderr()),
        };
        self.asked.output.deliver_to(channel, report, status, style)
    }
}

fn names(sources: &[Source]) -> Vec<Name> {
    sources.iter().map(|source| source.name().into()).collect()
}
