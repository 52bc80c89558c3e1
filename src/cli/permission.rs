//! `permissions`: shows what was allowed, tries other settings, and suggests rules.

use std::{cell::Cell, path::PathBuf};

use clap::{Args, Subcommand, ValueHint, builder::PossibleValuesParser};

use super::{
    args::{Output, Rows},
    complain,
    plan::{self, Variables},
    rows::{ReportRequest, write_report},
};
use crate::{
    error::{Error, ExitStatus},
    facts::Detail,
    permission::{Behaviour, Breadth, BrokenRule, Context, Mode, Rule, Scope, Settings},
    render::Style,
    report::{self, Gate, Kind, TestedCall, Trial, View},
};

/// Arguments of `permissions`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Permissions {
    /// Arguments of every report.
    #[command(flatten)]
    pub rows: Rows,
    /// The settings to try.
    #[command(flatten)]
    pub tried: Files,
    /// Suggest allow rules for the denied calls
    ///
    /// Rules that would have helped most runs come first. A call that no rule can allow is listed with the
    /// reason, such as a hook, a person, plan mode, a deny or ask rule, or an interrupt.
    #[arg(long, conflicts_with = "settings", help_heading = "Permissions")]
    pub suggest: bool,
    /// How broad a suggested rule may be
    #[arg(long, requires = "suggest", value_enum, default_value = "exact", help_heading = "Permissions")]
    pub breadth: Breadth,
    /// Exit with 1 if there is any of these, such as invalid,denial
    ///
    /// As with `check`. A broken rule in the settings, which the CLI ignores, counts as invalid too.
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',', help_heading = "Permissions")]
    pub fail_on: Vec<Kind>,
    /// A command below `permissions`.
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// Settings files to try, and how they are used.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub struct Files {
    /// Try the rules of this settings.json on the calls; may be given several times
    ///
    /// Shows for each call what the rules would have done, and which rule decided. Calls with a different
    /// outcome come first, and rules that match no call or have no effect are listed. The path of a file
    /// gives its scope: settings.local.json, managed-settings.json, .claude/settings.json in the home folder
    /// or in a project; any other file counts as given to the CLI with --settings. Paths in a project's rules
    /// are relative to the folder that the log names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub settings: Vec<PathBuf>,
    /// Use this scope for the settings files, whatever their path; once for all files or once for each
    #[arg(
        long,
        requires = "settings",
        value_parser = PossibleValuesParser::new(Scope::ALL.iter().map(|scope| scope.name()))
    )]
    pub scope: Vec<String>,
    /// Ignore what a project's settings.json allows, as the CLI does in a folder that is not trusted
    ///
    /// In a fresh checkout, as in CI, allow rules and additionalDirectories of the project's file have no
    /// effect; its deny and ask rules and all other files do.
    #[arg(long, requires = "settings")]
    pub untrusted: bool,
    /// Try the rules in this mode; the default is defaultMode of the settings, or else the mode of each call
    #[arg(long, value_parser = PossibleValuesParser::new(Mode::ALL.iter().map(|mode| mode.name())))]
    pub mode: Option<String>,
}

/// Commands below `permissions`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Try rules on a command, part by part, without a log
    ///
    /// Shows what the CLI would do with the command and with each of its parts, and which rule decides. The
    /// command is not run.
    Test(Test),
}

/// Arguments of `permissions test`.
#[derive(Debug, Args)]
pub struct Test {
    /// Rules that allow, such as 'Bash(npm run *)'
    #[arg(value_name = "RULE")]
    pub allow: Vec<String>,
    /// A rule that denies; may be given several times
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<String>,
    /// A rule that asks; may be given several times
    #[arg(long, value_name = "RULE")]
    pub ask: Vec<String>,
    /// The settings to try.
    #[command(flatten)]
    pub tried: Files,
    /// The tool; for other tools than Bash, the text after -- is the path, URL or name that the tool is given
    #[arg(long, value_name = "NAME", default_value = "Bash")]
    pub tool: String,
    /// The folder of the project; the default is the current folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// The command as an option, so that other options can follow it
    #[arg(long = "command", value_name = "TEXT", conflicts_with = "words")]
    pub text: Option<String>,
    /// The command
    #[arg(last = true, required_unless_present = "text", value_name = "COMMAND")]
    pub words: Vec<String>,
    /// Format and destination.
    #[command(flatten)]
    pub output: Output,
}

