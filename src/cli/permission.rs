//! `permissions`: what was allowed, what other settings would have done, and which rules would help.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint, builder::PossibleValuesParser};

use super::{
    args::Rows,
    plan::{self, Variables},
    rows::{Question, answer},
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    permission::{Context, Mode, Settings},
    render::Style,
    report::{self, Trial, View},
};

/// Arguments of `permissions`.
#[derive(Debug, Args)]
pub struct Permissions {
    /// What every report has.
    #[command(flatten)]
    pub rows: Rows,
    /// Try the rules of this settings.json on the calls; may be given several times
    ///
    /// Says for each call what they would have done and by which rule; calls that would have ended another way come first, and
    /// rules that match no call are named. The name of a file says whose it is: settings.local.json, managed-settings.json, one
    /// in ~/.claude, else the project's.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Permissions")]
    pub settings: Vec<PathBuf>,
    /// Try them in this mode; without it in defaultMode of the settings, else in the mode of each call
    #[arg(
        long,
        requires = "settings",
        help_heading = "Permissions",
        value_parser = PossibleValuesParser::new(Mode::ALL.iter().map(|mode| mode.word()))
    )]
    pub mode: Option<String>,
    /// Suggest allow rules that would have let the refused calls through
    ///
    /// A call that no rule can help is listed with the reason: it was refused by a hook, a person, plan mode, a deny or ask
    /// rule, or an interrupt.
    #[arg(long, conflicts_with = "settings", help_heading = "Permissions")]
    pub suggest: bool,
    /// How broad a suggested rule may be
    #[arg(long, requires = "suggest", value_enum, default_value = "exact", help_heading = "Permissions")]
    pub breadth: Breadth,
}

/// How broad a suggested rule may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Breadth {
    /// The very command, file, host or name
    Exact,
    /// Commands that begin alike, files of the same folder
    Prefix,
    /// Any use of the tool
    Tool,
}

impl From<Breadth> for crate::permission::Breadth {
    fn from(breadth: Breadth) -> Self {
        match breadth {
            Breadth::Exact => Self::Exact,
            Breadth::Prefix => Self::Prefix,
            Breadth::Tool => Self::Tool,
        }
    }
}

pub(super) fn permissions(
    asked: &Permissions,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    let question = |report, make| Question { detail: Detail::Traces, ..Question::rows(report, make) };
    if asked.suggest {
        let breadth = asked.breadth.into();
        let make = |view: &View<'_>| report::suggestions(view, breadth);
        return answer(&asked.rows, &question("suggestions", &make), variables, style);
    }
    let trial = trial(asked, variables.home())?;
    let make = |view: &View<'_>| report::permissions(view, trial.as_ref());
    answer(&asked.rows, &question("permissions", &make), variables, style)
}

/// The settings to try, if any.
fn trial(asked: &Permissions, home: Option<&str>) -> Result<Option<Trial>, Error> {
    let mut all = Vec::new();
    for path in &asked.settings {
        let text = plan::read_text(path, plan::MAX_CONFIG)?;
        let name = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let settings = Settings::read(
            &path.to_string_lossy(),
            &text,
            Some(Settings::scope_of(&name.to_string_lossy(), home)),
        );
        all.push(settings.map_err(|error| Error::Usage(error.to_string()))?);
    }
    if all.is_empty() {
        return Ok(None);
    }
    let context = Context::of_settings(&all);
    let named = all.iter().any(|settings| settings.mode.is_some()).then_some(context.mode);
    let mode = asked.mode.as_deref().and_then(Mode::named).or(named);
    Ok(Some(Trial { context, mode }))
}
