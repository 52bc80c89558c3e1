//! `summarize`: the report about everything that was read, and the only one that can pass a pipe on while
//! reading it.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Reading, args, check_search, complain, nothing_read,
    output::Channel,
    plan::{self, Variables},
    print::{PrintMode, Printer, RecordStore},
    read, read_or_follow,
    rows::{Filtered, Scope},
    status,
    tee::{is_pipe, read_into},
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Account, Arrived, Detail, Name, ledger::Ledger},
    input::{self, Limits, Roots, Search, Source},
    measure::{
        Prices,
        calendar::{self, Zone},
    },
    render::Style,
    report::{self, Gate, Names, Report, View},
};

pub(super) fn summarize(arguments: &args::Summarize, variables: &Variables) -> Result<ExitStatus, Error> {
    arguments.output.fits("summary")?;
    arguments.budgets.fits()?;
    let wanted = plan::wanted(&arguments.query.input, variables)?;
    let search = if arguments.query.follow {
        if arguments.tee.prints() {
            return Err(Error::Usage("--print reads a log once: it cannot be used with --follow".to_owned()));
        }
        None
    } else {
        Some(input::find(&wanted))
    };
    let task = Task { arguments, gates: arguments.gates.gates(), variables, wanted };
    let is_filtered = arguments.query.filters.is_filtered()?;
    let live = search.as_ref().is_some_and(|search| is_pipe(&search.sources)) && !is_filtered;
    match search {
        Some(search) if arguments.tee.prints() && !live => task.printed(search),
        // Charts need rows.
        search
            if is_filtered
                || arguments.output.draws()
                || arguments.budgets.is_given()
                || task.gates.iter().any(|gate| gate.detail() != Detail::TOTALS) =>
        {
            task.filtered(search)
        }
        search => task.totals(search),
    }
}

struct Task<'a> {
    arguments: &'a args::Summarize,
    gates: Vec<Gate>,
    variables: &'a Variables,
    wanted: Roots,
}

