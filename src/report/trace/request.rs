//! Requests to the model: which records of requests belong to which response, and what they used.

use std::collections::BTreeMap;

use super::{
    Estimated, MarkKind, Request, SpanBody,
    build::{Builder, REQUEST, SpanKey, Timed, began, place_key},
};
use crate::{
    facts::{
        Hashed, Name,
        ledger::{AgentIndex, ApiFailure, Compaction, Context, MomentKind, Response, ResponseIndex},
    },
    measure::{Time, Tokens, Usd, add},
};

/// Part of the CLI that summarises conversations.
const COMPACT: &str = "compact";

/// Errors that are about a response that the log has, not about a request of their own.
const WITHOUT_REQUEST: &str = "max_output_tokens";

/// A record of a request that was sent.
struct Sent<'l> {
    time: Time,
    id: Option<&'l Name>,
    source: Option<&'l Name>,
    is_claimed: bool,
}

/// Records that say when an agent sent requests and got input, each by time.
#[derive(Default)]
struct Lane<'l> {
    sent: Vec<Sent<'l>>,
    /// Positions of the records by id.
    by_id: Hashed<&'l Name, usize>,
    /// Times of failures that were repeated.
    retries: Vec<Time>,
    /// Times of prompts and results, which the agent answers with a request.
    inputs: Vec<Time>,
    /// Times of the responses so far.
    answered: Vec<Time>,
}

/// When a request began.
struct Begin {
    start: Time,
    is_estimated: bool,
    /// Times of its attempts, as far as the log has them.
    attempts: Vec<Time>,
    count: u64,
    source: Option<Name>,
}

impl Lane<'_> {
    /// Claims the records of the request that was answered at `time`, after the answer before it.
    fn begin(&mut self, time: Time, record: Option<&Name>) -> Begin {
        let after = self.answered[..self.answered.partition_point(|&one| one < time)].last().copied();
        let position = |times: &[Time]| {
            let from = after.map_or(0, |after| times.partition_point(|&one| one <= after));
            from..times.partition_point(|&one| one <= time).max(from)
        };
        let retries = &self.retries[position(&self.retries)];
        let (first_failure, failures) = (retries.first().copied(), retries.len());
        let exact = record.and_then(|record| self.by_id.get(record)).copied();
        let since = after.map_or(0, |after| self.sent.partition_point(|sent| sent.time <= after));
        let until = self.sent.partition_point(|sent| sent.time <= time);
        let candidates = (since..until.max(since)).filter(|&at| !self.sent[at].is_claimed);
        let own = exact.or_else(|| candidates.clone().next_back());
        let source = own.and_then(|own| self.sent[own].source);
        // A request before the input that this one answers was interrupted.
        let input = own.and_then(|own| self.input_before(self.sent[own].time));
        let is_own = |at: &usize| {
            let Sent { time, source: own_source, .. } = &self.sent[*at];
            own.is_some() && *own_source == source && Some(*time) >= input
        };
        let mut chosen: Vec<usize> = candidates.filter(is_own).collect();
        chosen.extend(exact.filter(|exact| !chosen.contains(exact)));
        let mut attempts: Vec<Time> = chosen.iter().map(|&at| self.sent[at].time.min(time)).collect();
        attempts.sort_unstable();
        chosen.into_iter().for_each(|at| self.sent[at].is_claimed = true);
        // Some versions only log the last attempt.
        let known =
            attempts.first().copied().filter(|&first| first_failure.is_none_or(|failed| first <= failed));
        let latest_input = || self.input_before(first_failure.unwrap_or(time));
        let start = known.or_else(latest_input).or(attempts.first().copied()).unwrap_or(time);
        let count = attempts.len().max(failures + 1) as u64;
        Begin { start, is_estimated: known.is_none(), attempts, count, source: source.cloned() }
    }

    fn input_before(&self, time: Time) -> Option<Time> {
        self.inputs[..self.inputs.partition_point(|&input| input <= time)].last().copied()
    }
}

