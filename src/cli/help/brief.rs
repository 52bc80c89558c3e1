//! The help of `-h`, which fits on a screen: the options of the command itself, filters if there is room, and the names of
//! all other options.

use clap::{Arg, Command};

use super::{LATER, examples, neighbours, width};
use crate::render::wrap::fill;

/// Examples that the short help shows, with room and without.
const EXAMPLES: (usize, usize) = (2, 1);

/// Column of the names in the list of other options.
const NAMES: usize = 11;

/// A command with more options of its own has no room for the descriptions of filters.
const FEW_OPTIONS: usize = 3;

/// Options with longer names have little room for their descriptions.
const LONG_NAME: usize = 16;

/// Descriptions that are longer may need a second line.
const LONG_HELP: usize = 51;

/// Words after which a long description can end.
const LESS_IMPORTANT: [&str; 7] =
    [": ", ", such as ", ", instead of ", ", whatever ", ", as the ", ", or ", " even if "];

/// How descriptions of gates begin, and the heading that says it once.
const GATE: &str = "Exit with 1 if ";
const GATES: &str = "Exit with 1 if";

/// The heading of the names of other options.
pub(super) const MORE: &str = "More options";

/// A command with the help of `-h`. `--help` keeps everything.
pub(super) fn brief(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, brief));
    let is_shown = |arg: &Arg| !arg.is_hide_set() && !arg.is_hide_short_help_set();
    let is_own = |arg: &&Arg| !arg.is_positional() && is_shown(arg) && later(arg).is_none();
    let has_room = command.get_arguments().filter(is_own).count() <= FEW_OPTIONS;
    let is_described = |arg: &Arg| later(arg).is_none() || (has_room && later(arg) == Some(LATER[0]));
    let mut text = String::new();
    for heading in LATER {
        let others: Vec<&Arg> =
            command.get_arguments().filter(|arg| later(arg) == Some(heading) && !is_described(arg)).collect();
        let names: Vec<String> =
            others.iter().filter(|arg| is_shown(arg)).filter_map(|arg| name(arg)).collect();
        if !names.is_empty() {
            text += &row(heading, &names.join(", "));
        }
    }
    if !text.is_empty() {
        text = format!("{MORE}, all of them with --help:\n{text}");
    }
    text += &below(&command, has_room);
    let shorter = |arg: Arg| if is_described(&arg) { shortened(arg) } else { arg.hide_short_help(true) };
    let command = command.mut_args(shorter).disable_version_flag(true).disable_help_subcommand(true);
    if text.is_empty() { command } else { command.after_help(text.trim().to_owned()) }
}

/// The section that every report has and that the argument is in.
fn later(arg: &Arg) -> Option<&'static str> {
    LATER.into_iter().find(|heading| arg.get_help_heading() == Some(heading))
}

/// Examples and neighbouring commands.
pub(super) fn below(command: &Command, has_room: bool) -> String {
    let count = if has_room { EXAMPLES.0 } else { EXAMPLES.1 };
    let example = |(about, line): &(&str, &str)| format!("  {about}:\n    {line}\n");
    let examples: String = examples(command).iter().take(count).map(example).collect();
    let beside = neighbours(command);
    let examples = if examples.is_empty() { examples } else { format!("\nExamples:\n{examples}") };
    if beside.is_empty() { examples } else { format!("{examples}\nSee also: {}", beside.join(", ")) }
}

/// `--since TIME`, `-f/--format FORMAT`.
fn name(arg: &Arg) -> Option<String> {
    let short = arg.get_short().map(|letter| format!("-{letter}/")).unwrap_or_default();
    let takes_value = arg.get_action().takes_values() && !arg.is_require_equals_set();
    let value = arg.get_value_names().filter(|_| takes_value).and_then(|names| names.first());
    let value = value.map(|name| format!(" {name}")).unwrap_or_default();
    Some(format!("{short}--{}{value}", arg.get_long()?))
}

