//! `summarize`: the one report that reads a pipe while it is passed on, and judges all that was read as one.

use super::{
    Reading, args, complain, gather, nothing_read,
    output::Channel,
    plan::{self, Variables},
    rows::{Narrowed, Scope},
    spare, status,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Account, Arrived, Detail, Facts, ledger::Ledger},
    input::{self, Source},
    measure::{Prices, calendar::Zone},
    render::Style,
    report::{self, Gate, Names, Report, View},
};

pub(super) fn summarize(asked: &args::Summarize, variables: &Variables) -> Result<ExitStatus, Error> {
    asked.output.fits("summary")?;
    let task = Task { asked, gates: asked.gates.gates(), variables };
    let lean = task.gates.iter().all(|gate| gate.detail() == Detail::Totals);
    if lean && !asked.asked.narrow.narrows()? { task.lean() } else { task.narrowed() }
}

struct Task<'a> {
    asked: &'a args::Summarize,
    gates: Vec<Gate>,
    variables: &'a Variables,
}

impl Task<'_> {
    /// Sums alone.
    fn lean(&self) -> Result<ExitStatus, Error> {
        let prices = plan::prices(&self.asked.asked.pricing)?;
        let make = |reading: Reading| {
            let account = reading.scan.facts.settle(&prices);
            Ok(self.sum(&account, Names(&names(&reading.sources)), None))
        };
        let (mut reading, arrived) = self.read(Detail::Totals, &prices, &make)?;
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
        if let Some(arrived) = arrived {
            report = report::arrived(report, account, arrived);
        }
        let ledger = Ledger { input: account.input.clone(), ..Ledger::default() };
        report.verdicts =
            report::judge(&View { ledger: &ledger, names, zone: &Zone::default() }, &self.gates, None);
        report
    }

    /// The same of some rows, or with gates, which take the records one by one.
    fn narrowed(&self) -> Result<ExitStatus, Error> {
        let scope = Scope::of(&self.asked.asked, Detail::Records, &[])?;
        let make = |reading: Reading| {
            let narrowed = scope.narrow(Facts::ledger, reading)?;
            Ok(self.sum_rows(&narrowed, &narrowed.ledger.account(), None))
        };
        let (reading, arrived) = self.read(scope.detail, &scope.prices, &make)?;
        let narrowed = scope.narrow(Facts::ledger, reading)?;
        let account = narrowed.ledger.account();
        let report = self.sum_rows(&narrowed, &account, arrived.as_ref());
        let status = self.deliver(&report, &account, narrowed.view().names, &narrowed.reading)?;
        narrowed.complain_of_nothing(status);
        Ok(status)
    }

    fn sum_rows(&self, narrowed: &Narrowed, account: &Account, arrived: Option<&Arrived>) -> Report {
        let view = narrowed.view();
        let mut report = report::summary(account, view.names);
        if let Some(arrived) = arrived {
            report = report::arrived(report, account, arrived);
        }
        report.notes.extend(narrowed.nothing_matches());
        report.verdicts = report::judge(&view, &self.gates, None);
        report
    }

    /// Reads what was asked for, in the way that was asked for; when it arrived, if that was asked for too.
    fn read(
        &self,
        detail: Detail,
        prices: &Prices,
        make: &dyn Fn(Reading) -> Result<Report, Error>,
    ) -> Result<(Reading, Option<Arrived>), Error> {
        let args::Summarize { asked, output, tee, .. } = self.asked;
        let wanted = plan::wanted(&asked.input, self.variables)?;
        if !asked.follow {
            let search = input::find(&wanted);
            if tee.looks_at(&search.sources)? {
                spare(&search, output)?;
                let (mut reading, arrived) =
                    tee.read(&search.sources, &asked.input, output, detail, prices, self.variables)?;
                reading.partial |= !search.missing.is_empty();
                return Ok((reading, arrived.filter(|_| tee.is_live())));
            }
        }
        Ok((gather(wanted, asked, detail, output, self.variables, make)?, None))
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

fn names(sources: &[Source]) -> Vec<String> {
    sources.iter().map(Source::name).collect()
}