impl<'l> Builder<'l> {
    /// Adds the requests that have a response, and those that failed.
    pub(super) fn requests(&mut self) {
        let mut lanes = self.request_lanes();
        let charged = self.charged();
        let mut responses: Vec<(Time, ResponseIndex)> = Vec::with_capacity(self.rows.responses.len());
        for &at in &self.rows.responses {
            match self.ledger.responses[at].context.time {
                Some(time) => responses.push((time, at)),
                None => self.omitted().requests += 1,
            }
        }
        responses.sort_unstable();
        for (time, at) in responses {
            let response = &self.ledger.responses[at];
            let lane = lanes.entry(response.context.agent).or_default();
            let begin = lane.begin(time, response.more().request_record.as_ref());
            lane.answered.push(time);
            self.response(at, response, time, begin, &charged);
        }
        self.failures(&mut lanes);
    }

    fn request_lanes(&self) -> BTreeMap<Option<AgentIndex>, Lane<'l>> {
        let (ledger, rows) = (self.ledger, self.rows);
        let mut lanes: BTreeMap<Option<AgentIndex>, Lane<'l>> = BTreeMap::new();
        for moment in &rows.moments {
            let (Some(time), MomentKind::Request { id, source }) = (moment.context.time, &moment.kind) else {
                continue;
            };
            let sent = Sent { time, id: id.as_ref(), source: source.as_ref(), is_claimed: false };
            lanes.entry(moment.context.agent).or_default().sent.push(sent);
        }
        for failure in rows.api_failures.iter().filter(|failure| failure.retried) {
            lanes.entry(failure.context.agent).or_default().retries.extend(failure.context.time);
        }
        let main = lanes.entry(None).or_default();
        main.inputs.extend(rows.exchanges.iter().filter_map(|&at| {
            let exchange = &ledger.exchanges[at];
            exchange.time.filter(|_| exchange.begins)
        }));
        for &at in &rows.calls {
            let call = &ledger.calls[at];
            let Some((time, latency)) = call.context.time.zip(call.latency) else { continue };
            lanes.entry(call.context.agent).or_default().inputs.push(time.plus(latency));
        }
        for &at in &rows.agents {
            let began = ledger.agents[at].call.and_then(|call| began(&ledger.calls[call]));
            lanes.entry(Some(at)).or_default().inputs.extend(began);
        }
        for lane in lanes.values_mut() {
            lane.sent.sort_by_key(|sent| sent.time);
            lane.by_id = lane.sent.iter().zip(0..).filter_map(|(sent, at)| Some((sent.id?, at))).collect();
            lane.retries.sort_unstable();
            lane.inputs.sort_unstable();
        }
        lanes
    }

    /// Returns the charges of responses whose own counts are not final.
    fn charged(&self) -> Hashed<ResponseIndex, (Tokens, Option<Usd>)> {
        let mut charged: Hashed<ResponseIndex, (Tokens, Option<Usd>)> = Hashed::default();
        for charge in self.rows.charges.iter().filter(|charge| charge.known) {
            let Some(response) = charge.response else { continue };
            if !self.ledger.responses[response].is_final {
                let (tokens, cost) = charged.entry(response).or_default();
                *tokens += charge.tokens;
                add(cost, charge.cost);
            }
        }
        charged
    }

    fn response(
        &mut self,
        at: ResponseIndex,
        response: &Response,
        time: Time,
        begin: Begin,
        charged: &Hashed<ResponseIndex, (Tokens, Option<Usd>)>,
    ) {
        let Begin { start, is_estimated, attempts, count, source } = begin;
        let own = (Some(response.tokens), response.computed.or(response.price));
        let ((tokens, cost), estimated_usage, has_output) = match charged.get(&at) {
            _ if response.is_final => (own, false, true),
            // A printed line has the final counts of all tokens but those of the output.
            Some(&(Tokens { output, .. }, cost)) => {
                ((Some(Tokens { output, ..response.tokens }), cost), true, true)
            }
            None => ((Some(response.tokens), None), false, false),
        };
        let sent = attempts.last().copied().filter(|_| !is_estimated);
        let request = Request {
            model: Some(Name::clone(&response.model)),
            answered: response.answered.clone(),
            response: response.id.clone(),
            id: response.more().request.clone(),
            source,
            agent: self.agent_id(&response.context),
            stop_reason: response.more().stop_reason.clone(),
            tokens,
            has_output,
            cost,
            attempts: Some(count),
            attempt_times: attempts,
            first_line: Some(time),
            first_token: sent.map(|sent| time.since(sent)),
            said: response.more().said.clone(),
            message: None,
            compacts: false,
        };
        let key =
            response.id.as_deref().map_or_else(|| place_key(&response.context, at.get()), str::to_owned);
        let estimated = Estimated { start: is_estimated, end: false, usage: estimated_usage };
        let end = response.more().ended.unwrap_or(time).max(time);
        let timed = Timed { start, end, estimated, error: None };
        let body = SpanBody::Request(Box::new(request));
        self.add(&response.context, SpanKey::new(REQUEST, &key), timed, body);
    }

    /// Adds failed requests, and marks of all failures.
    fn failures(&mut self, lanes: &mut BTreeMap<Option<AgentIndex>, Lane<'l>>) {
        let has_records = lanes.values().any(|lane| !lane.sent.is_empty());
        for failure in &self.rows.api_failures {
            let kind = if failure.retried { MarkKind::Retry } else { MarkKind::ApiError };
            let span = if failure.retried { None } else { self.failure(failure, lanes, has_records) };
            if let Some(mark) = self.mark(&failure.context, kind, span) {
                mark.name = Some(Name::clone(&failure.kind));
                (mark.took, mark.message) = (failure.wait, failure.message.clone());
            }
        }
    }

    fn failure(
        &mut self,
        failure: &ApiFailure,
        lanes: &mut BTreeMap<Option<AgentIndex>, Lane<'l>>,
        has_records: bool,
    ) -> Option<super::SpanId> {
        if *failure.kind == *WITHOUT_REQUEST {
            return None;
        }
        let Some(end) = failure.context.time else {
            self.omitted().requests += 1;
            return None;
        };
        let lane = lanes.entry(failure.context.agent).or_default();
        let begin = lane.begin(end, None);
        if has_records && begin.attempts.is_empty() {
            return None;
        }
        let request = Request {
            source: begin.source,
            agent: self.agent_id(&failure.context),
            attempts: Some(begin.count),
            attempt_times: begin.attempts,
            message: failure.message.clone(),
            ..Request::default()
        };
        let estimated = Estimated { start: begin.is_estimated, ..Estimated::default() };
        let timed = Timed { start: begin.start, end, estimated, error: Some(Name::clone(&failure.kind)) };
        let key = format!("failure {}", end.micros());
        let body = SpanBody::Request(Box::new(request));
        Some(self.add(&failure.context, SpanKey::new(REQUEST, &key), timed, body))
    }

    /// Adds the requests of compactions, which have no response in the log.
    pub(super) fn compactions(&mut self) {
        let rest = self.rest();
        let mut compactions = self.rows.compactions.clone();
        compactions.sort_by_key(|one| one.context.time);
        let mut sent: Vec<Time> = self
            .rows
            .moments
            .iter()
            .filter_map(|moment| match &moment.kind {
                MomentKind::Request { source: Some(source), .. } if *source == COMPACT => moment.context.time,
                _ => None,
            })
            .collect();
        sent.sort_unstable();
        for compaction in compactions {
            let span = self.compaction(compaction, &sent, rest.as_ref());
            let context = compaction.context.clone();
            if let Some(mark) = self.mark(&context, MarkKind::Compaction, span) {
                (mark.tokens, mark.took) =
                    ((compaction.fact.before, compaction.fact.after), compaction.fact.took);
                mark.name = compaction.fact.trigger.clone();
            }
        }
    }

    fn compaction(
        &mut self,
        compaction: &Compaction,
        sent: &[Time],
        rest: Option<&Rest>,
    ) -> Option<super::SpanId> {
        let Some((end, took)) = compaction.context.time.zip(compaction.fact.took) else {
            self.omitted().requests += 1;
            return None;
        };
        let start = Time::from_micros(end.micros().saturating_sub(took.micros().max(0)));
        let sent = sent[..sent.partition_point(|&sent| sent <= end)].last().copied();
        let sent = sent.filter(|&sent| sent >= start);
        let request = Request {
            model: rest.and_then(|rest| rest.model.clone()),
            source: Some(arcstr::literal!(COMPACT)),
            tokens: rest.map(|rest| rest.tokens),
            has_output: rest.is_some(),
            cost: rest.and_then(|rest| rest.cost),
            attempt_times: sent.into_iter().collect(),
            compacts: true,
            ..Request::default()
        };
        let estimated = Estimated { start: sent.is_none(), end: false, usage: rest.is_some() };
        let timed = Timed { start: sent.unwrap_or(start), end, estimated, error: None };
        let key = format!("compaction {}", end.micros());
        let at = self.interaction_of_compaction(compaction, start);
        let (key, body) = (SpanKey::new(REQUEST, &key), SpanBody::Request(Box::new(request)));
        let context: &Context = &compaction.context;
        Some(self.add_to(at, context, key, timed, body))
    }

    /// Returns the usage that no response has, if it can only be that of the one compaction of the session.
    fn rest(&self) -> Option<Rest> {
        let (rows, ledger) = (self.rows, self.ledger);
        let all_final = rows.responses.iter().all(|&at| ledger.responses[at].is_final);
        if rows.compactions.len() != 1 || !all_final || !rows.charges.iter().any(|charge| charge.reported) {
            return None;
        }
        let (mut tokens, mut cost) = (Tokens::default(), None::<Usd>);
        for charge in &rows.charges {
            tokens += charge.tokens;
            add(&mut cost, charge.cost);
        }
        for &at in &rows.responses {
            let response = &ledger.responses[at];
            tokens = tokens.zip_with(response.tokens, u64::saturating_sub);
            cost = cost.zip(response.computed).map(|(cost, own)| cost.saturating_sub(own));
        }
        let mut models = rows.charges.iter().filter_map(|charge| charge.model.as_ref());
        let model = models.next().filter(|first| models.all(|other| other == *first)).cloned();
        (tokens.output > 0).then_some(Rest { model, tokens, cost })
    }
}

