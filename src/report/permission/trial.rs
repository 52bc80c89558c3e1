//! Applies settings to recorded calls and compares the decisions with the recorded ones.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Recorded, Row, input_of};
use crate::{
    facts::ledger::{Call as RecordedCall, SessionIndex},
    permission::{
        BrokenRule, Call, Context, Decision, Mode, ScopedRule, check, folder_after, unmatched_rules,
    },
    report::{Line, Tone, Value, View},
};

/// Settings to apply to recorded calls.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The rules.
    pub context: Context,
    /// The mode; `None` for the recorded mode of each call.
    pub mode: Option<Mode>,
    /// Malformed rules, which the CLI ignores.
    pub broken: Vec<BrokenRule>,
    /// Modes in a project's file, which cannot set them.
    pub ignored_modes: Vec<Mode>,
    /// Number of allow rules and folders in project files, which apply only in a trusted folder.
    pub of_project: usize,
    /// Whether the folder is treated as untrusted.
    pub untrusted: bool,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            context: Context::new(Mode::Default),
            mode: None,
            broken: Vec::new(),
            ignored_modes: Vec::new(),
            of_project: 0,
            untrusted: false,
        }
    }
}

/// Applies the settings to every call. Returns notes, including rules that match no call.
pub(super) fn apply(view: &View<'_>, trial: &Trial, rows: &mut [Row]) -> Vec<Line> {
    let inputs: Vec<Json> = view.ledger.calls.iter().map(input_of).collect();
    let session = |call: &RecordedCall| view.session(&call.context);
    let calls = view.ledger.calls.iter().zip(&inputs).map(|(call, input)| Call {
        tool: &call.tool,
        input,
        cwd: session(call).and_then(|session| session.project.as_deref()),
    });
    let mut context = trial.context.clone();
    let mut agreement = Agreement::default();
    // Working directory of each session's shell, which persists between commands.
    let mut folders: BTreeMap<Option<SessionIndex>, String> = BTreeMap::new();
    for ((row, call), made) in rows.iter_mut().zip(calls.clone()).zip(&view.ledger.calls) {
        if view.is_lean(&made.context) {
            row.by = "unknown: a lean archive keeps no input of calls".into();
            continue;
        }
        let recorded_mode = row.recorded.mode.as_deref().and_then(Mode::named);
        context.mode = trial.mode.or(recorded_mode).unwrap_or(trial.context.mode);
        context.project = call.cwd.map(str::to_owned);
        let folder = folders.get(&made.context.session).cloned();
        let call = Call { cwd: folder.as_deref().or(call.cwd), ..call };
        let outcome = check(&context, &call);
        let approved = row.recorded.asked && row.recorded.allowed == Some(true);
        if (outcome.decision == Decision::Allow || approved)
            && let Some(folder) = folder_after(&context, &call)
        {
            folders.insert(made.context.session, folder);
        }
        row.would = outcome.decision.to_string().into();
        row.by = outcome.by.to_string().into();
        row.differs = differs(&row.recorded, outcome.decision);
        row.why = row.differs.filter(|differs| *differs).map(|_| why(&row.recorded, outcome.decision));
        agreement.count(&row.recorded, outcome.decision);
    }
    let differing = rows.iter().filter(|row| row.differs == Some(true)).count() as u64;
    let mut notes = vec![match differing {
        0 => Line::new(Tone::Good).word("no decision would have been different"),
        _ => Line::new(Tone::Warning)
            .count(differing, " call", " calls")
            .word(" would have been decided differently"),
    }];
    notes.extend(agreement.line());
    let unused: Vec<Value> = unmatched_rules(&trial.context, calls).iter().map(placed).collect();
    if !unused.is_empty() {
        notes.push(Line::new(Tone::Plain).word("rules that match no call: ").value(Value::List(unused)));
    }
    notes.extend(warnings(trial));
    notes
}

