//! The CLI's metrics of a session, as far as the log has them.

use std::collections::BTreeMap;

use super::{Attribute, Attributes, SessionTrace, SpanBody};
use crate::{
    facts::Name,
    measure::{Time, Tokens, Usd, add},
};

/// Tools whose decisions the CLI counts.
const EDIT_TOOLS: [&str; 4] = ["Edit", "Write", "NotebookEdit", "MultiEdit"];

/// A counter of a session.
#[derive(Clone, Debug)]
pub struct Metric<'a> {
    pub name: &'static str,
    pub description: &'static str,
    pub unit: &'static str,
    pub points: Vec<Point<'a>>,
}

/// The value of a counter for one set of attributes, over the whole session.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    pub start: Time,
    pub end: Time,
    pub value: Attribute<'a>,
    pub attributes: Attributes<'a>,
}

/// Usage by model and kind of agent.
#[derive(Default)]
struct Usage {
    tokens: Tokens,
    cost: Option<Usd>,
}

impl SessionTrace {
    /// Returns the metrics of the session; none if it has no time.
    pub fn metrics<'a>(&'a self) -> Vec<Metric<'a>> {
        let start = self.spans.iter().map(|span| span.start).min();
        let Some((start, end)) = start.zip(self.spans.iter().map(|span| span.end).max()) else {
            return Vec::new();
        };
        let point = |value: Attribute<'a>, set: &dyn Fn(&mut Attributes<'a>)| {
            let mut attributes = Attributes::default();
            attributes.set("session.id", &self.session);
            set(&mut attributes);
            Point { start, end, value, attributes }
        };
        let mut metrics = vec![
            Metric {
                name: "claude_code.session.count",
                description: "Count of CLI sessions started",
                unit: "",
                points: vec![point(Attribute::Count(1), &|_| {})],
            },
            Metric {
                name: "claude_code.cost.usage",
                description: "Cost of the Claude Code session",
                unit: "USD",
                points: Vec::new(),
            },
            Metric {
                name: "claude_code.token.usage",
                description: "Number of tokens used",
                unit: "tokens",
                points: Vec::new(),
            },
            Metric {
                name: "claude_code.active_time.total",
                description: "Total active time in seconds",
                unit: "s",
                points: self
                    .active()
                    .map(|millis| point(Attribute::Seconds(millis), &|all| all.set("type", "cli")))
                    .into_iter()
                    .collect(),
            },
            Metric {
                name: "claude_code.code_edit_tool.decision",
                description: "Count of code editing tool permission decisions (accept/reject) for Edit, Write, and NotebookEdit tools",
                unit: "",
                points: Vec::new(),
            },
        ];
        for ((model, source), Usage { tokens, cost }) in self.usage() {
            let named = |all: &mut Attributes<'a>| {
                all.set_some("model", model.clone());
                all.set("query_source", source);
            };
            metrics[1].points.extend(cost.map(|cost| point(Attribute::Usd(cost), &named)));
            let classes = [
                ("input", tokens.input),
                ("output", tokens.output),
                ("cacheRead", tokens.cache_read),
                ("cacheCreation", tokens.cache_write()),
            ];
            for (class, count) in classes {
                let named = |all: &mut Attributes<'a>| {
                    named(all);
                    all.set("type", class);
                };
                metrics[2].points.push(point(Attribute::Count(count), &named));
            }
        }
        for ((tool, decision, source), count) in self.decisions() {
            let named = |all: &mut Attributes<'a>| {
                all.set("tool_name", Name::clone(&tool));
                all.set("decision", decision);
                all.set_some("source", source.clone());
            };
            metrics[4].points.push(point(Attribute::Count(count), &named));
        }
        metrics.retain(|metric| !metric.points.is_empty());
        metrics
    }

    /// Returns the summed durations of all interactions.
    fn active(&self) -> Option<crate::measure::Millis> {
        let interactions = self.spans.iter().filter(|span| matches!(span.body, SpanBody::Interaction(_)));
        interactions.map(super::Span::duration).reduce(|sum, one| sum + one)
    }

    /// Returns tokens and cost by model and by the part of the CLI that asked.
    fn usage(&self) -> BTreeMap<(Option<Name>, &'static str), Usage> {
        let mut usage: BTreeMap<(Option<Name>, &'static str), Usage> = BTreeMap::new();
        for span in &self.spans {
            let SpanBody::Request(request) = &span.body else { continue };
            let Some(tokens) = request.tokens else { continue };
            let source = if span.agent > 0 {
                "subagent"
            } else if request.compacts {
                "auxiliary"
            } else {
                "main"
            };
            let sum = usage.entry((request.model.clone(), source)).or_default();
            sum.tokens += tokens;
            add(&mut sum.cost, request.cost);
        }
        usage
    }

    /// Counts the decisions about tools that edit files.
    fn decisions(&self) -> BTreeMap<(Name, &'static str, Option<Name>), u64> {
        let mut counts = BTreeMap::new();
        for span in &self.spans {
            let SpanBody::Tool(tool) = &span.body else { continue };
            let Some(allowed) = tool.decision.allowed.filter(|_| EDIT_TOOLS.contains(&&*tool.name)) else {
                continue;
            };
            let decision = if allowed { "accept" } else { "reject" };
            *counts.entry((Name::clone(&tool.name), decision, tool.decision.source.clone())).or_default() +=
                1;
        }
        counts
    }
}
