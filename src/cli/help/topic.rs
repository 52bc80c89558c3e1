//! The help of each command apart from its arguments. Reports provide it in their specs; other commands have
//! a row here.

use crate::report::{CommandGroup, REPORTS, ReportSpec, SUMMARY};

/// The help of a command.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Topic {
    pub(in crate::cli) command: &'static str,
    /// The group in which it is listed.
    pub(in crate::cli) group: CommandGroup,
    /// Descriptions and command lines.
    pub(in crate::cli) examples: &'static [(&'static str, &'static str)],
    /// Short and long description; `None` if they are at its arguments in `args.rs`.
    pub(in crate::cli) about: Option<(&'static str, &'static str)>,
}

impl Topic {
    fn of(spec: &'static ReportSpec) -> Option<Self> {
        let (command, about) = spec.command()?;
        let (group, examples) = (about.group, about.examples);
        Some(Self { command, group, examples, about: Some((about.about, about.details)) })
    }
}

/// Every command once, in the order of the help.
pub(in crate::cli) fn topics() -> impl Iterator<Item = Topic> {
    let of_report = |spec: &'static ReportSpec| {
        // `run` writes the same report as `summarize`.
        let other = (spec.name == SUMMARY.name).then_some(RUN);
        Topic::of(spec).into_iter().chain(other)
    };
    REPORTS.iter().flat_map(of_report).chain(OTHERS.iter().copied())
}

const RUN: Topic = Topic {
    command: "run",
    group: CommandGroup::Run,
    examples: &[
        (
            "Fail a job if a call was denied or the run cost more than two dollars",
            "ccstat run --fail-on denial,no-result --max-cost 2 -- claude -p fix --output-format stream-json --verbose",
        ),
        (
            "Stop a run that takes too long, and keep its log",
            "ccstat run --max-duration 20m --stop-on-gate --tee run.jsonl -- ./agent.sh",
        ),
        (
            "Follow a run as readable text",
            "ccstat run --print text -- claude -p fix --output-format stream-json --verbose",
        ),
    ],
    about: None,
};

/// The commands that have no report. Add a row for a new one.
const OTHERS: &[Topic] = &[
    Topic {
        command: "schema",
        group: CommandGroup::Programs,
        examples: &[
            ("List the reports", "ccstat schema"),
            ("Print the schema of the summary", "ccstat schema summary"),
        ],
        about: None,
    },
    Topic {
        command: "export",
        group: CommandGroup::Programs,
        examples: &[
            (
                "Export the responses of a month for a spreadsheet",
                "ccstat export responses --since 30d ~/.claude/projects > responses.csv",
            ),
            (
                "Export tool calls with their inputs and results",
                "ccstat export calls --content --format jsonl run.jsonl",
            ),
        ],
        about: None,
    },
    Topic {
        command: "trace",
        group: CommandGroup::Programs,
        examples: &[
            (
                "Show the latest session in Perfetto or Chrome",
                "ccstat trace latest --format perfetto -o run.json",
            ),
            ("Write a run for a collector", "ccstat trace run.jsonl -o run.otlp.jsonl"),
            (
                "Write the spans of a week, one file per session",
                "ccstat trace --since 7d --split -o traces/ ~/.claude/projects",
            ),
        ],
        about: None,
    },
    Topic {
        command: "redact",
        group: CommandGroup::Programs,
        examples: &[
            ("Redact a log for a bug report", "ccstat redact run.jsonl > shown.jsonl"),
            ("Redact all sessions of a project", "ccstat redact ~/.claude/projects/my-project -o shown/"),
        ],
        about: None,
    },
    Topic {
        command: "statusline",
        group: CommandGroup::Programs,
        examples: &[
            (
                "Show it in Claude Code: put this into ~/.claude/settings.json",
                r#"{"statusLine": {"type": "command", "command": "ccstat statusline"}}"#,
            ),
            (
                "Choose what it shows",
                "ccstat statusline --template '{folder} · {model}[ · {today} today][ · {limits}]'",
            ),
        ],
        about: None,
    },
    Topic {
        command: "generate",
        group: CommandGroup::Programs,
        examples: &[
            ("Load the completions into this shell", "source <(ccstat generate completions bash)"),
            ("Install the man pages", "ccstat generate man ~/.local/share/man/man1"),
        ],
        about: None,
    },
];
