//! Decodes permission decisions.

use super::{Decoder, Object, ToolResult, Trace, content};
use crate::event::{
    denial::{self, Obstacle},
    fields::{DecisionFields, DecisionKey},
    json::Json,
    obvious::Obvious,
    record::Parser,
};

/// A decision about a call, as one record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<T> {
    /// Id of the call.
    pub call: T,
    /// Whether it was allowed.
    pub allowed: Option<bool>,
    /// Whether the record is the result of the call, which has more data than a notice about it.
    pub is_answer: bool,
    /// The decider: `config`, `hook`, `user_temporary`, `user_reject` and so on.
    pub source: Option<T>,
    /// Why: `rule`, `mode`, `hook`, `subcommandResults` and so on.
    pub reason: Option<T>,
    /// The rule, or the scope of the rule.
    pub rule: Option<T>,
    /// Kind of the denial: `user-rejected`, `permission-rule`.
    pub refusal: Option<T>,
    /// The obstacle that the text of a denial names.
    pub obstacle: Option<Obstacle>,
}

/// A decision without its call.
#[derive(Clone, Debug)]
pub(super) struct Decided<T> {
    allowed: Option<bool>,
    source: Option<T>,
    reason: Option<T>,
    rule: Option<T>,
}

impl<T> Default for Decided<T> {
    fn default() -> Self {
        Self { allowed: None, source: None, reason: None, rule: None }
    }
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    /// Decodes the decision in the result of a call.
    pub(super) fn decided(&mut self, answer: &ToolResult<'a>) {
        let Some(id) = &answer.id else { return };
        let decision = answer.decision.and_then(|json| self.decision(json));
        let text = answer.content.filter(|_| answer.is_error).and_then(|json| content(Json::checked(json)));
        let obstacle = text.as_deref().and_then(denial::obstacle);
        let refusal = answer.refusal.and_then(|json| Json::checked(json).text());
        if decision.is_none() && obstacle.is_none() && refusal.is_none() {
            return;
        }
        let Decided { allowed, source, reason, rule } = decision.unwrap_or_default();
        let (call, refusal) = (self.owner.own_id(id.clone()), self.own(refusal));
        let decision = Decision { call, allowed, is_answer: true, source, reason, rule, refusal, obstacle };
        self.found.push(Trace::Decision(Box::new(decision)));
    }

    /// Decodes a decision, unless it is the same as the last one. `None` if it is no object.
    fn decision(&mut self, json: &'a str) -> Option<Decided<T>> {
        if let Some(last) = self.owner.last()
            && let Some((last, decided)) = &last.decision
            && **last == *json
        {
            return Some(decided.clone());
        }
        let fields: DecisionFields<'_> = Obvious::fields(Json::checked(json))?;
        let reason = [DecisionKey::SnakeReason, DecisionKey::CamelReason];
        let code = || fields.text(DecisionKey::CamelCode).filter(|code| code != "unknown");
        let reason = reason.into_iter().find_map(|key| fields.text(key)).or_else(code);
        let decided = Decided {
            allowed: match fields.text(DecisionKey::Decision).as_deref() {
                Some("accept") => Some(true),
                Some("reject") => Some(false),
                _ => None,
            },
            source: self.own(fields.text(DecisionKey::Source)),
            reason: self.own(reason),
            rule: self.own(fields.text(DecisionKey::Rule)),
        };
        if let Some(last) = self.owner.last() {
            last.decision = Some((json.into(), decided.clone()));
        }
        Some(decided)
    }

    /// `system/permission_denied`.
    pub(super) fn denied(&mut self, record: &Object<'a>) {
        let Some(call) = self.text(record, &["tool_use_id"]) else { return };
        let decision = Decision {
            call,
            allowed: Some(false),
            is_answer: false,
            source: None,
            reason: self.text(record, &["decision_reason_type"]),
            rule: None,
            refusal: None,
            obstacle: record.text(&["message"]).as_deref().and_then(denial::obstacle),
        };
        self.found.push(Trace::Decision(Box::new(decision)));
    }
}
