//! Requests find their responses by `request_id`, in either order and across sources.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Half, Pair};
use crate::{
    event::{Dialect, trace::Trace},
    facts::Name,
    input::SourceId,
};

/// Every request with its response, and what has only one of them.
pub(super) fn paired(halves: Vec<Half<'_>>) -> Vec<Pair<'_>> {
    let mut groups: BTreeMap<&Name, Vec<Half<'_>>> = BTreeMap::new();
    for half in halves {
        groups.entry(half.id).or_default().push(half);
    }
    let sides = Sides::of(&groups);
    groups.into_values().flat_map(|group| group_paired(group, &sides)).collect()
}

fn group_paired<'a>(group: Vec<Half<'a>>, sides: &Sides) -> Vec<Pair<'a>> {
    let (mut requests, mut responses, mut cancels) = (Vec::new(), Vec::new(), Vec::new());
    for half in group {
        match &half.row.trace {
            Trace::Request(_) => requests.push(half),
            Trace::Response(_) => responses.push(half),
            _ => cancels.push(half),
        }
    }
    // The CLI makes up an id that nobody else has, so whatever else has it is a half or a copy of the same. Hosts count
    // from 1 in every run.
    if requests.iter().any(|half| half.row.dialect == Dialect::Stream) {
        let pair = Pair { request: first(requests), response: first(responses), cancel: first(cancels) };
        return vec![pair];
    }
    let mut pairs = met(requests, responses, sides);
    for cancel in cancels {
        let waits = |pair: &&mut Pair<'_>| pair.cancel.is_none() && pair.request.is_some();
        match pairs.iter_mut().find(waits) {
            Some(pair) => pair.cancel = Some(cancel),
            None => pairs.push(Pair { request: None, response: None, cancel: Some(cancel) }),
        }
    }
    pairs
}

fn first(halves: Vec<Half<'_>>) -> Option<Half<'_>> {
    halves.into_iter().next()
}

/// The requests and responses of one id: those of a source first, then those of sources that are two sides of a run, then
/// the rest where it comes out even.
fn met<'a>(requests: Vec<Half<'a>>, responses: Vec<Half<'a>>, sides: &Sides) -> Vec<Pair<'a>> {
    let mut waiting: Vec<Option<Half<'a>>> = responses.into_iter().map(Some).collect();
    let mut pairs: Vec<Pair<'a>> = requests
        .into_iter()
        .map(|request| Pair { request: Some(request), response: None, cancel: None })
        .collect();
    let same = |asked: SourceId, answered: SourceId| asked == answered;
    let sided = |asked: SourceId, answered: SourceId| sides.are(asked, answered);
    meet(&mut pairs, &mut waiting, &same);
    meet(&mut pairs, &mut waiting, &sided);
    let open = pairs.iter().filter(|pair| pair.response.is_none()).count();
    if open == waiting.iter().flatten().count() {
        meet(&mut pairs, &mut waiting, &|_, _| true);
    }
    let alone = |response| Pair { request: None, response: Some(response), cancel: None };
    pairs.extend(waiting.into_iter().flatten().map(alone));
    pairs
}

/// Gives each request that has none the first response of a source that fits its own.
fn meet<'a>(
    pairs: &mut [Pair<'a>],
    waiting: &mut [Option<Half<'a>>],
    fit: &dyn Fn(SourceId, SourceId) -> bool,
) {
    let mut by_source: BTreeMap<SourceId, VecDeque<usize>> = BTreeMap::new();
    for (at, half) in waiting.iter().enumerate() {
        if let Some(source) = half.as_ref().and_then(source) {
            by_source.entry(source).or_default().push_back(at);
        }
    }
    for pair in pairs.iter_mut().filter(|pair| pair.response.is_none()) {
        let Some(asked) = pair.request.as_ref().and_then(source) else { continue };
        let mut fitting = by_source.iter_mut().filter(|(answered, _)| fit(asked, **answered));
        let found = fitting.find_map(|(_, queue)| queue.pop_front());
        pair.response = found.and_then(|at| waiting[at].take());
    }
}

fn source(half: &Half<'_>) -> Option<SourceId> {
    half.row.context.location.map(|at| at.source)
}

/// Sources that are the two sides of a run: they share an id that no third one has.
struct Sides(BTreeSet<(SourceId, SourceId)>);

impl Sides {
    fn of(groups: &BTreeMap<&Name, Vec<Half<'_>>>) -> Self {
        let pair = |group: &Vec<Half<'_>>| {
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
