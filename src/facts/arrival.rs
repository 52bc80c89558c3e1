//! Live statistics from the arrival times of records: which calls run now, and how long calls take.

use std::collections::BTreeMap;

use super::{Hashed, HashedSet, Latencies, Name, detail::AGENT_TOOLS, key::Id};
use crate::{
    event::{
        Body, Event, Message, Text, ToolPart, ToolResult, ToolUse,
        trace::{self, Trace, Traces},
    },
    measure::Millis,
};

/// Arrival times of calls and results, since the start. Unlike facts they depend on when the log is read.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    asked: Hashed<Id, (Name, Millis)>,
    answered: Hashed<Id, Option<Millis>>,
    /// Responses of the main agent.
    responses: HashedSet<Id>,
    /// Calls that start a subagent.
    agents: HashedSet<Id>,
    /// Subagents that run in the background now, as the CLI last listed them.
    background_agents: u64,
    first: Option<Millis>,
}

/// Statistics at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Time from start to end.
    pub elapsed: Millis,
    /// Time from start to the first record.
    pub first: Option<Millis>,
    /// Latencies by tool.
    pub tools: BTreeMap<Name, Latencies>,
}

impl Arrivals {
    /// Absorbs a record that arrived at `now`.
    pub fn absorb(&mut self, event: &Event<'_>, now: Millis) {
        self.first.get_or_insert(now);
        match &event.body {
            Body::Message(message) => {
                let response = message.response.as_ref().and_then(|response| response.id.as_deref());
                let is_main = event.agent.call.is_none() && !event.agent.sidechain;
                self.responses.extend(response.filter(|_| is_main).map(Id::of));
                self.message(message, now);
            }
            Body::Nested(message, _) => self.message(message, now),
            Body::BridgeResult(answer) => self.answer(answer, now),
            Body::Plain if event.kind.name() == "system/background_tasks_changed" => {
                let tasks = trace::traces(event, Traces::TASKS, &mut |text: Text<'_>| text.into_owned());
                let is_agent = |trace: &&Trace<String>| matches!(trace, Trace::Task(task) if task.kind.as_deref() == Some("agent"));
                self.background_agents = tasks.iter().filter(is_agent).count() as u64;
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Message<'_>, now: Millis) {
        for block in &message.blocks {
            match &block.tool_part {
                ToolPart::Call(call) => self.ask(call, now),
                ToolPart::Result(answer) => self.answer(answer, now),
                ToolPart::None | ToolPart::Server(_) => {}
            }
        }
    }

    fn ask(&mut self, call: &ToolUse<'_>, now: Millis) {
        let Some(id) = call.id.as_deref() else { return };
        let tool = || (Name::from(call.tool.as_deref().unwrap_or_default()), now);
        if call.tool.as_deref().is_some_and(|tool| AGENT_TOOLS.contains(&tool)) {
            self.agents.insert(Id::of(id));
        }
        self.asked.entry(Id::of(id)).or_insert_with(tool);
    }

    fn answer(&mut self, answer: &ToolResult<'_>, now: Millis) {
        let Some(id) = answer.id.as_deref().map(Id::of) else { return };
        // A result before its call has no latency.
        let latency = self.asked.get(&id).map(|(_, since)| now.saturating_sub(*since));
        self.answered.entry(id).or_insert(latency);
    }

    /// Returns the calls without a result, and when each started; the oldest first.
    pub fn running(&self) -> Vec<(Name, Millis)> {
        let open = self.asked.iter().filter(|(id, _)| !self.answered.contains_key(*id));
        let mut open: Vec<(Name, Millis)> = open.map(|(_, call)| call.clone()).collect();
        open.sort_by(|(one, first), (other, second)| first.cmp(second).then_with(|| one.cmp(other)));
        open
    }

    /// Returns how many subagents were started, and how many of them run now.
    pub fn agents(&self) -> (u64, u64) {
        let waiting = self.agents.iter().filter(|id| !self.answered.contains_key(*id)).count() as u64;
        let started = self.agents.len() as u64;
        (started, started.min(waiting + self.background_agents))
    }

    /// Returns the number of responses of the main agent: turns, as the CLI counts them.
    pub fn turns(&self) -> u64 {
        self.responses.len() as u64
    }

    /// Computes the statistics at `now`.
    pub fn settle(&self, now: Millis) -> Arrived {
        let mut tools: BTreeMap<Name, Vec<Millis>> = BTreeMap::new();
        for (id, (tool, _)) in &self.asked {
            if let Some(Some(latency)) = self.answered.get(id) {
                tools.entry(tool.clone()).or_default().push(*latency);
            }
        }
        let tools = tools.into_iter().filter_map(|(tool, all)| Some((tool, Latencies::of(all)?)));
        Arrived { elapsed: now, first: self.first, tools: tools.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::decode;

    fn absorb(arrivals: &mut Arrivals, line: &str, now: i64) {
        arrivals.absorb(&decode(line.as_bytes()).unwrap(), Millis::new(now));
    }

    #[test]
    fn a_subagent_runs_until_its_result_or_while_it_is_listed_in_the_background() {
        let ask = |id: &str| {
            format!(
                r#"{{"type":"assistant","session_id":"s","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Agent","input":{{}}}}]}}}}"#
            )
        };
        let answer = r#"{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
        let listed = r#"{"type":"system","subtype":"background_tasks_changed","session_id":"s","tasks":[{"task_id":"a","task_type":"local_agent"},{"task_id":"b","task_type":"local_bash"}]}"#;
        let mut arrivals = Arrivals::default();
        for line in [&*ask("t1"), &ask("t1"), &ask("t2")] {
            absorb(&mut arrivals, line, 1);
        }
        assert_eq!(arrivals.agents(), (2, 2));
        absorb(&mut arrivals, answer, 2);
        assert_eq!(arrivals.agents(), (2, 1));
        absorb(&mut arrivals, listed, 3);
        assert_eq!(arrivals.agents(), (2, 2));
    }

    #[test]
    fn a_call_runs_from_its_tool_use_to_its_first_result() {
        let ask = |id: &str| {
            format!(
                r#"{{"type":"assistant","session_id":"s","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}"#
            )
        };
        let answer = r#"{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#;
        let mut arrivals = Arrivals::default();
        absorb(&mut arrivals, &ask("t1"), 100);
        absorb(&mut arrivals, &ask("t1"), 150); // the same call again
        absorb(&mut arrivals, &ask("t2"), 200);
        let since: Vec<Millis> = arrivals.running().into_iter().map(|(_, since)| since).collect();
        assert_eq!(since, [Millis::new(100), Millis::new(200)]);
        absorb(&mut arrivals, answer, 400);
        absorb(&mut arrivals, answer, 900);
        assert_eq!(arrivals.running(), [(Name::from("Bash"), Millis::new(200))]);
        let arrived = arrivals.settle(Millis::new(1000));
        assert_eq!(arrived.tools["Bash"].total, Millis::new(300));
        assert_eq!((arrived.tools["Bash"].count, arrived.first), (1, Some(Millis::new(100))));
    }
}
