//! The help: commands in groups, each with examples. Man pages are generated from it.

mod brief;
mod topic;

use std::{fmt::Write as _, io, io::Write as _};

use clap::{Command, CommandFactory, builder::Styles};

use topic::{Topic, topics};

use super::{args::Cli, github};
use crate::{
    error::ExitStatus,
    render::wrap::fill,
    report::{CommandGroup, ReportSpec},
};

/// Examples in the help of the program itself.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "Summarize a run when it has ended",
        "claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize",
    ),
    ("Summarize all saved sessions", "ccstat summarize ~/.claude/projects"),
    ("Print the cost of a run", "ccstat summarize --format json run.jsonl | jq .cost.total_usd"),
];

/// The commands that most people need. The others are listed by `ccstat help all`.
const COMMON: &[&str] = &[
    "overview",
    "summarize",
    "run",
    "check",
    "show",
    "diff",
    "tools",
    "errors",
    "denials",
    "permissions",
    "sessions",
    "prompts",
    "cost",
    "daily",
    "doctor",
];

/// The widest that clap makes help.
const WIDEST: usize = 100;

/// Headings of the texts below the options.
const BELOW: [&str; 5] = ["Columns", "Outputs for GitHub", "Exit status", "Examples", "See also"];

/// The help topic of a command; `None` for nested commands.
fn topic(command: &Command) -> Option<Topic> {
    topics().find(|topic| topic.command == command.get_name())
}

/// The examples of a command, or of the program.
pub(super) fn examples(command: &Command) -> &'static [(&'static str, &'static str)] {
    if command.get_name() == "ccstat" {
        return EXAMPLES;
    }
    topic(command).map_or(&[], |topic| topic.examples)
}

/// Key and meaning of each column of the report that a command writes.
pub(super) fn columns(command: &Command) -> Vec<(&'static str, &'static str)> {
    let heads = ReportSpec::named(command.get_name()).map(ReportSpec::heads).unwrap_or_default();
    heads.iter().map(|head| (head.key, head.doc)).collect()
}

/// Name and meaning of each output for GitHub Actions, if the command has `--github`.
pub(super) fn outputs(command: &Command) -> Vec<(&'static str, &'static str)> {
    let has_github = command.get_arguments().any(|argument| argument.get_id() == "github");
    if has_github { github::outputs() } else { Vec::new() }
}

/// Exit codes and their meanings, for commands that read logs.
pub(super) fn exit_codes(command: &Command) -> Vec<(String, &'static str)> {
    if !command.get_arguments().any(|argument| argument.get_id() == "paths") {
        return Vec::new();
    }
    ExitStatus::ALL.iter().map(|status| (status.code().to_string(), status.meaning())).collect()
}

/// The command line with its complete help.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, explained));
    let template = template(&command, &|name| COMMON.contains(&name));
    explained(command).help_template(template)
}

/// The command line with the help of `-h`.
pub(super) fn brief_command() -> Command {
    let command = command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, brief::brief));
    let below = brief::below(&command, false);
    command.after_help(below.trim().to_owned())
}

/// Width of help texts that clap does not wrap.
fn width() -> usize {
    let limit = |width: u16| usize::from(width).clamp(40, WIDEST);
    terminal_size::terminal_size().map_or(WIDEST, |(width, _)| limit(width.0))
}

/// Prints the help with every command.
pub(super) fn print_all() -> io::Result<()> {
    let command = command();
    let template = template(&command, &|_| true);
    let help = command.help_template(template).after_help("").render_help();
    write!(anstream::stdout(), "{}", help.ansi())
}

/// Prints a help text that clap made.
pub(super) fn print(help: &clap::Error) -> io::Result<()> {
    write!(anstream::stdout(), "{}", reordered(&help.render().ansi().to_string()))
}

/// Sections that every report has, in the order of the help. Options of the command itself come before them.
const LATER: [&str; 3] = ["Filters", "Output", "Reading"];

