//! The help: commands in groups, each with examples. Man pages are made of the same.

use std::fmt::Write;

use clap::{Command, CommandFactory, builder::Styles};

use super::{args::Cli, github};
use crate::{error::ExitStatus, report::Entry};

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// What happened in one run, or in several taken together.
    Run,
    /// What happened over days and sessions.
    History,
    /// What other programs ask for.
    Programs,
}

impl Group {
    /// In the order of the help.
    pub(super) const ALL: [Self; 3] = [Self::Run, Self::History, Self::Programs];

    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Run => "A run",
            Self::History => "History",
            Self::Programs => "For programs",
        }
    }
}

/// What the help says of a command beside its arguments.
pub(super) struct Topic {
    /// The command; empty for the program itself.
    pub(super) command: &'static str,
    /// Where it is listed.
    pub(super) group: Group,
    /// What for, and what to type.
    pub(super) examples: &'static [(&'static str, &'static str)],
}

/// Every command once, in the order of the help. A new command gets a row.
pub(super) const TOPICS: &[Topic] = &[
    Topic {
        command: "summarize",
        group: Group::Run,
        examples: &[
            (
                "A run, when it has ended",
                "claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize",
            ),
            ("The saved sessions of a project", "ccstat summarize ~/.claude/projects/my-project"),
            (
                "A screen for the log of a job, and files for later",
                "ccstat summarize run.jsonl -o run.json -o run.md",
            ),
            ("A run that goes on, as it goes on", "ccstat summarize --follow run.jsonl"),
            (
                "A step of a workflow on GitHub, and its result as a test",
                "ccstat summarize run.jsonl --github -o run.xml",
            ),
        ],
    },
    Topic {
        command: "check",
        group: Group::Run,
        examples: &[
            (
                "Fail a job when a run was refused something, failed or did not end",
                "ccstat check run.jsonl --fail-on denial,error,no-result",
            ),
            ("A night of runs, none of them dear", "ccstat check runs/ --max-cost 0.50 --max-turns 30"),
        ],
    },
    Topic {
        command: "run",
        group: Group::Run,
        examples: &[
            (
                "A job that fails if a call was denied or it cost more than two dollars",
                "ccstat run --fail-on denial,no-result --max-cost 2 -- claude -p fix --output-format stream-json --verbose",
            ),
            (
                "Stop a run that takes too long, and keep its log",
                "ccstat run --max-duration 20m --stop-on-gate --tee run.jsonl -- ./agent.sh",
            ),
            (
                "Read along in a terminal",
                "ccstat run --print text -- claude -p fix --output-format stream-json --verbose",
            ),
        ],
    },
    Topic {
        command: "tools",
        group: Group::Run,
        examples: &[
            ("Which tools failed, in a run", "ccstat tools run.jsonl --sort errors"),
            (
                "The slowest tools of the last week, of MCP servers only",
                "ccstat tools ~/.claude/projects --since 7d --tool mcp__* --sort p90_ms",
            ),
        ],
    },
    Topic {
        command: "turns",
        group: Group::Run,
        examples: &[
            ("What each turn of a run cost", "ccstat turns run.jsonl"),
            ("The dearest turns of a night of runs", "ccstat turns runs/ --sort cost_usd --limit 10"),
        ],
    },
    Topic {
        command: "calls",
        group: Group::Run,
        examples: &[
            ("What failed, and where", "ccstat calls run.jsonl --limit 20"),
            (
                "All calls of a tool, for a spreadsheet",
                "ccstat calls ~/.claude/projects --tool Bash -q -o calls.csv",
            ),
        ],
    },
    Topic {
        command: "denials",
        group: Group::Run,
        examples: &[
            ("What was refused in a run", "ccstat denials run.jsonl"),
            ("What was refused since yesterday", "ccstat denials ~/.claude/projects --since yesterday"),
        ],
    },
    Topic {
        command: "errors",
        group: Group::Run,
        examples: &[
            ("What failed in a run", "ccstat errors run.jsonl"),
            ("Where the API kept people waiting", "ccstat errors ~/.claude/projects --sort wait_ms"),
        ],
    },
    Topic {
        command: "kinds",
        group: Group::Run,
        examples: &[
            ("What a log is made of", "ccstat kinds run.jsonl"),
            (
                "What a new CLI version writes that is not known yet",
                "ccstat kinds ~/.claude/projects --sort known:asc",
            ),
        ],
    },
    Topic {
        command: "agents",
        group: Group::Run,
        examples: &[
            ("Who did what in a run", "ccstat agents run.jsonl"),
            ("The subagents of one session", "ccstat agents ~/.claude/projects --session 0002 --subagents"),
        ],
    },
    Topic {
        command: "permissions",
        group: Group::Run,
        examples: &[
            ("Who refused what in a run", "ccstat permissions run.jsonl"),
            (
                "What new settings would have done to the runs of a week",
                "ccstat permissions --settings .claude/settings.json --since 7d ~/.claude/projects",
            ),
            ("Rules for what was refused", "ccstat permissions --suggest --breadth prefix run.jsonl"),
        ],
    },
    Topic {
        command: "hooks",
        group: Group::Run,
        examples: &[
            ("Which hooks block or fail", "ccstat hooks ~/.claude/projects --sort blocked"),
            (
                "The slowest hooks of the last week",
                "ccstat hooks ~/.claude/projects --since 7d --sort max_ms",
            ),
        ],
    },
    Topic {
        command: "mcp",
        group: Group::Run,
        examples: &[
            ("The servers of a run, and how they are", "ccstat mcp run.jsonl"),
            ("Which servers are slow", "ccstat mcp ~/.claude/projects --sort p90_ms"),
        ],
    },
    Topic {
        command: "tasks",
        group: Group::Run,
        examples: &[
            ("What a run left running", "ccstat tasks run.jsonl --sort status"),
            (
                "The longest tasks since yesterday",
                "ccstat tasks ~/.claude/projects --since yesterday --sort wall_ms",
            ),
        ],
    },
    Topic {
        command: "limits",
        group: Group::Run,
        examples: &[
            ("Where a run was held up or cut short", "ccstat limits run.jsonl"),
            (
                "Every compaction of a month, for a spreadsheet",
                "ccstat limits ~/.claude/projects --since 30d --format csv",
            ),
        ],
    },
    Topic {
        command: "questions",
        group: Group::Run,
        examples: &[
            ("What was asked, and what became of it", "ccstat questions run.jsonl"),
            (
                "Questions of a month that waited longest",
                "ccstat questions ~/.claude/projects --since 30d --sort latency_ms --limit 10",
            ),
        ],
    },
    Topic {
        command: "commands",
        group: Group::Run,
        examples: &[
            ("Commands, skills and agents of a run", "ccstat commands run.jsonl"),
            (
                "Skills that nobody uses, for a spreadsheet",
                "ccstat commands ~/.claude/projects --sort used:asc --format csv",
            ),
        ],
    },
    Topic {
        command: "control",
        group: Group::Run,
        examples: &[
            ("What the CLI and its host asked of each other", "ccstat control run.jsonl"),
            (
                "Both sides of a run, with the time that approvals took",
                "ccstat control stdin.jsonl stdout.jsonl --sort latency_ms",
            ),
        ],
    },
    Topic {
        command: "show",
        group: Group::Run,
        examples: &[
            ("The session that began last", "ccstat show latest"),
            (
                "What happened in a run, from the 8 digits that `ccstat sessions` shows",
                "ccstat show 0a1b2c3d runs/",
            ),
        ],
    },
    Topic {
        command: "diff",
        group: Group::Run,
        examples: &[
            ("What a change of the prompt did", "ccstat diff before.jsonl after.jsonl"),
            (
                "Fail if runs of a branch cost a tenth more than those of main",
                "ccstat diff runs/main runs/branch --max-cost-increase 10%",
            ),
        ],
    },
    Topic {
        command: "explain",
        group: Group::Run,
        examples: &[
            ("Where the cost of a run comes from", "ccstat explain cost run.jsonl"),
            (
                "The same of one saved session, for a spreadsheet",
                "ccstat explain cost ~/.claude/projects --session 0a1b2c3d --format csv",
            ),
        ],
    },
    Topic {
        command: "sessions",
        group: Group::History,
        examples: &[
            ("The sessions of the last week", "ccstat sessions --since 7d"),
            ("Runs that failed or were refused something", "ccstat sessions --outcome error,denied runs/"),
        ],
    },
    Topic {
        command: "cost",
        group: Group::History,
        examples: &[
            ("Why last month was so dear", "ccstat cost --since 1month --by project,model"),
            ("What subagents cost", "ccstat cost --by agent ~/.claude/projects"),
        ],
    },
    Topic {
        command: "daily",
        group: Group::History,
        examples: &[
            ("The last week, day by day", "ccstat daily --since 7d"),
            (
                "Days of a project, in another time zone",
                "ccstat daily --project my-app --timezone America/New_York",
            ),
        ],
    },
    Topic {
        command: "weekly",
        group: Group::History,
        examples: &[("Week by week", "ccstat weekly"), ("For a spreadsheet", "ccstat weekly --format csv")],
    },
    Topic {
        command: "monthly",
        group: Group::History,
        examples: &[("Month by month", "ccstat monthly"), ("Of one model", "ccstat monthly --model opus")],
    },
    Topic {
        command: "blocks",
        group: Group::History,
        examples: &[
            ("Today's windows, as they fill", "ccstat blocks --since today --follow"),
            ("The dearest ones", "ccstat blocks --sort cost_usd --limit 5"),
        ],
    },
    Topic {
        command: "schema",
        group: Group::Programs,
        examples: &[
            ("The reports there are", "ccstat schema"),
            ("What a program may rely on in the summary", "ccstat schema summary"),
        ],
    },
    Topic {
        command: "export",
        group: Group::Programs,
        examples: &[
            (
                "Every response of a month, for a spreadsheet",
                "ccstat export responses --since 30d ~/.claude/projects > responses.csv",
            ),
            (
                "What tools were given and what they answered",
                "ccstat export calls --include-content --format jsonl run.jsonl",
            ),
        ],
    },
    Topic {
        command: "prices",
        group: Group::Programs,
        examples: &[
            ("The most expensive models", "ccstat prices --sort output --limit 5"),
            (
                "All prices, with those of a file of your own",
                "ccstat prices --pricing model_prices.json --format csv",
            ),
        ],
    },
    Topic {
        command: "generate",
        group: Group::Programs,
        examples: &[
            ("Completions for this shell", "source <(ccstat generate completions bash)"),
            ("Man pages where man finds them", "ccstat generate man ~/.local/share/man/man1"),
        ],
    },
];

