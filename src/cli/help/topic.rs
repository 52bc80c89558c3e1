//! The commands in their groups, each with examples: one row each.

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Group {
    /// One run as a whole, or several taken together.
    Run,
    /// What it did, piece by piece.
    Inside,
    /// What was allowed, asked and offered, and what ran beside it.
    Around,
    /// What happened over days and sessions.
    History,
    /// What other programs ask for.
    Programs,
}

impl Group {
    /// In the order of the help.
    pub(in crate::cli) const ALL: [Self; 5] =
        [Self::Run, Self::Inside, Self::Around, Self::History, Self::Programs];

    pub(in crate::cli) fn heading(self) -> &'static str {
        match self {
            Self::Run => "A run",
            Self::Inside => "Inside a run",
            Self::Around => "Around a run",
            Self::History => "History",
            Self::Programs => "For programs",
        }
    }
}

/// What the help says of a command beside its arguments.
pub(in crate::cli) struct Topic {
    /// The command; empty for the program itself.
    pub(in crate::cli) command: &'static str,
    /// Where it is listed.
    pub(in crate::cli) group: Group,
    /// What for, and what to type.
    pub(in crate::cli) examples: &'static [(&'static str, &'static str)],
}

/// Every command once, in the order of the help. A new command gets a row.
pub(in crate::cli) const TOPICS: &[Topic] = &[
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
        command: "check",
        group: Group::Run,
        examples: &[
            ("Fail a job when a run was refused something, failed or did not end", "ccstat check run.jsonl"),
            ("A night of runs, none of them expensive", "ccstat check runs/ --max-cost 0.50 --max-turns 30"),
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
        command: "tools",
        group: Group::Inside,
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
        group: Group::Inside,
        examples: &[
            ("What each turn of a run cost", "ccstat turns run.jsonl"),
            ("The dearest turns of a night of runs", "ccstat turns runs/ --sort cost_usd --limit 10"),
        ],
    },
    Topic {
        command: "calls",
        group: Group::Inside,
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
        group: Group::Inside,
        examples: &[
            ("What was refused in a run", "ccstat denials run.jsonl"),
            ("What was refused since yesterday", "ccstat denials ~/.claude/projects --since yesterday"),
        ],
    },
    Topic {
        command: "errors",
        group: Group::Inside,
        examples: &[
            ("What failed in a run", "ccstat errors run.jsonl"),
            ("Where the API kept people waiting", "ccstat errors ~/.claude/projects --sort wait_ms"),
        ],
    },
    Topic {
        command: "agents",
        group: Group::Inside,
        examples: &[
            ("Who did what in a run", "ccstat agents run.jsonl"),
            ("The subagents of one session", "ccstat agents ~/.claude/projects --session 0002 --subagents"),
        ],
    },
    Topic {
        command: "kinds",
        group: Group::Inside,
        examples: &[
            ("What a log is made of", "ccstat kinds run.jsonl"),
            (
                "What a new CLI version writes that is not known yet",
                "ccstat kinds ~/.claude/projects --sort known:asc",
            ),
        ],
    },
    Topic {
        command: "permissions",
        group: Group::Around,
        examples: &[
            ("Who refused what in a run", "ccstat permissions run.jsonl"),
            (
                "What new settings would have done to the runs of a week",
                "ccstat permissions --settings .claude/settings.json --since 7d ~/.claude/projects",
            ),
            ("Rules for what was refused", "ccstat permissions --suggest --breadth prefix run.jsonl"),
            (
                "Whether a rule does what it should",
                "ccstat permissions test 'Bash(npm run *)' -- 'npm run build && rm -rf x'",
            ),
        ],
    },
    Topic {
        command: "questions",
        group: Group::Around,
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
        group: Group::Around,
        examples: &[
            ("Commands, skills and agents of a run", "ccstat commands run.jsonl"),
            (
                "Skills that nobody uses, for a spreadsheet",
                "ccstat commands ~/.claude/projects --sort used:asc --format csv",
            ),
        ],
    },
    Topic {
        command: "hooks",
        group: Group::Around,
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
        group: Group::Around,
        examples: &[
            ("The servers of a run, and how they are", "ccstat mcp run.jsonl"),
            ("Which servers are slow", "ccstat mcp ~/.claude/projects --sort p90_ms"),
        ],
    },
    Topic {
        command: "tasks",
        group: Group::Around,
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
        group: Group::Around,
        examples: &[
            ("Where a run was held up or cut short", "ccstat limits run.jsonl"),
            (
                "Every compaction of a month, for a spreadsheet",
                "ccstat limits ~/.claude/projects --since 30d --format csv",
            ),
        ],
    },
    Topic {
        command: "control",
        group: Group::Around,
        examples: &[
            ("What the CLI and its host asked of each other", "ccstat control run.jsonl"),
            (
                "Both sides of a run, with the time that approvals took",
                "ccstat control stdin.jsonl stdout.jsonl --sort latency_ms",
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
            (
                "Why last month was so expensive",
                "ccstat cost --since last-month --until last-month --by project,model",
            ),
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
        command: "redact",
        group: Group::Programs,
        examples: &[
            ("A log for a bug report", "ccstat redact run.jsonl > shown.jsonl"),
            (
                "All sessions of a project, for a colleague",
                "ccstat redact ~/.claude/projects/my-project -o shown/",
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
