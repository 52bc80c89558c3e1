//! Matches requests and responses by `request_id`, in any order and across sources.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ControlLine, Exchange};
use crate::{
    event::{Dialect, trace::Trace},
    facts::Name,
    input::SourceId,
};

/// Returns every exchange, complete or not.
pub(super) fn exchanges(halves: Vec<ControlLine<'_>>) -> Vec<Exchange<'_>> {
    let mut groups: BTreeMap<&Name, Vec<ControlLine<'_>>> = BTreeMap::new();
    for half in halves {
        groups.entry(half.id).or_default().push(half);
    }
    let sides = Sides::of(&groups);
    groups.into_values().flat_map(|group| group_exchanges(group, &sides)).collect()
}

fn group_exchanges<'a>(group: Vec<ControlLine<'a>>, sides: &Sides) -> Vec<Exchange<'a>> {
    let (mut requests, mut responses, mut cancels) = (Vec::new(), Vec::new(), Vec::new());
    for half in group {
        match &half.row.trace {
            Trace::Request(_) => requests.push(half),
            Trace::Response(_) => responses.push(half),
            _ => cancels.push(half),
        }
    }
    // The CLI creates unique ids, so every line with the same id is part of the same exchange or a copy.
    // Hosts count from 1 in every run.
    if requests.iter().any(|half| half.row.dialect == Dialect::Stream) {
        let pair = Exchange { request: first(requests), response: first(responses), cancel: first(cancels) };
        return vec![pair];
    }
    let mut pairs = match_responses(requests, responses, sides);
    for cancel in cancels {
        let open = |pair: &&mut Exchange<'_>| pair.cancel.is_none() && pair.request.is_some();
        match pairs.iter_mut().find(open) {
            Some(pair) => pair.cancel = Some(cancel),
            None => pairs.push(Exchange { request: None, response: None, cancel: Some(cancel) }),
        }
    }
    pairs
}

fn first(halves: Vec<ControlLine<'_>>) -> Option<ControlLine<'_>> {
    halves.into_iter().next()
}

/// Matches requests and responses with the same id: first within a source, then between sources that are two
/// sides of a run, then the rest if there are equally many of both.
fn match_responses<'a>(
    requests: Vec<ControlLine<'a>>,
    responses: Vec<ControlLine<'a>>,
    sides: &Sides,
) -> Vec<Exchange<'a>> {
    let mut pending: Vec<Option<ControlLine<'a>>> = responses.into_iter().map(Some).collect();
    let mut pairs: Vec<Exchange<'a>> = requests
        .into_iter()
        .map(|request| Exchange { request: Some(request), response: None, cancel: None })
        .collect();
    let same = |asked: SourceId, answered: SourceId| asked == answered;
    let sided = |asked: SourceId, answered: SourceId| sides.are(asked, answered);
    assign(&mut pairs, &mut pending, &same);
    assign(&mut pairs, &mut pending, &sided);
    let open = pairs.iter().filter(|pair| pair.response.is_none()).count();
    if open == pending.iter().flatten().count() {
        assign(&mut pairs, &mut pending, &|_, _| true);
    }
    let alone = |response| Exchange { request: None, response: Some(response), cancel: None };
    pairs.extend(pending.into_iter().flatten().map(alone));
    pairs
}

/// Assigns to each request without a response the first pending response of a source that `fit` accepts.
fn assign<'a>(
    pairs: &mut [Exchange<'a>],
    pending: &mut [Option<ControlLine<'a>>],
    fit: &dyn Fn(SourceId, SourceId) -> bool,
) {
    let mut by_source: BTreeMap<SourceId, VecDeque<usize>> = BTreeMap::new();
    for (at, half) in pending.iter().enumerate() {
        if let Some(source) = half.as_ref().and_then(source) {
            by_source.entry(source).or_default().push_back(at);
        }
    }
    for pair in pairs.iter_mut().filter(|pair| pair.response.is_none()) {
        let Some(asked) = pair.request.as_ref().and_then(source) else { continue };
        let mut fitting = by_source.iter_mut().filter(|(answered, _)| fit(asked, **answered));
        let found = fitting.find_map(|(_, queue)| queue.pop_front());
        pair.response = found.and_then(|at| pending[at].take());
    }
}

fn source(half: &ControlLine<'_>) -> Option<SourceId> {
    half.row.context.location.map(|at| at.source)
}

/// Pairs of sources that are two sides of a run: they share an id that no third source has.
struct Sides(BTreeSet<(SourceId, SourceId)>);

impl Sides {
    fn of(groups: &BTreeMap<&Name, Vec<ControlLine<'_>>>) -> Self {
        let pair = |group: &Vec<ControlLine<'_>>| {
            let sources: BTreeSet<SourceId> = group.iter().filter_map(source).collect();
            match sources.into_iter().collect::<Vec<_>>()[..] {
                [one, other] => Some((one, other)),
                _ => None,
            }
        };
        Self(groups.values().filter_map(pair).collect())
    }

    fn are(&self, one: SourceId, other: SourceId) -> bool {
        self.0.contains(&(one.min(other), one.max(other)))
    }
}