/// Moves the sections that every report has behind those of the command itself, which clap lists in the order of
/// declaration.
fn reordered(help: &str) -> String {
    let title = |line: &str| {
        let plain = anstream::adapter::strip_str(line).to_string();
        (!plain.starts_with(' ')).then(|| plain.trim_end().strip_suffix(':').map(str::to_owned)).flatten()
    };
    let mut sections: Vec<(Option<String>, String)> = vec![(None, String::new())];
    for line in help.split_inclusive('\n') {
        match title(line) {
            Some(title) => sections.push((Some(title), line.to_owned())),
            None => sections.last_mut().into_iter().for_each(|(_, text)| text.push_str(line)),
        }
    }
    // The help of the program has groups of commands instead.
    if !sections.iter().any(|(title, _)| title.as_deref().is_some_and(|title| LATER[..2].contains(&title))) {
        return help.to_owned();
    }
    let rank = |title: &Option<String>| match title.as_deref() {
        None | Some("Commands" | "Arguments" | "Options") => 0,
        Some(title) if BELOW.contains(&title) || title.starts_with(brief::MORE) => 2 + LATER.len(),
        Some(title) => LATER.iter().position(|later| *later == title).map_or(1, |at| 2 + at),
    };
    sections.sort_by_key(|(title, _)| rank(title));
    // The last section had no blank line behind it.
    let texts: Vec<&str> =
        sections.iter().map(|(_, text)| text.trim_end()).filter(|text| !text.is_empty()).collect();
    texts.join("\n\n") + "\n"
}

/// Adds the help of a command, and the text below its options.
fn explained(command: Command) -> Command {
    let command = match topic(&command).and_then(|topic| topic.about) {
        Some((about, details)) => command.about(about).long_about(format!("{about}\n\n{details}")),
        None => command,
    };
    let mut short = String::from("Examples:");
    for (description, line) in examples(&command) {
        let _ = write!(short, "\n  {description}:\n    {line}");
    }
    let beside = neighbours(&command);
    if !beside.is_empty() {
        let _ = write!(short, "\n\nSee also: {}", beside.join(", "));
    }
    let long = [
        ("Columns", pairs(&columns(&command))),
        ("Outputs for GitHub", pairs(&outputs(&command))),
        ("Exit status", pairs(&exit_codes(&command))),
    ];
    let long = long.into_iter().filter(|(_, text)| !text.is_empty());
    let long: String = long.map(|(heading, text)| format!("{heading}:\n{text}\n")).collect();
    match examples(&command) {
        [] => command,
        _ => command.after_long_help(long + &short).after_help(short),
    }
}

/// The other commands of its group.
pub(super) fn neighbours(command: &Command) -> Vec<&'static str> {
    let Some(own) = topic(command) else { return Vec::new() };
    topics()
        .filter(|topic| topic.group == own.group && topic.command != own.command)
        .map(|topic| topic.command)
        .collect()
}

/// Formats terms and their meanings. A meaning that needs several lines stays in its column.
fn pairs(pairs: &[(impl AsRef<str>, &str)]) -> String {
    let longest = pairs.iter().map(|(term, _)| term.as_ref().len()).max().unwrap_or(0);
    let room = width().saturating_sub(longest + 4).max(1);
    let line = |(term, meaning): &(_, &str)| {
        let term: &str = AsRef::<str>::as_ref(term);
        let rows = fill(meaning, Some(room));
        let terms = std::iter::once(term).chain(std::iter::repeat(""));
        terms.zip(&rows).map(|(term, row)| format!("  {term:longest$}  {row}\n")).collect::<String>()
    };
    pairs.iter().map(line).collect()
}

