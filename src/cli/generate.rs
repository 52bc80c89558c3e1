//! `generate`: writes man pages and shell completions from the arguments and their help.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{Arg, Args, Command, Subcommand, ValueEnum, builder::PossibleValuesParser};
use clap_complete::{Shell as Classic, generate};
use clap_complete_nushell::Nushell;
use clap_mangen::{
    Man,
    roff::{Inline, Roff, bold, roman},
};

use super::{complete, config, help, output::print, plan::Variables, whole::write_whole};
use crate::{
    error::{Error, ExitStatus},
    report::{CommandGroup, LATEST},
};

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// The artifact to generate.
    #[command(subcommand)]
    pub artifact: Artifact,
}

/// The files that can be generated.
#[derive(Debug, Subcommand)]
pub enum Artifact {
    /// Write the man pages to a folder, one per command
    Man {
        /// The folder to write to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell to complete for
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print ids of saved sessions, newest first, for completion scripts
    #[command(hide = true)]
    SessionIds,
}

/// Shells with a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "names of shells need no explanation")]
pub enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    Powershell,
    Zsh,
}

pub(super) fn run(generate: &Generate, variables: &Variables) -> Result<ExitStatus, Error> {
    match &generate.artifact {
        Artifact::Man { folder } => man(folder)?,
        Artifact::Completions { shell } => print(|out| completions(*shell, out))?,
        Artifact::SessionIds => {
            let ids = complete::sessions(variables);
            print(|out| ids.iter().try_for_each(|id| writeln!(out, "{id}")))?;
        }
    }
    Ok(ExitStatus::Done)
}

fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    let (command, name) = (&mut completed(help::command()), "ccstat");
    let mut text = Vec::new();
    match shell {
        Shell::Bash => generate(Classic::Bash, command, name, &mut text),
        Shell::Elvish => generate(Classic::Elvish, command, name, &mut text),
        Shell::Fish => generate(Classic::Fish, command, name, &mut text),
        Shell::Nushell => generate(Nushell, command, name, &mut text),
        Shell::Powershell => generate(Classic::PowerShell, command, name, &mut text),
        Shell::Zsh => generate(Classic::Zsh, command, name, &mut text),
    }
    let script = complete::extended(shell, &String::from_utf8_lossy(&text), command);
    out.write_all(script.as_bytes())
}

/// Adds the values that only completions list: columns to sort by and to select, and `latest` for a session. Headings and
/// beginnings of ids are accepted too, so parsing does not know these lists.
fn completed(command: Command) -> Command {
    let with_values = |sub: Command| {
        let keys: Vec<&'static str> = help::columns(&sub).into_iter().map(|(key, _)| key).collect();
        let is_session = |arg: &Arg| arg.get_id() == "id" && arg.is_positional();
        let values = |arg: Arg| match arg.get_id().as_str() {
            "sort" | "columns" if !keys.is_empty() => arg.value_parser(PossibleValuesParser::new(&keys)),
            _ if is_session(&arg) => arg.value_parser([LATEST]),
            _ => arg,
        };
        sub.mut_args(values)
    };
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, with_values))
}

/// Writes a page for the program and one for each command.
fn man(folder: &Path) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| Error::WriteFile { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    for command in with_subcommands(command) {
        let path = folder.join(format!("{}.1", title(&command)));
        write_whole(&path, |out| page(&command, out)).map_err(failed(&path))?;
    }
    Ok(())
}

/// A command and all commands below it.
fn with_subcommands(command: Command) -> Vec<Command> {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let below: Vec<Command> = shown.cloned().flat_map(with_subcommands).collect();
    [command].into_iter().chain(below).collect()
}

/// The name of the page, such as `ccstat-generate-man`.
fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// Writes one page. It has no date, so that it changes only with the program.
fn page(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let source = concat!("ccstat ", env!("CARGO_PKG_VERSION"));
    // Pages leave out the text of options that only the long help lists, unless it is a long text.
    let described = |arg: Arg| match arg.get_help().filter(|_| arg.get_long_help().is_none()).cloned() {
        Some(help) => arg.long_help(help),
        None => arg,
    };
    let man = Man::new(command.clone().mut_args(described)).source(source).manual("ccstat");
    man.render_title(out)?;
    man.render_name_section(out)?;
    synopsis(command).to_writer(out)?;
    man.render_description_section(out)?;
    commands(command).to_writer(out)?;
    man.render_options_section(out)?;
    list("COLUMNS", &help::columns(command)).to_writer(out)?;
    list("OUTPUTS FOR GITHUB", &help::outputs(command)).to_writer(out)?;
    if command.get_name() == "ccstat" {
        list("CONFIGURATION KEYS", &config::keys()).to_writer(out)?;
    }
    list("EXIT STATUS", &help::exit_codes(command)).to_writer(out)?;
    examples(command).to_writer(out)?;
    see_also(command).to_writer(out)
}

fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let name = title(command).replace('-', " ");
    let rest = usage.strip_prefix(&name).unwrap_or(usage).to_owned();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text([bold(name), roman(rest)]);
    roff
}

/// The commands, grouped as in the help. Commands below a command have no groups.
fn commands(command: &Command) -> Roff {
    let mut roff = Roff::new();
    if !command.has_subcommands() {
        return roff;
    }
    roff.control("SH", ["COMMANDS"]);
    let entry = |roff: &mut Roff, sub: &Command| {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        roff.control("TP", []).text([bold(format!("{}(1)", title(sub)))]).text([roman(about)]);
    };
    let groups = CommandGroup::ALL.map(|group| (group, help::members(command, group)));
    if groups.iter().all(|(_, subs)| subs.is_empty()) {
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        shown.for_each(|sub| entry(&mut roff, sub));
    }
    for (group, subs) in groups.iter().filter(|(_, subs)| !subs.is_empty()) {
        roff.control("SS", [group.heading()]);
        subs.iter().for_each(|sub| entry(&mut roff, sub));
    }
    roff
}

/// A section with a list of terms and their meanings.
fn list(heading: &str, pairs: &[(impl AsRef<str>, impl AsRef<str>)]) -> Roff {
    let mut roff = Roff::new();
    if !pairs.is_empty() {
        roff.control("SH", [heading]);
    }
    for (term, meaning) in pairs {
        roff.control("TP", []).text([bold(term.as_ref())]).text([roman(meaning.as_ref())]);
    }
    roff
}

fn examples(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let examples = help::examples(command);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for (description, line) in examples {
        roff.control("PP", []).text([roman(format!("{description}:"))]);
        roff.control("PP", []).control("RS", ["4"]).control("nf", []).text([roman(*line)]);
        roff.control("fi", []).control("RE", []);
    }
    roff
}

/// References to the pages of the commands above this one.
fn see_also(command: &Command) -> Roff {
    let title = title(command);
    let mut roff = Roff::new();
    let above: Vec<Inline> =
        title.match_indices('-').map(|(at, _)| bold(format!("{}(1) ", &title[..at]))).collect();
    if !above.is_empty() {
        roff.control("SH", ["SEE ALSO"]).text(above);
    }
    roff
}
