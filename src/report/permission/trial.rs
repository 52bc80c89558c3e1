//! Settings tried on the calls of a log: what they would have done, and whether that is what happened.

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

/// Settings to try on the calls that were made.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The rules.
    pub context: Context,
    /// The mode, whatever was recorded; without it each call is tried in the mode that it was made in.
    pub mode: Option<Mode>,
    /// Rules that are broken, so that the CLI drops them.
    pub broken: Vec<BrokenRule>,
    /// Modes that a project's file names and may not.
    pub ignored_modes: Vec<Mode>,
    /// How many allow rules and folders of project files count only where the folder is trusted.
    pub of_project: usize,
    /// Whether the folder counts as one that nobody trusted.
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

/// Tries the settings on every call, and says which of their rules are about none.
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
    // The current folder of each session's shell, which stays where a command leaves it.
    let mut folders: BTreeMap<Option<SessionIndex>, String> = BTreeMap::new();
    for ((row, call), made) in rows.iter_mut().zip(calls.clone()).zip(&view.ledger.calls) {
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
        0 => Line::new(Tone::Good).word("no call would have ended another way"),
        _ => {
            Line::new(Tone::Warning).count(differing, " call", " calls").word(" would have ended another way")
        }
    }];
    notes.extend(agreement.line());
    let unused: Vec<Value> = unmatched_rules(&trial.context, calls).iter().map(placed).collect();
    if !unused.is_empty() {
        notes.push(Line::new(Tone::Plain).word("rules that match no call: ").value(Value::List(unused)));
    }
    notes.extend(warnings(trial));
    notes
}

/// Whether a call would have ended another way.
///
/// A question to a person is the same end as the one that the person gave it, and so is one where nobody was there. Hooks
/// decide beside the settings: only a rule that denies changes what they allow.
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

/// Why the outcome may differ.
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

/// How often the settings agree with the decision that a log carries (since 2.1.325).
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
            // Nobody was there to ask.
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
            .word("the log says how ")
            .count(self.said, " call was", " calls were")
            .word(" decided: the settings agree with ");
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
        notes.push(line.word(" of the project's file: ").word(match trial.untrusted {
            true => "ignored, as in a folder that nobody trusted",
            false => "only in a trusted folder, not in a fresh checkout (see --untrusted)",
        }));
    }
    notes
}

fn placed(placed: &ScopedRule<'_>) -> Value {
    format!("{} {} ({})", placed.behaviour, placed.rule, placed.scope).into()
}
