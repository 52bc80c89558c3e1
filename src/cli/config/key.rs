//! The table of options: where each may be set apart from the command line.
//!
//! A `ccstat.toml` that was found automatically may come with a cloned repository. Its author must not be
//! able to overwrite files, reveal content, or make ccstat read files elsewhere, wait forever or use all
//! memory.

/// The sources apart from the command line that may set an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// Variables and every configuration file.
    Anywhere,
    /// Variables and every configuration file; a found `ccstat.toml` may only give paths below its folder.
    BelowFolder,
    /// Variables, the user configuration and the file of `--config`, but not a found `ccstat.toml`.
    Trusted,
    /// Variables only.
    Variable,
    /// The command line only.
    Typed,
}

impl Accepted {
    /// Whether the option can be a key of a configuration file.
    pub(super) fn is_key(self) -> bool {
        match self {
            Self::Anywhere | Self::BelowFolder | Self::Trusted => true,
            Self::Variable | Self::Typed => false,
        }
    }

    /// A sentence for the man page, without a final period.
    fn sentence(self) -> &'static str {
        match self {
            Self::Anywhere => "May be set in variables and in every configuration file",
            Self::BelowFolder => {
                "May be set in variables and in every configuration file; a ccstat.toml that was found automatically may only \
                 give paths below its folder"
            }
            Self::Trusted => {
                "May be set in variables, in the user configuration and in the file of --config, not in a ccstat.toml that was \
                 found automatically"
            }
            Self::Variable => "May be set in variables, not in files",
            Self::Typed => "May be given on the command line only",
        }
    }
}

/// Options that have the same effect and may be set in the same places.
pub(super) struct Group {
    pub(super) accepted: Accepted,
    /// A verb phrase that is true for each option.
    pub(super) effect: &'static str,
    /// Long names, sorted.
    pub(super) options: &'static [&'static str],
}

/// Every option of every command, once. Add a new option here and to the table in `docs/configuration.md`.
pub(super) const GROUPS: &[Group] = &[
    Group {
        accepted: Accepted::Anywhere,
        effect: "chooses the report and how it looks",
        options: &[
            "active",
            "by",
            "ccusage",
            "color",
            "columns",
            "forecast",
            "format",
            "json",
            "limit",
            "live",
            "live-every",
            "no-content",
            "no-live",
            "no-progress",
            "quiet",
            "recent",
            "sort",
            "suggest",
            "template",
            "timeout",
            "timezone",
            "verbose",
        ],
    },
    Group {
        accepted: Accepted::Anywhere,
        effect: "chooses what is counted",
        options: &[
            "branch",
            "effort",
            "last",
            "machine",
            "main",
            "mcp-server",
            "model",
            "outcome",
            "period",
            "pr",
            "project",
            "prompt",
            "session",
            "since",
            "skill",
            "subagents",
            "tool",
            "until",
            "with",
            "workflow",
        ],
    },
    Group { accepted: Accepted::Anywhere, effect: "sets budgets", options: &["budget"] },
    Group {
        accepted: Accepted::Anywhere,
        effect: "sets a gate",
        options: &[
            "fail-on",
            "grace",
            "max-agents",
            "max-budget-used",
            "max-cost",
            "max-cost-increase",
            "max-denials",
            "max-denials-increase",
            "max-duration",
            "max-duration-increase",
            "max-rebuilt-cost",
            "max-tokens-increase",
            "max-tool-error-rate",
            "max-tool-errors",
            "max-tool-errors-increase",
            "max-turns",
            "max-turns-increase",
            "stop-on-gate",
            "strict",
        ],
    },
    Group {
        accepted: Accepted::BelowFolder,
        effect: "names a file of prices or rules",
        options: &["pricing", "settings"],
    },
    Group {
        accepted: Accepted::Trusted,
        effect: "writes files",
        options: &["github", "into", "output", "partition-by", "tee", "to"],
    },
    Group { accepted: Accepted::Trusted, effect: "decides what an archive keeps", options: &["lean"] },
    Group { accepted: Accepted::Trusted, effect: "shows content", options: &["content", "print"] },
    Group { accepted: Accepted::Trusted, effect: "names logs to read", options: &["files-from"] },
    Group {
        accepted: Accepted::Trusted,
        effect: "keeps the program running",
        options: &["follow", "keep-running"],
    },
    Group {
        accepted: Accepted::Trusted,
        effect: "decides how much memory and how many processors are used",
        options: &["max-record", "threads"],
    },
    Group {
        accepted: Accepted::Trusted,
        effect: "decides how much permission rules allow",
        options: &["breadth", "mode", "scope", "untrusted"],
    },
    Group {
        accepted: Accepted::Variable,
        effect: "chooses the configuration",
        options: &["config", "no-config"],
    },
    Group {
        accepted: Accepted::Typed,
        effect: "says what `permissions test` tries",
        options: &["ask", "command", "deny", "folder"],
    },
    Group { accepted: Accepted::Typed, effect: "says how `search` reads its text", options: &["regex"] },
    Group { accepted: Accepted::Typed, effect: "shows whole texts", options: &["full"] },
    Group {
        accepted: Accepted::Typed,
        effect: "says what `trace` writes",
        options: &["logs", "metrics", "split"],
    },
    Group { accepted: Accepted::Typed, effect: "prints and ends", options: &["help", "version"] },
];