/// A heading and a list beside it, wrapped between its elements.
fn row(heading: &str, list: &str) -> String {
    const INSIDE: char = '\u{fdd0}'; // a noncharacter in place of a space within an element
    let whole = list.replace(' ', &INSIDE.to_string()).replace(&format!(",{INSIDE}"), ", ");
    let rows = fill(&whole, Some(width().saturating_sub(NAMES).max(1)));
    let line = |(at, row): (usize, &String)| {
        let heading = if at == 0 { heading } else { "" };
        format!("  {heading:room$}{}\n", row.replace(INSIDE, " "), room = NAMES - 2)
    };
    rows.iter().enumerate().map(line).collect()
}

/// An argument with the first clause of its help, without lists of values.
fn shortened(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    let arg = if arg.get_long_help().is_none() { arg.long_help(help.clone()) } else { arg };
    let is_gate = arg.get_help_heading() == Some("Gates") && help.starts_with(GATE);
    let clause = help.split("; ").next().unwrap_or(&help);
    let clause = clause.strip_prefix(GATE).filter(|_| is_gate).unwrap_or(clause);
    let is_long = arg.get_long().is_some_and(|name| name.len() > LONG_NAME);
    let end = LESS_IMPORTANT.iter().filter_map(|words| clause.find(words)).min();
    let clause = end.filter(|_| is_long || clause.len() > LONG_HELP).map_or(clause, |end| &clause[..end]);
    let arg = if is_gate { arg.help_heading(GATES) } else { arg };
    let arg = if is_long { arg.value_name("N") } else { arg };
    let arg = arg.help(clause.to_owned());
    if arg.get_action().takes_values() {
        arg.hide_possible_values(true).hide_default_value(true)
    } else {
        arg
    }
}

#[cfg(test)]
mod tests {
    use clap::ColorChoice;

    use super::super::{brief_command, command, reordered};

    /// Lines that fit on a screen.
    const SCREEN: usize = 40;

    /// Every command and the ones below it, as typed.
    fn typed() -> Vec<Vec<String>> {
        fn below(command: &clap::Command, before: &[String]) -> Vec<Vec<String>> {
            let subs = command.get_subcommands().filter(|sub| sub.get_name() != "help");
            subs.flat_map(|sub| {
                let words = [before, &[sub.get_name().to_owned()]].concat();
                [vec![words.clone()], below(sub, &words)].concat()
            })
            .collect()
        }
        let command = command();
        [vec![vec![command.get_name().to_owned()]], below(&command, &[command.get_name().to_owned()])]
            .concat()
    }

    fn help(command: clap::Command, words: &[String], option: &str) -> String {
        let words = words.iter().map(String::as_str).chain([option]);
        let command = command.term_width(80).color(ColorChoice::Never);
        reordered(&command.try_get_matches_from(words).unwrap_err().render().to_string())
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_screen_of_80_columns() {
        let typed = typed();
        assert!(typed.len() > 40, "{typed:?}");
        for words in typed {
            let help = help(brief_command(), &words, "-h");
            assert!(help.lines().count() <= SCREEN, "{} lines: {help}", help.lines().count());
            let wide = help.lines().filter(|line| line.chars().count() > 80);
            assert_eq!(wide.collect::<Vec<_>>(), Vec::<&str>::new(), "{words:?}");
        }
    }

    #[test]
    fn the_short_help_has_the_options_of_the_command_and_the_long_help_has_all() {
        for words in typed() {
            let (brief, long) = (help(brief_command(), &words, "-h"), help(command(), &words, "--help"));
            let mut command = command();
            command.build();
            let own = words[1..].iter().fold(&command, |one, name| one.find_subcommand(name).unwrap());
            let options = own.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_long().is_some());
            for option in options {
                let name = format!("--{}", option.get_long().unwrap());
                assert!(long.contains(&name), "{words:?} --help has no {name}");
                let is_brief =
                    !option.is_hide_short_help_set() && (option.get_id() != "version" || words.len() == 1);
                assert!(brief.contains(&name) || !is_brief, "{words:?} -h has no {name}: {brief}");
            }
            assert!(brief.contains("see more with '--help'") || !long.contains("see a summary"), "{brief}");
        }
    }
}
