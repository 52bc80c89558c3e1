//! Who allowed or refused each call, and in which mode.

use std::collections::BTreeMap;

pub use crate::event::Obstacle;
use crate::{
    event::{
        self,
        trace::{self, ApprovalStep, Trace, Verdict},
    },
    facts::{
        Hashed, Name,
        ledger::{Call, Context, End, Ledger, Location, SessionIndex},
    },
};

/// What is known of the decision about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it was allowed; nothing where it never came to a decision, or the log does not say.
    pub allowed: Option<bool>,
    /// Whether someone was asked: a person or a host.
    pub asked: bool,
    /// Who decided, as the log writes it: `config`, `hook`, `user_temporary`, `user_reject`, `host` …
    pub source: Option<Name>,
    /// Why, as the log writes it: `rule`, `mode`, `hook`, `subcommandResults` …
    pub reason: Option<Name>,
    /// The rule, or the scope of the rule, that decided, where the log says it.
    pub rule: Option<Name>,
    /// The mode in force when it was asked.
    pub mode: Option<Name>,
    /// The obstacle that no allow rule could have removed.
    pub obstacle: Option<Obstacle>,
}

/// A session goes on in another mode, or begins in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// When and where.
    pub context: Context,
    /// The mode.
    pub mode: Name,
}

/// What a call was made with, in one line: its command, file, address or question.
pub fn subject(call: &Call) -> Option<String> {
    let line = event::main_input_of(call.input_text.as_deref()?)?;
    line.lines().next().map(str::to_owned).filter(|line| !line.is_empty())
}

/// The decision about each call of the ledger, and the modes that were in force.
pub fn decisions(ledger: &Ledger) -> (Vec<Decision>, Vec<ModeChange>) {
    let mut told = Told {
        calls: ledger
            .calls
            .iter()
            .enumerate()
            .filter_map(|(at, call)| Some((call.id.as_ref()?, at)))
            .collect(),
        decisions: vec![Decision::default(); ledger.calls.len()],
        refusals: vec![Refusal::default(); ledger.calls.len()],
        requests: Hashed::default(),
        answers: Vec::new(),
        modes: Vec::new(),
    };
    ledger.traces.iter().for_each(|row| told.read(&row.context, &row.trace));
    let Told { mut decisions, refusals, requests, answers, mut modes, .. } = told;
    for (request, allowed) in answers {
        if let Some(&call) = requests.get(request) {
            let decision = &mut decisions[call];
            decision.allowed.get_or_insert(allowed);
            decision.source.get_or_insert_with(|| Name::from("host"));
        }
    }
    for (decision, call) in decisions.iter_mut().zip(&ledger.calls) {
        // A call that answered was allowed, whoever did it; one that failed may never have come so far.
        decision.allowed = match call.end {
            End::Ok => Some(true),
            End::Denied => Some(false),
            End::Error | End::Open => decision.allowed,
        };
    }
    keep_changes(&mut modes);
    in_force(&mut decisions, ledger, &modes);
    for (decision, refusal) in
        decisions.iter_mut().zip(refusals).filter(|(one, _)| one.allowed == Some(false))
    {
        decision.obstacle = obstacle(decision, refusal.kind.as_deref()).or(refusal.said);
    }
    (decisions, modes)
}

/// The answer to a refused call.
#[derive(Clone, Debug, Default)]
struct Refusal {
    /// `non_execution_kind` of a stream, `toolDenialKind` of a saved session.
    kind: Option<Name>,
    /// What its text says.
    said: Option<Obstacle>,
}

struct Told<'l> {
    calls: Hashed<&'l Name, usize>,
    decisions: Vec<Decision>,
    refusals: Vec<Refusal>,
    /// The call that each request of the control protocol asks about.
    requests: Hashed<&'l Name, usize>,
    /// What was answered to requests: they may stand before them, in another log.
    answers: Vec<(&'l Name, bool)>,
    modes: Vec<ModeChange>,
}

impl<'l> Told<'l> {
    fn read(&mut self, context: &Context, trace: &'l Trace<Name>) {
        match trace {
            Trace::Decision(told) => self.decided(told),
            Trace::Request(told) => self.asked(told),
            Trace::Response(told) => match told.verdict {
                Verdict::Allow => self.answers.push((&told.id, true)),
                Verdict::Deny => self.answers.push((&told.id, false)),
                Verdict::Success | Verdict::Error => {}
            },
            Trace::Approval(told) => self.approved(told),
            Trace::Mode(mode) => {
                self.modes.push(ModeChange { context: context.clone(), mode: Name::clone(mode) });
            }
            _ => {}
        }
    }

    fn decided(&mut self, told: &trace::Decision<Name>) {
        let Some(&call) = self.calls.get(&told.call) else { return };
        let (decision, refusal) = (&mut self.decisions[call], &mut self.refusals[call]);
        if told.is_answer {
            decision.allowed = told.allowed.or(decision.allowed);
            decision.source = told.source.clone().or(decision.source.take());
        } else {
            decision.allowed = decision.allowed.or(told.allowed);
        }
        // `user_temporary`, `user_permanent`, `user_reject`: a person or a host was asked.
        decision.asked |= told.source.as_ref().is_some_and(|source| source.starts_with("user"));
        set(&mut decision.reason, &told.reason);
        set(&mut decision.rule, &told.rule);
        set(&mut refusal.kind, &told.refusal);
        refusal.said = refusal.said.or(told.obstacle);
    }

