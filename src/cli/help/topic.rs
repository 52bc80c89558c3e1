//! What the help says of each command beside its arguments: reports bring it along, other commands have a row here.

use crate::report::{CommandGroup, REPORTS, ReportSpec, SUMMARY};

/// What the help says of a command.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Topic {
    /// The command.
    pub(in crate::cli) command: &'static str,
    /// Where it is listed.
    pub(in crate::cli) group: CommandGroup,
    /// What for, and what to type.
    pub(in crate::cli) examples: &'static [(&'static str, &'static str)],
    /// What it does, in a few words, and what else there is to know; `None` if that stands at its arguments.
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
        // What starts a command writes the same report as what reads its output.
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
    about: None,
};

/// The commands that write no report of their own. A new one gets a row.
const OTHERS: &[Topic] = &[
    Topic {
        command: "schema",
        group: CommandGroup::Programs,
        examples: &[
            ("The reports there are", "ccstat schema"),
            ("What a program may rely on in the summary", "ccstat schema summary"),
        ],
        about: None,
    },
    Topic {
        command: "export",
        group: CommandGroup::Programs,
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
        about: None,
    },
    Topic {
        command: "redact",
        group: CommandGroup::Programs,
        examples: &[
            ("A log for a bug report", "ccstat redact run.jsonl > shown.jsonl"),
            (
                "All sessions of a project, for a colleague",
                "ccstat redact ~/.claude/projects/my-project -o shown/",
            ),
        ],
        about: None,
    },
    Topic {
        command: "generate",
        group: CommandGroup::Programs,
        examples: &[
            ("Completions for this shell", "source <(ccstat generate completions bash)"),
            ("Man pages where man finds them", "ccstat generate man ~/.local/share/man/man1"),
        ],
        about: None,
    },
];