/// What the help of the program itself shows.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "A run, when it has ended",
        "claude -p 'fix the tests' --output-format stream-json --verbose | ccstat summarize",
    ),
    ("All saved sessions", "ccstat summarize ~/.claude/projects"),
    ("What a run cost", "ccstat summarize --format json run.jsonl | jq .cost.total_usd"),
];

/// What the help says of this command; nothing for those below another command.
pub(super) fn topic(command: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.command == command)
}

/// The examples of a command; those of the program for itself.
pub(super) fn examples(command: &Command) -> &'static [(&'static str, &'static str)] {
    if command.get_name() == "ccstat" {
        return EXAMPLES;
    }
    topic(command.get_name()).map_or(&[], |topic| topic.examples)
}

/// Key and meaning of each column of the report that a command writes.
pub(super) fn columns(command: &Command) -> Vec<(&'static str, &'static str)> {
    let heads = Entry::named(command.get_name()).map(Entry::heads).unwrap_or_default();
    heads.iter().map(|head| (head.key, head.doc)).collect()
}

/// Name and meaning of each output that a command gives to GitHub.
pub(super) fn outputs(command: &Command) -> Vec<(&'static str, &'static str)> {
    let tells = command.get_arguments().any(|argument| argument.get_id() == "github");
    if tells { github::outputs() } else { Vec::new() }
}