/// Usage that no response has.
struct Rest {
    model: Option<Name>,
    tokens: Tokens,
    cost: Option<Usd>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Time {
        Time::from_micros(millis * 1000)
    }

    fn times(millis: &[i64]) -> Vec<Time> {
        millis.iter().copied().map(at).collect()
    }

    fn lane(sent: &[i64], retries: &[i64], inputs: &[i64]) -> Lane<'static> {
        let sent = times(sent).into_iter();
        Lane {
            sent: sent.map(|time| Sent { time, id: None, source: None, is_claimed: false }).collect(),
            retries: times(retries),
            inputs: times(inputs),
            ..Lane::default()
        }
    }

    /// Start, whether it is estimated, and number of attempts of the request that was answered at this time.
    fn begin(lane: &mut Lane<'_>, millis: i64) -> (Time, bool, u64) {
        let Begin { start, is_estimated, count, .. } = lane.begin(at(millis), None);
        lane.answered.push(at(millis));
        (start, is_estimated, count)
    }

    #[test]
    fn a_request_begins_with_its_first_attempt() {
        let mut lane = lane(&[10, 30, 60], &[20], &[5, 55]);
        assert_eq!(begin(&mut lane, 50), (at(10), false, 2));
        assert_eq!(begin(&mut lane, 70), (at(60), false, 1));
    }

    #[test]
    fn a_request_that_was_interrupted_is_no_attempt_of_the_next_one() {
        let mut lane = lane(&[10, 600], &[], &[5, 590]);
        assert_eq!(begin(&mut lane, 650), (at(600), false, 1));
    }

    #[test]
    fn if_only_the_last_attempt_is_logged_the_request_begins_with_its_input() {
        let mut lane = lane(&[40], &[20, 30], &[5]);
        assert_eq!(begin(&mut lane, 50), (at(5), true, 3));
    }

    #[test]
    fn without_records_a_request_begins_with_the_latest_input_before_its_answer() {
        let mut lane = lane(&[], &[], &[5, 55, 90]);
        assert_eq!(begin(&mut lane, 50), (at(5), true, 1));
        assert_eq!(begin(&mut lane, 70), (at(55), true, 1));
        assert_eq!(begin(&mut self::lane(&[], &[], &[]), 3), (at(3), true, 1));
    }

    #[test]
    fn the_record_that_a_response_names_is_its_request_whatever_was_sent_later() {
        let (own, other) = (Name::from("own"), Name::from("other"));
        let (main, helper) = (Name::from("sdk"), Name::from("title"));
        let sent =
            |time, id, source| Sent { time: at(time), id: Some(id), source: Some(source), is_claimed: false };
        let mut lane =
            Lane { sent: vec![sent(10, &own, &main), sent(20, &other, &helper)], ..Lane::default() };
        lane.by_id = Hashed::from_iter([(&own, 0), (&other, 1)]);
        let Begin { start, source, count, .. } = lane.begin(at(30), Some(&own));
        assert_eq!((start, source, count), (at(10), Some(Name::clone(&main)), 1));
        assert!(!lane.sent[1].is_claimed);
    }
}