/// Whether a call would have been decided differently; `None` if unknown.
///
/// Asking a person is not a difference if a person decided, or if a denied call had nobody to ask. Hooks
/// decide independently of the settings: only a deny rule overrides what they allow.
fn differs(recorded: &Recorded, would: Decision) -> Option<bool> {
    let hook = recorded.source.as_deref() == Some("hook");
    match (recorded.allowed, would) {
        (None, _) | (_, Decision::ToolDecides) => None,
        (Some(true), Decision::Ask) if recorded.asked || hook => Some(false),
        (Some(true), decision) => Some(decision != Decision::Allow),
        (Some(false), Decision::Allow) if hook => Some(false),
        (Some(false), decision) => Some(decision == Decision::Allow),
    }
}

const UNKNOWN: &str = "allowed by a person, a hook or other rules";
const OTHER_RULES: &str = "allowed by rules not given here";
const REFUSED: &str = "these settings refuse it";
const PERSON: &str = "a person refused it";
const NOT_ALLOWED: &str = "other rules, another mode, or a link out";

/// Possible reason for a different decision.
fn why(recorded: &Recorded, would: Decision) -> &'static str {
    let person =
        recorded.asked || recorded.source.as_deref().is_some_and(|source| source.starts_with("user"));
    match (recorded.allowed, would) {
        (Some(false), _) if person => PERSON,
        (Some(false) | None, _) => NOT_ALLOWED,
        (Some(true), Decision::Deny) => REFUSED,
        (Some(true), _) if recorded.source.is_some() => OTHER_RULES,
        (Some(true), _) => UNKNOWN,
    }
}

/// How often the settings agree with recorded decisions (in logs since 2.1.325).
#[derive(Default)]
struct Agreement {
    said: u64,
    agrees: u64,
}

impl Agreement {
    fn count(&mut self, recorded: &Recorded, would: Decision) {
        let agrees = match (recorded.source.as_deref(), recorded.allowed, recorded.asked) {
            (_, Some(_), true) => would == Decision::Ask,
            (Some("config"), Some(true), false) => would == Decision::Allow,
            // There was nobody to ask.
            (Some("config"), Some(false), false) => matches!(would, Decision::Ask | Decision::Deny),
            (Some(_) | None, _, _) => return,
        };
        self.said += 1;
        self.agrees += u64::from(agrees);
    }

    fn line(&self) -> Option<Line> {
        let percent = (self.agrees * 100).checked_div(self.said)?;
        let line = Line::new(if percent < 97 { Tone::Warning } else { Tone::Good });
        let line = line
            .word("the log contains the decision for ")
            .count(self.said, " call", " calls")
            .word(": the settings agree with ");
        Some(line.value(self.agrees).word(" of them (").value(format!("{percent} %")).word(")"))
    }
}

/// Notes about the settings themselves.
pub(super) fn warnings(trial: &Trial) -> Vec<Line> {
    let mut notes = Vec::new();
    for broken in &trial.broken {
        notes.push(Line::new(Tone::Warning).value(broken.to_string()));
    }
    for (rule, idle) in
        trial.context.all_rules().filter_map(|one| Some((one, one.rule.no_effect(one.behaviour)?)))
    {
        notes.push(Line::new(Tone::Warning).value(placed(&rule)).word(": ").word(idle));
    }
    for mode in &trial.ignored_modes {
        let line = Line::new(Tone::Warning).word("a project's file cannot set the mode ").value(mode.name());
        notes.push(line.word(", so its defaultMode is ignored"));
    }
    if trial.of_project > 0 {
        let many = trial.of_project as u64;
        let line = Line::new(Tone::Plain).count(many, " allow rule or folder", " allow rules and folders");
        notes.push(line.word(" in the project's file: ").word(match trial.untrusted {
            true => "ignored, as in an untrusted folder",
            false => "valid only in a trusted folder, not in a fresh checkout (see --untrusted)",
        }));
    }
    notes
}

fn placed(placed: &ScopedRule<'_>) -> Value {
    format!("{} {} ({})", placed.behaviour, placed.rule, placed.scope).into()
}