pub(super) fn permissions(
    arguments: &Permissions,
    variables: &Variables,
    style: Style,
) -> Result<ExitStatus, Error> {
    if let Some(Action::Test(test)) = &arguments.action {
        return self::test(test, variables, style);
    }
    let gates: Vec<Gate> = arguments.fail_on.iter().copied().map(Gate::FailOn).collect();
    let failed = Cell::new(false);
    let judge = |view: &View<'_>| failed.set(report::judge(view, &gates, None).iter().any(|one| !one.held));
    let request = |spec, make| {
        let request = ReportRequest::of(spec, make);
        ReportRequest { detail: gates.iter().map(Gate::detail).fold(request.detail, Detail::and), ..request }
    };
    let ended =
        |status| if failed.get() && status == ExitStatus::Done { ExitStatus::GateFailed } else { status };
    if arguments.suggest {
        let breadth = arguments.breadth;
        let make = |view: &View<'_>| {
            judge(view);
            report::suggestions(view, breadth)
        };
        return write_report(&arguments.rows, &request(&report::SUGGESTIONS, &make), variables, style)
            .map(ended);
    }
    if arguments.tried.mode.is_some() && arguments.tried.settings.is_empty() {
        return Err(Error::Usage("--mode needs settings to try: add --settings FILE".to_owned()));
    }
    let trial = arguments.tried.trial(variables.home())?;
    let broken = trial.as_ref().is_some_and(|trial| !trial.broken.is_empty());
    let make = |view: &View<'_>| {
        judge(view);
        failed.set(failed.get() || broken && arguments.fail_on.contains(&Kind::Invalid));
        report::permissions(view, trial.as_ref())
    };
    write_report(&arguments.rows, &request(&report::PERMISSIONS, &make), variables, style).map(ended)
}

fn test(test: &Test, variables: &Variables, style: Style) -> Result<ExitStatus, Error> {
    test.output.fits(report::VERDICTS.name)?;
    let mut trial = test.tried.trial(variables.home())?.unwrap_or_default();
    let all = [(Behaviour::Allow, &test.allow), (Behaviour::Deny, &test.deny), (Behaviour::Ask, &test.ask)];
    for (behaviour, rules) in all {
        for text in rules {
            let rule = Rule::parse(text).map_err(|error| Error::Usage(error.to_string()))?;
            trial.context.add(behaviour, Scope::CliArg, rule);
        }
    }
    trial.context.mode = trial.mode.unwrap_or(trial.context.mode);
    let folder = test.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let text = test.text.clone().unwrap_or_else(|| test.words.join(" "));
    let tried = TestedCall { tool: &test.tool, text: &text, folder: &folder.to_string_lossy() };
    test.output.deliver(&report::verdicts(&trial, &tried).into(), ExitStatus::Done, style)
}

impl Files {
    /// Reads the settings to try, if any. Reports broken rules on standard error.
    fn trial(&self, home: Option<&str>) -> Result<Option<Trial>, Error> {
        let mode = self.mode.as_deref().and_then(Mode::named);
        if self.settings.is_empty() {
            return Ok(mode.map(|mode| Trial { mode: Some(mode), ..Trial::default() }));
        }
        if self.scope.len() > 1 && self.scope.len() != self.settings.len() {
            let hint = "give --scope once, or once for each --settings";
            return Err(Error::Usage(format!("{hint}: {} for {}", self.scope.len(), self.settings.len())));
        }
        let mut all = Vec::new();
        for (index, path) in self.settings.iter().enumerate() {
            let only = || self.scope.first().filter(|_| self.scope.len() == 1);
            let name = self.scope.get(index).or_else(only);
            all.push(read(path, name.and_then(|name| Scope::named(name)), home)?);
        }
        let allowing = |settings: &Settings| settings.clone().distrust();
        let of_project = all.iter().map(allowing).sum();
        if self.untrusted {
            all.iter_mut().for_each(|settings| {
                settings.distrust();
            });
        }
        let broken: Vec<BrokenRule> = all.iter().flat_map(|settings| settings.broken.clone()).collect();
        broken.iter().for_each(|broken| complain(&broken.to_string()));
        let context = Context::from_settings(&all);
        let named = all.iter().any(|settings| settings.mode.is_some()).then_some(context.mode);
        Ok(Some(Trial {
            mode: mode.or(named),
            ignored_modes: all.iter().filter_map(|settings| settings.ignored_mode).collect(),
            context,
            broken,
            of_project,
            untrusted: self.untrusted,
        }))
    }
}

fn read(path: &PathBuf, scope: Option<Scope>, home: Option<&str>) -> Result<Settings, Error> {
    let text = plan::read_text(path, plan::MAX_CONFIG)?;
    let place = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let scope = scope.unwrap_or_else(|| Settings::scope_of(&place.to_string_lossy(), home));
    Settings::read(&path.to_string_lossy(), &text, Some(scope))
        .map_err(|error| Error::Usage(error.to_string()))
}