    fn asked(&mut self, told: &'l trace::Request<Name>) {
        if told.subtype.as_deref() != Some("can_use_tool") {
            return;
        }
        let Some(&call) = told.call.as_ref().and_then(|call| self.calls.get(call)) else { return };
        let decision = &mut self.decisions[call];
        decision.asked = true;
        set(&mut decision.reason, &told.reason);
        set(&mut decision.rule, &told.rule);
        self.requests.insert(&told.id, call);
    }

    fn approved(&mut self, told: &trace::Approval<Name>) {
        let Some(&call) = self.calls.get(&told.call) else { return };
        let decision = &mut self.decisions[call];
        let allowed = match told.step {
            ApprovalStep::Asked => {
                decision.asked = true;
                return;
            }
            ApprovalStep::Approved | ApprovalStep::ApprovedAlways => true,
            ApprovalStep::Rejected => false,
            ApprovalStep::Answered => return,
        };
        decision.asked = true;
        decision.allowed.get_or_insert(allowed);
        decision.source.get_or_insert_with(|| Name::from("user"));
        if told.step == ApprovalStep::ApprovedAlways {
            decision.rule.get_or_insert_with(|| Name::from("session"));
        }
    }
}

/// Takes what is not known yet.
fn set(known: &mut Option<Name>, told: &Option<Name>) {
    if known.is_none() {
        known.clone_from(told);
    }
}

/// The obstacle that the fields of a decision name.
fn obstacle(decision: &Decision, kind: Option<&str>) -> Option<Obstacle> {
    let (source, reason) = (decision.source.as_deref(), decision.reason.as_deref());
    let starts = |text: Option<&str>, start: &str| text.is_some_and(|text| text.starts_with(start));
    match () {
        () if source == Some("hook") || starts(reason, "hook") => Some(Obstacle::Hook),
        () if starts(source, "user") || source == Some("host") => Some(Obstacle::Person),
        () if reason == Some("permissionPromptTool") => Some(Obstacle::Person),
        () if reason == Some("mode:plan") => Some(Obstacle::PlanMode),
        () if reason == Some("mode") && decision.mode.as_deref() == Some("plan") => Some(Obstacle::PlanMode),
        () if reason == Some("rule") || starts(reason, "rule:") => Some(Obstacle::Rule),
        // Hooks and hosts have this kind too, but another source.
        () if kind == Some("permission-rule") && source == Some("config") => Some(Obstacle::Rule),
        () => None,
    }
}

/// Leaves the first mode of each session and those that differ from the one before.
fn keep_changes(modes: &mut Vec<ModeChange>) {
    let mut last: BTreeMap<Option<SessionIndex>, Name> = BTreeMap::new();
    modes.retain(|change| {
        last.insert(change.context.session, change.mode.clone()).as_ref() != Some(&change.mode)
    });
}

/// Finds the mode that each call was asked in: the last one of its session that stands before it.
fn in_force(decisions: &mut [Decision], ledger: &Ledger, modes: &[ModeChange]) {
    let mut by_session: Hashed<Option<SessionIndex>, Vec<&ModeChange>> = Hashed::default();
    for change in modes {
        by_session.entry(change.context.session).or_default().push(change);
    }
    let stands = |at: Option<Location>| at.map(|at| (at.source, at.offset));
    for (decision, call) in decisions.iter_mut().zip(&ledger.calls) {
        let Some(own) = by_session.get(&call.context.session) else { continue };
        // Changes are in the order they stand.
        let next =
            own.partition_point(|change| stands(change.context.location) <= stands(call.context.location));
        let source = |context: &Context| context.location.map(|at| at.source);
        let before = next.checked_sub(1).map(|last| own[last]);
        let same = before.filter(|change| source(&change.context) == source(&call.context));
        // A subagent's own file says no mode: that of its session holds.
        decision.mode = same.or(own.first().copied()).map(|change| Name::clone(&change.mode));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_say_who_refused_it() {
        let decision = |source: &str, reason: Option<&str>, mode: &str| Decision {
            source: Some(source.into()),
            reason: reason.map(Name::from),
            mode: Some(mode.into()),
            ..Decision::default()
        };
        let automatic = Some("user-rejected");
        let rule = Some("permission-rule");
        for (decision, kind, named) in [
            (decision("config", None, "default"), automatic, None),
            (decision("config", Some("subcommandResults"), "default"), automatic, None),
            (decision("config", Some("subcommandResults"), "default"), rule, Some(Obstacle::Rule)),
            (decision("config", Some("rule"), "default"), None, Some(Obstacle::Rule)),
            (decision("hook", Some("hook"), "default"), rule, Some(Obstacle::Hook)),
            (decision("user_reject", None, "default"), rule, Some(Obstacle::Person)),
            (decision("host", None, "default"), None, Some(Obstacle::Person)),
            (decision("config", Some("mode"), "plan"), automatic, Some(Obstacle::PlanMode)),
            // `dontAsk` refuses what no rule allows, and a rule helps.
            (decision("config", Some("mode"), "dontAsk"), automatic, None),
        ] {
            assert_eq!(obstacle(&decision, kind), named, "{decision:?} {kind:?}");
        }
    }
}