/// The help template of the program, with commands in groups: clap would list them under one heading.
fn template(command: &Command, is_listed: &dyn Fn(&str) -> bool) -> String {
    let header = Styles::styled().get_header().to_owned();
    let literal = Styles::styled().get_literal().to_owned();
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in CommandGroup::ALL {
        let subs: Vec<&Command> =
            members(command, group).into_iter().filter(|sub| is_listed(sub.get_name())).collect();
        if subs.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{header}{}:{header:#}", group.heading());
        for sub in subs {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{:width$}{literal:#}  {about}", sub.get_name());
        }
    }
    let left_out = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help" && !is_listed(sub.get_name()))
        .count();
    if left_out > 0 {
        let _ = writeln!(text, "\n{literal}ccstat help all{literal:#} lists {left_out} more commands.");
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}

/// The commands of a group, in the order of the help.
pub(super) fn members(command: &Command, group: CommandGroup) -> Vec<&Command> {
    let topics = topics().filter(|topic| topic.group == group);
    topics.filter_map(|topic| command.find_subcommand(topic.command)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_two_examples() {
        let command = command();
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let topics: Vec<Topic> = topics().filter(|topic| topic.command == sub.get_name()).collect();
            assert_eq!(topics.len(), 1, "`{}` needs one row in OTHERS", sub.get_name());
            assert!(topics[0].examples.len() >= 2, "{}", sub.get_name());
            assert!(sub.get_about().is_some() && sub.get_long_about().is_some(), "{}", sub.get_name());
        }
        for topic in topics() {
            assert!(command.find_subcommand(topic.command).is_some(), "no command `{}`", topic.command);
        }
    }

    #[test]
    fn every_example_can_be_parsed() {
        let all = topics().flat_map(|topic| topic.examples).chain(EXAMPLES);
        for (description, line) in all {
            let ours = line.split("ccstat ").nth(1).unwrap_or_else(|| panic!("{line}"));
            // A command in a JSON setting ends with its quotation mark.
            let ours = if line.starts_with('{') { ours.split('"').next().unwrap_or(ours) } else { ours };
            // Spaces within quotation marks do not end a word.
            let word = |(at, part): (usize, &str)| part.replace(if at % 2 == 1 { " " } else { "'" }, "");
            let ours: String = ours.split('\'').enumerate().map(word).collect();
            let ours = ours
                .split([' ', ')'])
                .take_while(|word| !["|", ">"].contains(word))
                .filter(|word| !word.is_empty());
            let parsed = command().try_get_matches_from(["ccstat"].into_iter().chain(ours));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            assert!(!description.ends_with(['.', ':']), "{description}");
        }
    }

    #[test]
    fn the_help_of_the_program_lists_common_commands_and_all_of_them_on_request() {
        let command = command();
        for name in COMMON {
            assert!(command.find_subcommand(name).is_some(), "no command `{name}`");
        }
        let help = command.clone().render_help().to_string();
        assert!(help.contains("\n  tools ") && !help.contains("\n  kinds "), "{help}");
        assert!(help.lines().count() <= 45 && help.contains("ccstat help all lists"), "{help}");
        let all = template(&command, &|_| true);
        for topic in topics() {
            assert!(all.contains(topic.command), "{}", topic.command);
        }
    }

    #[test]
    fn the_help_of_a_report_fits_a_screen_and_has_its_own_options_first() {
        let help = |name: &str| {
            let error = command().try_get_matches_from(["ccstat", name, "-h"]).unwrap_err();
            reordered(&error.render().to_string())
        };
        let lines = help("tools").lines().count();
        assert!(lines <= 42, "{lines}");
        let help = help("check");
        let at = |heading: &str| {
            help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}: {help}"))
        };
        let order = ["Options", "Gates", "Filters", "Output", "Reading", "Examples"].map(at);
        assert!(order.is_sorted(), "{help}");
        assert!(help.contains("\nSee also: summarize, run, show"), "{help}");
    }

    #[test]
    fn the_help_of_the_program_fits_eighty_columns() {
        let help = command().render_help().to_string();
        for line in help.lines().take_while(|line| *line != "Examples:") {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