/// How a command can end; only those that read logs have something to say.
pub(super) fn endings(command: &Command) -> Vec<(String, &'static str)> {
    if !command.get_arguments().any(|argument| argument.get_id() == "paths") {
        return Vec::new();
    }
    ExitStatus::ALL.iter().map(|status| (status.code().to_string(), status.meaning())).collect()
}

/// The arguments with all of their help.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, explained));
    let template = template(&command);
    explained(command).help_template(template)
}

/// A command with what stands below its options.
fn explained(command: Command) -> Command {
    let mut short = String::from("Examples:");
    for (what, line) in examples(&command) {
        let _ = write!(short, "\n  {what}:\n    {line}");
    }
    let long = [
        ("Columns", pairs(&columns(&command))),
        ("Outputs for GitHub", pairs(&outputs(&command))),
        ("Exit status", pairs(&endings(&command))),
    ];
    let long = long.into_iter().filter(|(_, text)| !text.is_empty());
    let long: String = long.map(|(heading, text)| format!("{heading}:\n{text}\n")).collect();
    match examples(&command) {
        [] => command,
        _ => command.after_long_help(long + &short).after_help(short),
    }
}

/// Words and what they mean, a line each.
fn pairs(pairs: &[(impl AsRef<str>, &str)]) -> String {
    let width = pairs.iter().map(|(word, _)| word.as_ref().len()).max().unwrap_or(0);
    pairs.iter().map(|(word, meaning)| format!("  {:width$}  {meaning}\n", word.as_ref())).collect()
}

