//! `summarize`: the one report that reads a pipe while it is passed on, and judges all that was read as one.

use clap::ColorChoice;

use super::{
    Reading, args, complain, nothing_read,
    output::Channel,
    plan::{self, Variables},
    read,
    rows::Scope,
    spare, status,
};
use crate::{
    error::{Error, ExitStatus},
    facts::{Account, Arrived, Detail, Facts, ledger::Ledger},
    input::{self, Source},
    measure::{Prices, calendar::Zone},
    report::{self, Gate, Names, Report, View},
};

pub(super) fn summarize(
    asked: &args::Summarize,
    variables: &Variables,
    color: ColorChoice,
) -> Result<ExitStatus, Error> {
    asked.output.fits("summary")?;
    let task = Task { asked, gates: asked.gates.gates(), variables, color };
    let lean = task.gates.iter().all(|gate| gate.detail() == Detail::Totals);
    if lean && !asked.asked.narrow.narrows()? { task.lean() } else { task.narrowed() }
}

struct Task<'a> {
    asked: &'a args::Summarize,
    gates: Vec<Gate>,
    variables: &'a Variables,
    color: ColorChoice,
}

impl Task<'_> {
    /// Sums alone.
    fn lean(&self) -> Result<ExitStatus, Error> {
        let prices = plan::prices(&self.asked.asked.pricing)?;
        let (reading, arrived) = self.read(Detail::Totals, &prices)?;
        let account = reading.scan.facts.settle(&prices);
        let names: Vec<String> = reading.sources.iter().map(Source::name).collect();
        let mut report = report::summary(&account, Names(&names));
        if let Some(arrived) = arrived {
            report = report::arrived(report, &account, &arrived);
        }
        let ledger = Ledger { input: account.input.clone(), ..Ledger::default() };
        let view = View { ledger: &ledger, names: Names(&names), zone: &Zone::default() };
        report.verdicts = report::judge(&view, &self.gates, None);
        let status = status(&account.input, &reading.stop, reading.partial, &report);
        let status = self.deliver(&report, &account, view.names, status)?;
        // Where every source was named on standard error already, there is nothing to add.
        if status == ExitStatus::NothingRead && !(reading.partial && account.input.bytes == 0) {
            complain(&nothing_read(&account.input, &reading.sources));
        }
        Ok(status)
    }

    /// The same of some rows, or with gates, which take the records one by one.
    fn narrowed(&self) -> Result<ExitStatus, Error> {
        let scope = Scope::of(&self.asked.asked, Detail::Records, &[])?;
        let (reading, arrived) = self.read(scope.detail, &scope.prices)?;
        let narrowed = scope.narrow(Facts::ledger, reading);
        let account = narrowed.ledger.account();
        let mut report = report::summary(&account, narrowed.view().names);
        if let Some(arrived) = arrived {
            report = report::arrived(report, &account, &arrived);
        }
        report.notes.extend(narrowed.nothing_matches());
        report.verdicts = report::judge(&narrowed.view(), &self.gates, None);
        let reading = &narrowed.reading;
        let status = status(&narrowed.ledger.input, &reading.stop, reading.partial, &report);
        let status = self.deliver(&report, &account, narrowed.view().names, status)?;
        narrowed.complain_of_nothing(status);
        Ok(status)
    }

    /// Reads what was asked for, in the way that was asked for; when it arrived, if that was asked for too.
    fn read(&self, detail: Detail, prices: &Prices) -> Result<(Reading, Option<Arrived>), Error> {
        let args::Summarize { asked, output, tee, .. } = self.asked;
        let search = input::find(&plan::wanted(&asked.input, self.variables, false)?);
        let terminal = (self.variables, self.color);
        if tee.looks_at(&search.sources)? {
            spare(&search, output)?;
            let (reading, arrived) =
                tee.read(&search.sources, &asked.input, output, detail, prices, terminal)?;
            let missing = !search.missing.is_empty();
            let reading = Reading { partial: reading.partial || missing, ..reading };
            return Ok((reading, arrived.filter(|_| tee.is_live())));
        }
        Ok((read(search, &asked.input, detail, output)?, None))
    }

    fn deliver(
        &self,
        report: &Report,
        account: &Account,
        names: Names<'_>,
        status: ExitStatus,
    ) -> Result<ExitStatus, Error> {
        let status = self.asked.github.tell(report, account, names, self.variables, status);
        let channel = self.asked.tee.channel();
        let style = match channel {
            Channel::Stdout => self.variables.style(self.color),
            Channel::Stderr => self.variables.style_of(self.color, &std::io::stderr()),
        };
        self.asked.output.deliver_to(channel, report, status, style)
    }
}
