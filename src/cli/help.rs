//! The help: commands in groups, each with examples. Man pages are generated from it.

mod topic;

use std::fmt::Write;

use clap::{Command, CommandFactory, builder::Styles};

use topic::{Topic, topics};

use super::{args::Cli, github};
use crate::{
    error::ExitStatus,
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
    let template = template(&command);
    explained(command).help_template(template)
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

/// Formats terms and their meanings, one pair per line.
fn pairs(pairs: &[(impl AsRef<str>, &str)]) -> String {
    let width = pairs.iter().map(|(term, _)| term.as_ref().len()).max().unwrap_or(0);
    pairs.iter().map(|(term, meaning)| format!("  {:width$}  {meaning}\n", term.as_ref())).collect()
}

/// The help template of the program, with commands in groups: clap would list them under one heading.
fn template(command: &Command) -> String {
    let header = Styles::styled().get_header().to_owned();
    let literal = Styles::styled().get_literal().to_owned();
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in CommandGroup::ALL {
        let subs: Vec<&Command> = members(command, group);
        if subs.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{header}{}:{header:#}", group.heading());
        for sub in subs {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{:width$}{literal:#}  {about}", sub.get_name());
        }
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
    fn the_help_of_the_program_fits_eighty_columns() {
        let help = command().render_help().to_string();
        for line in help.lines().take_while(|line| *line != "Examples:") {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