/// The program's own help: clap lists commands under one heading, here they are in groups.
fn template(command: &Command) -> String {
    let header = Styles::styled().get_header().to_owned();
    let literal = Styles::styled().get_literal().to_owned();
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for group in Group::ALL {
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

/// The commands of a group that exist.
pub(super) fn members(command: &Command, group: Group) -> Vec<&Command> {
    let topics = TOPICS.iter().filter(|topic| topic.group == group);
    topics.filter_map(|topic| command.find_subcommand(topic.command)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_two_examples() {
        let command = command();
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let topics: Vec<&Topic> = TOPICS.iter().filter(|topic| topic.command == sub.get_name()).collect();
            assert_eq!(topics.len(), 1, "`{}` needs one row in TOPICS", sub.get_name());
            assert!(topics[0].examples.len() >= 2, "{}", sub.get_name());
            assert!(sub.get_about().is_some() && sub.get_long_about().is_some(), "{}", sub.get_name());
        }
        for topic in TOPICS {
            assert!(command.find_subcommand(topic.command).is_some(), "no command `{}`", topic.command);
        }
    }

    #[test]
    fn every_example_can_be_typed() {
        let all = TOPICS.iter().flat_map(|topic| topic.examples).chain(EXAMPLES);
        for (what, line) in all {
            let ours = line.split("ccstat ").nth(1).unwrap_or_else(|| panic!("{line}"));
            let ours = ours
                .split([' ', ')'])
                .take_while(|word| !["|", ">"].contains(word))
                .filter(|word| !word.is_empty());
            let parsed = command().try_get_matches_from(["ccstat"].into_iter().chain(ours));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            assert!(!what.ends_with(['.', ':']), "{what}");
        }
    }

    #[test]
    fn the_help_of_the_program_fits_a_screen() {
        let help = command().render_help().to_string();
        for line in help.lines().take_while(|line| *line != "Examples:") {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
