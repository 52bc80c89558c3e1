//! Colours of cells. They repeat what the text says.

use anstyle::{AnsiColor, Style as Paint};

use crate::report::{Head, Value};

/// Meaning of a cell for its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Good,
    Warning,
    Bad,
}

/// Outcomes, as columns such as `outcome`, `end` and `status` spell them.
const OUTCOMES: &[(Mood, &[&str])] = &[
    (Mood::Good, &["ok", "success", "completed", "allow", "allowed", "connected", "held", "passed", "ended"]),
    (
        Mood::Warning,
        &[
            "denied",
            "deny",
            "open",
            "running",
            "pending",
            "loop",
            "cancelled",
            "stopped",
            "blocked",
            "unanswered",
            "needs-auth",
            "interrupted",
            "ask",
        ],
    ),
    (Mood::Bad, &["error", "failed", "no-result", "killed", "refusal", "api_error", "api-error", "disabled"]),
];

/// The colour of a cell.
pub(super) fn cell(head: &Head, value: &Value) -> Paint {
    let mood = match value {
        Value::Missing => return dim(),
        Value::Text(text) => outcome(head.key, text),
        Value::Flag(flag) => flagged(head.key, *flag),
        Value::Count(1..) => counted(head.key),
        _ => None,
    };
    mood.map_or_else(Paint::new, Mood::paint)
}

/// The colour of a change: only if it is larger than its margin, so that chance is not painted.
pub(super) fn change(change: &Value, margin: &Value) -> Paint {
    let Value::Change(change) = change else { return Paint::new() };
    let (Some(change), Some(margin)) = (change.number(), margin.number()) else { return Paint::new() };
    match change {
        _ if change.abs() <= margin => Paint::new(),
        _ if change > 0.0 => Mood::Warning.paint(),
        _ => Mood::Good.paint(),
    }
}

/// The colour of rules, missing values and asides.
pub(super) fn dim() -> Paint {
    Paint::new().dimmed()
}

impl Mood {
    fn paint(self) -> Paint {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
        }
    }
}

fn outcome(key: &str, text: &str) -> Option<Mood> {
    let is_outcome =
        ["outcome", "end", "status", "decision", "subtype", "verdict", "again", "would", "result"]
            .contains(&key);
    let known = || OUTCOMES.iter().find(|(_, words)| words.contains(&text)).map(|(mood, _)| *mood);
    // The CLI names reasons after the word: `error_max_turns`.
    is_outcome.then(|| known().or(text.starts_with("error").then_some(Mood::Bad)))?
}

fn flagged(key: &str, flag: bool) -> Option<Mood> {
    match (key, flag) {
        ("ok" | "allowed", true) => Some(Mood::Good),
        ("ok", false) => Some(Mood::Bad),
        ("allowed" | "known", false) | ("loop" | "differs", true) => Some(Mood::Warning),
        _ => None,
    }
}

fn counted(key: &str) -> Option<Mood> {
    match key {
        "errors" | "failed" => Some(Mood::Bad),
        "denied" | "blocked" | "open" => Some(Mood::Warning),
        _ => None,
    }
}