impl Task<'_> {
    /// Reports the totals, without keeping single records.
    fn totals(&self, search: Option<Search>) -> Result<ExitStatus, Error> {
        let prices = plan::prices(&self.arguments.query.pricing)?;
        let make = |reading: Reading| {
            let account = reading.scan.facts.settle(&prices);
            Ok(self.report_totals(&account, Names(&names(&reading.sources)), None))
        };
        let (mut reading, arrived) = self.read(search, Detail::TOTALS, &prices, &make)?;
        let account = std::mem::take(&mut reading.scan.facts).settle(&prices);
        let names = names(&reading.sources);
        let report = self.report_totals(&account, Names(&names), arrived.as_ref());
        let status = self.deliver(report, &account, Names(&names), &reading)?;
        // If there was an error message about every source, nothing needs to be added.
        if status == ExitStatus::NothingRead && !(reading.partial && account.input.bytes == 0) {
            complain(&nothing_read(&account.input, &reading.sources));
        }
        Ok(status)
    }

    fn report_totals(&self, account: &Account, names: Names<'_>, arrived: Option<&Arrived>) -> Report {
        let mut report = report::summary(account, names);
        report = self.finished(report, account, arrived);
        let ledger = Ledger { input: account.input.clone(), ..Ledger::default() };
        report.verdicts =
            report::judge(&View { ledger: &ledger, names, zone: &Zone::default() }, &self.gates, None);
        self.variables.hints.fill_in(self.local(report, account), true)
    }

    /// Adds to a summary what the options ask for.
    fn finished(&self, mut report: Report, account: &Account, arrived: Option<&Arrived>) -> Report {
        report::note_found_prices(&mut report, &self.variables.found_prices);
        if self.arguments.query.follow {
            report = report::running(report, account, calendar::now());
        }
        if let Some(arrived) = arrived {
            report = report::arrived(report, account, arrived);
        }
        if self.arguments.screen.verbose { report::with_kinds(report, account) } else { report }
    }

    /// Converts the time of the only session. The summary has no other times, and finding the zone of this machine
    /// takes time.
    fn local(&self, report: Report, account: &Account) -> Report {
        let zone = account.only_session.as_ref().and_then(|_| self.arguments.query.filters.zone().ok());
        match zone {
            Some(zone) => report.local(&zone),
            None => report,
        }
    }

    /// Reports the totals of the records that match the filters. Some gates need this too, as they look at
    /// single records.
    fn filtered(&self, search: Option<Search>) -> Result<ExitStatus, Error> {
        let args::Summarize { query, output, .. } = self.arguments;
        // A page names the commands of calls, if it may.
        let texts = if output.draws() && output.files_content() { Detail::EXCERPTS } else { Detail::TOTALS };
        let scope = Scope::of(query, Detail::ROWS | Detail::RECORDS | texts, &[], self.variables)?;
        let make = |reading: Reading| {
            let filtered = scope.apply(reading)?;
            Ok(self.report_rows(&filtered, &filtered.ledger.account(), None))
        };
        let (reading, arrived) = self.read(search, scope.detail, &scope.prices, &make)?;
        self.finish(&scope.apply(reading)?, arrived.as_ref())
    }

    /// Prints the content of the matching records, then reports their totals.
    fn printed(&self, search: Search) -> Result<ExitStatus, Error> {
        let args::Summarize { query, output, tee, .. } = self.arguments;
        let scope = Scope::of(query, Detail::ROWS | Detail::RECORDS, &[], self.variables)?;
        let missing = !search.errors.is_empty();
        let store = RecordStore::new(&search.sources);
        let (reading, arrived, store) = if tee.applies_to(&search.sources)? && is_pipe(&search.sources) {
            check_search(&search, output)?;
            let store = Arc::new(Mutex::new(store));
            let printer = Some(PrintMode::Deferred(Arc::clone(&store)));
            let (reading, arrived) =
                tee.read(&search.sources, &query.input, output, scope.detail, &scope.prices, printer)?;
            (reading, arrived.filter(|_| tee.is_live()), store)
        } else if store.is_needed() {
            check_search(&search, output)?;
            let mut store = store;
            let reading = read_into(&mut store, &search.sources, &query.input, scope.detail);
            (reading, None, Arc::new(Mutex::new(store)))
        } else {
            (read(search, &query.input, scope.detail, output)?, None, Arc::new(Mutex::new(store)))
        };
        let (mut filtered, content) = scope.apply_with_content(reading)?;
        filtered.reading.partial |= missing;
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = Limits { max_record: query.input.max_record, ..Limits::default() };
        let printer = Printer::new(self.variables.style());
        // If standard output was closed, the report may still go to a file.
        match content.print(printer, &mut store, &filtered.reading.sources, limits) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(Error::Write(error)),
            Ok(()) | Err(_) => {}
        }
        if let Some(error) = store.error() {
            complain(&format!("cannot print everything: {error}"));
            filtered.reading.partial = true;
        }
        self.finish(&filtered, arrived.as_ref())
    }

    fn finish(&self, filtered: &Filtered, arrived: Option<&Arrived>) -> Result<ExitStatus, Error> {
        let account = filtered.ledger.account();
        let report = self.report_rows(filtered, &account, arrived);
        let status = self.deliver(report, &account, filtered.view().names, &filtered.reading)?;
        filtered.complain_of_nothing(status);
        Ok(status)
    }

    fn report_rows(&self, filtered: &Filtered, account: &Account, arrived: Option<&Arrived>) -> Report {
        let view = filtered.view();
        let mut report = report::summary(account, view.names);
        report = self.finished(report, account, arrived);
        report = filtered.or_nothing_matches(report);
        if self.arguments.output.draws() {
            report = report::with_pictures(report, &view);
        }
        report.verdicts = report::judge(&view, &self.gates, None);
        report = self.arguments.budgets.judged(report, &view, &self.arguments.query.filters);
        filtered.with_commands(report.local(&filtered.zone))
    }

    /// Reads the input by following, passing on, or plainly. Also returns arrival times if `--live` was
    /// given.
    fn read(
        &self,
        search: Option<Search>,
        detail: Detail,
        prices: &Prices,
        make: &dyn Fn(Reading) -> Result<Report, Error>,
    ) -> Result<(Reading, Option<Arrived>), Error> {
        let args::Summarize { query, output, tee, .. } = self.arguments;
        let Some(search) = search else {
            let reading = read_or_follow(self.wanted.clone(), query, detail, output, self.variables, make)?;
            return Ok((reading, None));
        };
        if tee.applies_to(&search.sources)? {
            check_search(&search, output)?;
            let printer = || PrintMode::Live(Printer::new(self.variables.style()));
            let printer = tee.prints().then(printer);
            let (mut reading, arrived) =
                tee.read(&search.sources, &query.input, output, detail, prices, printer)?;
            reading.partial |= !search.errors.is_empty();
            return Ok((reading, arrived.filter(|_| tee.is_live())));
        }
        Ok((read(search, &query.input, detail, output)?, None))
    }

    fn deliver(
        &self,
        report: Report,
        account: &Account,
        names: Names<'_>,
        reading: &Reading,
    ) -> Result<ExitStatus, Error> {
        let status = status(&account.input, &reading.stop, reading.partial, &report);
        let status = self.arguments.github.publish(
            &report,
            account,
            names,
            self.variables,
            &self.arguments.output,
            status,
        );
        let channel = self.arguments.tee.channel();
        let style: Style = match channel {
            Channel::Stdout => reading.style.unwrap_or_else(|| self.variables.style()),
            Channel::Stderr => self.variables.style_of(&std::io::stderr()),
        };
        self.arguments.output.deliver_to(channel, &report.into(), status, style)
    }
}

fn names(sources: &[Source]) -> Vec<Name> {
    sources.iter().map(|source| source.name().into()).collect()
}
