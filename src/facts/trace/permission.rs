//! Permission decisions: who allowed or denied each call, and in which mode.

use std::collections::BTreeMap;

use super::CallFinder;
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

/// The decision about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it was allowed; `None` if there was no decision, or the log does not have it.
    pub allowed: Option<bool>,
    /// Whether a person or a host was asked.
    pub asked: bool,
    /// The decider, as written in the log: `config`, `hook`, `user_temporary`, `user_reject`, `host` …
    pub source: Option<Name>,
    /// Why, as written in the log: `rule`, `mode`, `hook`, `subcommandResults` …
    pub reason: Option<Name>,
    /// The rule that decided, or its scope, if the log has it.
    pub rule: Option<Name>,
    /// The permission mode at the time of the call.
    pub mode: Option<Name>,
    /// Set if no allow rule could have allowed the call.
    pub obstacle: Option<Obstacle>,
}

/// The first permission mode of a session, or a change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// Session, agent, time and location.
    pub context: Context,
    pub mode: Name,
}

/// Returns the main input of a call, in one line: its command, file, address or question.
pub fn subject(call: &Call) -> Option<String> {
    let line = event::main_input_of(call.input_text.as_deref()?)?;
    line.lines().next().map(str::to_owned).filter(|line| !line.is_empty())
}

/// Returns the decision about each call of the ledger, and the changes of mode.
pub fn decisions(ledger: &Ledger) -> (Vec<Decision>, Vec<ModeChange>) {
    let mut collector = Collector {
        calls: CallFinder::of(&ledger.calls),
        decisions: vec![Decision::default(); ledger.calls.len()],
        refusals: vec![Refusal::default(); ledger.calls.len()],
        requests: Hashed::default(),
        answers: Vec::new(),
        modes: Vec::new(),
    };
    ledger.traces.iter().for_each(|row| collector.read(&row.context, &row.trace));
    let Collector { mut decisions, refusals, requests, answers, mut modes, .. } = collector;
    for (request, allowed) in answers {
        if let Some(&call) = requests.get(request) {
            let decision = &mut decisions[call];
            decision.allowed.get_or_insert(allowed);
            decision.source.get_or_insert_with(|| Name::from("host"));
        }
    }
    for (decision, call) in decisions.iter_mut().zip(&ledger.calls) {
        // A call that succeeded was allowed. A call that failed may have failed before the decision.
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

/// The result of a denied call.
#[derive(Clone, Debug, Default)]
struct Refusal {
    /// `non_execution_kind` of a stream, `toolDenialKind` of a saved session.
    kind: Option<Name>,
    /// The obstacle that its text names.
    said: Option<Obstacle>,
}

struct Collector<'l> {
    calls: CallFinder<'l>,
    decisions: Vec<Decision>,
    refusals: Vec<Refusal>,
    /// The call that each request of the control protocol asks about.
    requests: Hashed<&'l Name, usize>,
    /// Responses to requests. They may be before the requests, in another log.
    answers: Vec<(&'l Name, bool)>,
    modes: Vec<ModeChange>,
}

impl<'l> Collector<'l> {
    fn read(&mut self, context: &Context, trace: &'l Trace<Name>) {
        match trace {
            Trace::Decision(decoded) => self.decided(decoded),
            Trace::Request(decoded) => self.asked(decoded),
            Trace::Response(decoded) => match decoded.verdict {
                Verdict::Allow => self.answers.push((&decoded.id, true)),
                Verdict::Deny => self.answers.push((&decoded.id, false)),
                Verdict::Success | Verdict::Error => {}
            },
            Trace::Approval(decoded) => self.approved(decoded),
            Trace::Mode(mode) => {
                self.modes.push(ModeChange { context: context.clone(), mode: Name::clone(mode) });
            }
            _ => {}
        }
    }

    fn decided(&mut self, decoded: &trace::Decision<Name>) {
        let Some(call) = self.calls.find(&decoded.call) else { return };
        let (decision, refusal) = (&mut self.decisions[call], &mut self.refusals[call]);
        if decoded.is_answer {
            decision.allowed = decoded.allowed.or(decision.allowed);
            decision.source = decoded.source.clone().or(decision.source.take());
        } else {
            decision.allowed = decision.allowed.or(decoded.allowed);
        }
        // `user_temporary`, `user_permanent`, `user_reject`: a person or a host was asked.
        decision.asked |= decoded.source.as_ref().is_some_and(|source| source.starts_with("user"));
        set(&mut decision.reason, &decoded.reason);
        set(&mut decision.rule, &decoded.rule);
        set(&mut refusal.kind, &decoded.refusal);
        refusal.said = refusal.said.or(decoded.obstacle);
    }

    fn asked(&mut self, decoded: &'l trace::Request<Name>) {
        if decoded.subtype.as_deref() != Some("can_use_tool") {
            return;
        }
        let Some(call) = decoded.call.as_ref().and_then(|call| self.calls.find(call)) else { return };
        let decision = &mut self.decisions[call];
        decision.asked = true;
        set(&mut decision.reason, &decoded.reason);
        set(&mut decision.rule, &decoded.rule);
        self.requests.insert(&decoded.id, call);
    }

    fn approved(&mut self, decoded: &trace::Approval<Name>) {
        let Some(call) = self.calls.find(&decoded.call) else { return };
        let decision = &mut self.decisions[call];
        let allowed = match decoded.step {
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
        if decoded.step == ApprovalStep::ApprovedAlways {
            decision.rule.get_or_insert_with(|| Name::from("session"));
        }
    }
}

/// Sets a value that is not known yet.
fn set(known: &mut Option<Name>, decoded: &Option<Name>) {
    if known.is_none() {
        known.clone_from(decoded);
    }
}

/// Returns the obstacle that the fields of a decision name.
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

/// Keeps the first mode of each session and the changes.
fn keep_changes(modes: &mut Vec<ModeChange>) {
    let mut last: BTreeMap<Option<SessionIndex>, Name> = BTreeMap::new();
    modes.retain(|change| {
        last.insert(change.context.session, change.mode.clone()).as_ref() != Some(&change.mode)
    });
}

/// Sets the mode of each decision: the last one of its session before the call.
fn in_force(decisions: &mut [Decision], ledger: &Ledger, modes: &[ModeChange]) {
    let mut by_session: Hashed<Option<SessionIndex>, Vec<&ModeChange>> = Hashed::default();
    for change in modes {
        by_session.entry(change.context.session).or_default().push(change);
    }
    let position = |at: Option<Location>| at.map(|at| (at.source, at.offset));
    for (decision, call) in decisions.iter_mut().zip(&ledger.calls) {
        let Some(own) = by_session.get(&call.context.session) else { continue };
        // Changes are in log order.
        let next = own
            .partition_point(|change| position(change.context.location) <= position(call.context.location));
        let source = |context: &Context| context.location.map(|at| at.source);
        let before = next.checked_sub(1).map(|last| own[last]);
        let same = before.filter(|change| source(&change.context) == source(&call.context));
        // The file of a subagent has no mode: the mode of the session applies.
        decision.mode = same.or(own.first().copied()).map(|change| Name::clone(&change.mode));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_decision_name_the_obstacle() {
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
            // `dontAsk` denies what no rule allows, so an allow rule helps.
            (decision("config", Some("mode"), "dontAsk"), automatic, None),
        ] {
            assert_eq!(obstacle(&decision, kind), named, "{decision:?} {kind:?}");
        }
    }
}
