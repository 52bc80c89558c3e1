//! `doctor`: looks at the machine as every command does, and says what it finds.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use clap::Args;

use super::{
    args,
    plan::{self, Variables},
    read, scan_options, stdin,
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    input::{self, Origin, Roots, Source},
    measure::{
        Prices, Time,
        calendar::{self, Zone},
    },
    render::Style,
    report::{self, Findings, Place, Retention},
    scan::{self, Options},
};

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// The logs.
    #[command(flatten)]
    pub input: args::Input,
    /// Format and destination.
    #[command(flatten)]
    pub output: args::Output,
    /// Price files.
    #[command(flatten)]
    pub pricing: args::Pricing,
}

/// Days after which the CLI deletes a session if its settings do not say.
const DEFAULT_DAYS: u64 = 30;

const DAY: Duration = Duration::from_hours(24);

pub(super) fn doctor(doctor: &Doctor, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    let Doctor { input, output, pricing } = doctor;
    output.fits(report::DOCTOR.name)?;
    let prices = plan::prices(pricing)?;
    // Standard input is described, not read.
    let is_saved = input.paths.is_empty() && input.files_from.is_none();
    let roots = if is_saved {
        Roots::SavedSessions(variables.environment())
    } else {
        plan::wanted(input, variables)?
    };
    let places = match &roots {
        Roots::SavedSessions(environment) => environment.places(),
        Roots::Paths(paths) => paths.clone(),
    };
    let search = input::find(&roots);
    let retention = is_saved.then(|| retention(&search.sources, variables));
    let options = scan_options(input, Detail::TOTALS);
    let archive = variables.archive.iter().filter(|archive| !places.contains(archive));
    let places = places.iter().chain(archive).map(|path| place(path, &options)).collect();
    let mut reading = read(search, input, Detail::TOTALS, output)?;
    let account = std::mem::take(&mut reading.scan.facts).settle(&prices);
    let found = Findings {
        places,
        retention,
        unpriced: unpriced(&account.models, &prices),
        stdin: stdin_kind(),
        configuration: variables.configuration.clone(),
    };
    let zone = Zone::system();
    let report = report::doctor(&found, &account, &zone).local(&zone);
    let report = variables.hints.fill_in(report, true);
    // The report is about nothing too.
    let status = output.deliver(&report.into(), ExitStatus::Done, style)?;
    Ok(match reading.stop {
        Some(stop) => stop,
        None if account.input.records == 0 => ExitStatus::NothingRead,
        None if reading.partial => ExitStatus::Partial,
        None => status,
    })
}

fn unpriced(models: &[String], prices: &Prices) -> Vec<String> {
    // Messages of the CLI itself name this model, and cost nothing.
    let is_unpriced = |model: &&String| prices.find(model).is_none() && *model != "<synthetic>";
    models.iter().filter(is_unpriced).cloned().collect()
}

fn stdin_kind() -> &'static str {
    match () {
        () if io::stdin().is_terminal() => "terminal",
        () if stdin::is_input() => "pipe or file",
        () => "device",
    }
}

/// Counts the logs of a place.
fn place(path: &Path, options: &Options) -> Place {
    let found = input::find(&Roots::Paths(vec![path.to_owned()]));
    // Standard input can be read only once.
    let readable = found.some(|at| found.sources[at].origin != Origin::Stdin);
    let sizes = files(&found.sources).filter_map(|path| path.metadata().ok()).map(|about| about.len());
    Place {
        path: path.to_string_lossy().into_owned(),
        exists: path.exists() || path == Path::new("-"),
        files: found.sources.len() as u64,
        bytes: sizes.sum(),
        is_archive: path.join(input::archive::MARKER).is_file(),
        first: scan::earliest(&readable.sources, options).get(),
    }
}

fn files(sources: &[Source]) -> impl Iterator<Item = &PathBuf> {
    sources.iter().filter_map(|source| match &source.origin {
        Origin::File(path) => Some(path),
        Origin::Stdin => None,
    })
}

/// When the CLI deletes saved sessions: so many days after their last change, at its next start.
fn retention(sources: &[Source], variables: &Variables) -> Retention {
    let (days, settings) = match cleanup_days(variables) {
        Some((days, path)) => (days, Some(path.to_string_lossy().into_owned())),
        None => (DEFAULT_DAYS, None),
    };
    let changes = files(sources).filter_map(|path| path.metadata().ok()?.modified().ok());
    let mut changes: Vec<Time> = changes.filter_map(time_of).collect();
    changes.sort_unstable();
    let kept = DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
    let kept = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
    let deleted = |change: &Time| Time::from_micros(change.micros().saturating_add(kept));
    let now = calendar::now();
    Retention {
        days,
        settings,
        oldest: changes.first().copied(),
        next: changes.first().map(deleted),
        due: changes.iter().filter(|change| deleted(change) <= now).count() as u64,
    }
}

/// A time of the file system.
pub(super) fn time_of(time: SystemTime) -> Option<Time> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Time::from_micros(i64::try_from(since.as_micros()).ok()?))
}

/// `cleanupPeriodDays` of the user's settings of the CLI, which are beside the folder of saved sessions.
fn cleanup_days(variables: &Variables) -> Option<(u64, PathBuf)> {
    let places = variables.environment().places();
    let settings = places.iter().filter_map(|place| Some(place.parent()?.join("settings.json")));
    settings.into_iter().find_map(|path| {
        let text = plan::read_text(&path, plan::MAX_CONFIG).ok()?;
        let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some((settings.get("cleanupPeriodDays")?.as_u64()?, path))
    })
}