/// The group of an option; `None` if the option does not exist.
pub(super) fn group(option: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.options.contains(&option))
}

/// For the man page: the options of each group, and a sentence about them.
pub(in crate::cli) fn pairs() -> Vec<(String, String)> {
    let text = |group: &Group| format!("Each {}. {}.", group.effect, group.accepted.sentence());
    GROUPS.iter().map(|group| (group.options.join(", "), text(group))).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fmt::Write};

    use clap::Command;

    use super::*;

    /// The cells for a found `ccstat.toml`, the other files, and variables.
    fn cells(accepted: Accepted) -> [&'static str; 3] {
        match accepted {
            Accepted::Anywhere => ["yes", "yes", "yes"],
            Accepted::BelowFolder => ["paths below its folder", "yes", "yes"],
            Accepted::Trusted => ["no", "yes", "yes"],
            Accepted::Variable => ["no", "no", "yes"],
            Accepted::Typed => ["no", "no", "no"],
        }
    }

    /// The table as Markdown, as in `docs/configuration.md`.
    fn markdown() -> String {
        let mut text = String::from(
            "| options | each | found `ccstat.toml` | user configuration, `--config` | variables |\n|---|---|---|---|---|\n",
        );
        for group in GROUPS {
            let options: Vec<String> = group.options.iter().map(|option| format!("`{option}`")).collect();
            let [found, files, variables] = cells(group.accepted);
            let _ = writeln!(
                text,
                "| {} | {} | {found} | {files} | {variables} |",
                options.join(", "),
                group.effect
            );
        }
        text
    }

    /// Collects the long names of all options, including hidden ones and those of nested commands.
    fn options(command: &Command, all: &mut BTreeSet<String>) {
        for arg in command.get_arguments() {
            all.extend(arg.get_long().map(str::to_owned));
        }
        command.get_subcommands().for_each(|command| options(command, all));
    }

    #[test]
    fn every_option_of_every_command_is_listed_once() {
        let mut command = crate::cli::help::command();
        command.build();
        let mut all = BTreeSet::new();
        options(&command, &mut all);
        let listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.options).copied().collect();
        let once: BTreeSet<String> = listed.iter().map(|option| (*option).to_owned()).collect();
        assert_eq!(listed.len(), once.len(), "an option is listed twice");
        let new: Vec<_> = all.difference(&once).collect();
        assert!(new.is_empty(), "decide where these may be set, in src/cli/config/key.rs: {new:?}");
        let gone: Vec<_> = once.difference(&all).collect();
        assert!(gone.is_empty(), "no command has these: {gone:?}");
    }

    #[test]
    fn options_are_sorted_within_their_groups() {
        for group in GROUPS {
            assert!(group.options.is_sorted(), "{:?}", group.options);
        }
    }

    #[test]
    fn the_documentation_has_the_same_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
        let page = std::fs::read_to_string(page).unwrap().replace("\r\n", "\n");
        assert!(page.contains(&markdown()), "put this into docs/configuration.md:\n{}", markdown());
    }
}
