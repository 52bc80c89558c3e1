//! Computes what each turn added to the cumulative totals that the CLI prints.
//!
//! A `result` has the cumulative cost, tokens and API time of its process or, in recent versions, of its
//! session with everything that was resumed. So the share of a turn is the difference to an earlier result.
//! Which one depends on the version, on `/clear`, on resume and on fork. All of these rules are here, applied
//! once, in log order.

use super::{
    Hashed, HashedSet,
    key::{Id, Name, SessionKey},
    sessions::{Chain, ModelUse, TurnEnd},
};
use crate::{
    input::Place,
    measure::{Millis, Tokens, Usd},
};

/// The share of one `result`.
#[derive(Clone, Debug)]
pub(super) struct Difference<'a> {
    pub(super) end: &'a TurnEnd,
    /// The result that it continues, and the total at that point.
    pub(super) before: Option<(&'a TurnEnd, Usd)>,
    /// Cost of the turn.
    pub(super) cost: Option<Usd>,
    /// Tokens and cost by model, if the record has them.
    pub(super) models: Option<Vec<ModelUse>>,
    /// API time of the turn; `None` if an earlier result that it includes is missing.
    pub(super) api: Option<Millis>,
}

/// Cumulative totals that the next result of the same process continues.
#[derive(Clone, Debug)]
struct Totals<'a> {
    end: &'a TurnEnd,
    cost: Usd,
    models: &'a [ModelUse],
    api: Millis,
}

impl<'a> Totals<'a> {
    fn printed(end: &'a TurnEnd) -> Self {
        let models = end.models.as_deref().unwrap_or_default();
        Self { end, cost: end.total.unwrap_or_default(), models, api: end.api.unwrap_or_default() }
    }
}

/// Computes the differences of all results. A result that is in several files occurs once, with its smallest
/// difference.
pub(super) fn differences(chain: &Chain) -> Vec<Difference<'_>> {
    let mut results: Vec<&TurnEnd> = chain.results.iter().collect();
    results.sort_unstable_by_key(|end| end.place);
    let (history, places) = (History::of(&results), ResetsAndVersions::of(chain));
    let all = results.chunk_by(|one, two| one.place.source == two.place.source);
    let all = all.flat_map(|file| file_differences(file, &places, &history)).collect();
    without_copies(all)
}

fn file_differences<'a>(
    file: &[&'a TurnEnd],
    places: &ResetsAndVersions<'_>,
    history: &History<'a>,
) -> Vec<Difference<'a>> {
    let mut last: Option<Totals<'a>> = None;
    let mut by_session: Hashed<&SessionKey, Totals<'a>> = Hashed::default();
    let mut differences = Vec::with_capacity(file.len());
    let mut segment = 0;
    for &end in file {
        if places.segment(end.place) != segment {
            segment = places.segment(end.place);
            last = None;
            by_session.clear();
        }
        let before = by_session
            .get(&end.session)
            .cloned()
            .or_else(|| last.clone().filter(|last| end.since_last.is_some() || continues(end, last.end)))
            .or_else(|| history.continued(end, places.version(end.place)));
        let (difference, totals) = difference(end, before.as_ref(), history);
        differences.push(difference);
        by_session.insert(&end.session, totals.clone());
        last = Some(totals);
    }
    differences
}

fn difference<'a>(
    end: &'a TurnEnd,
    before: Option<&Totals<'a>>,
    history: &History<'a>,
) -> (Difference<'a>, Totals<'a>) {
    let total = end.total.unwrap_or_default();
    // A smaller total belongs to another process.
    let before = before.filter(|before| end.since_last.is_some() || total >= before.cost);
    let base = before.map_or(Usd::ZERO, |before| before.cost);
    let printed = end.models.as_deref().filter(|models| !models.is_empty());
    // 1.0.128 prints an empty `modelUsage` for a local command; the totals continue after it.
    let models = printed.unwrap_or(before.map_or(&[], |before| before.models));
    let (cost, uses) = match &end.since_last {
        Some(since) => (since.iter().map(|one| one.cost).sum(), since.clone()),
        None => {
            // Without models in the record, the turn added nothing by model.
            let old = before.map_or(&[][..], |before| before.models);
            let old: Hashed<&Name, &ModelUse> = match printed {
                Some(_) => old.iter().map(|one| (&one.model, one)).collect(),
                None => Hashed::default(),
            };
            let uses = printed.unwrap_or_default().iter();
            (total.saturating_sub(base), uses.map(|one| one.less(old.get(&one.model).copied())).collect())
        }
    };
    let cost = end.total.map(|_| cost);
    let api_base = api_base(end, before, cost, history);
    let says_models = end.models.is_some() || end.since_last.is_some();
    let difference = Difference {
        end,
        before: before.map(|before| (before.end, before.cost)),
        cost,
        models: says_models.then_some(uses),
        api: end.api.and_then(|api| Some(api.saturating_sub(api_base?))),
    };
    let api = end.api.unwrap_or_default().max(api_base.unwrap_or_default());
    (
        difference,
        Totals { end, cost: total.max(if end.since_last.is_some() { total } else { base }), models, api },
    )
}

/// Returns the API time before this turn, if it is known. A resumed process continues to count, and the
/// result before it is in another file or missing.
fn api_base(
    end: &TurnEnd,
    before: Option<&Totals<'_>>,
    cost: Option<Usd>,
    history: &History<'_>,
) -> Option<Millis> {
    match (before, end.total, cost) {
        (Some(before), _, _) => Some(before.api),
        (None, Some(total), Some(cost)) if end.since_last.is_some() && total > cost => {
            history.api_at(end, total.saturating_sub(cost))
        }
        _ => Some(Millis::ZERO),
    }
}

impl ModelUse {
    fn less(&self, old: Option<&ModelUse>) -> Self {
        let tokens = old.map_or(Tokens::default(), |old| old.tokens);
        Self {
            model: Name::clone(&self.model),
            tokens: self.tokens.zip_with(tokens, u64::saturating_sub),
            cost: self.cost.saturating_sub(old.map_or(Usd::ZERO, |old| old.cost)),
        }
    }
}

fn without_copies(all: Vec<Difference<'_>>) -> Vec<Difference<'_>> {
    let order = |one: &Difference<'_>| (one.cost.is_none(), one.cost, one.end.place);
    let mut best: Hashed<Id, usize> = Hashed::default();
    for (index, one) in all.iter().enumerate() {
        let Some(uuid) = one.end.uuid else { continue };
        let known = best.entry(uuid).or_insert(index);
        if order(one) < order(&all[*known]) {
            *known = index;
        }
    }
    let counts = |index, one: &Difference<'_>| one.end.uuid.is_none_or(|uuid| best[&uuid] == index);
    all.into_iter().enumerate().filter(|(index, one)| counts(*index, one)).map(|(_, one)| one).collect()
}

/// Returns whether this can be a later result of the process that printed `before`: the difference of their
/// totals still covers the usage of this turn. (2.1.197 continues to count after `/clear`, under a new
/// session id and without a reset line, while two logs in one file start again from zero.)
fn continues(end: &TurnEnd, before: &TurnEnd) -> bool {
    let turn = sums(std::iter::once(&end.turn));
    difference_of_sums(end, before)
        .is_some_and(|rest| rest.iter().zip(turn).all(|(&rest, turn)| rest >= turn))
}

/// Input, output, cache reads and cache writes.
type Sums = [i128; 4];

fn sums<'a>(all: impl Iterator<Item = &'a Tokens>) -> Sums {
    all.fold([0; 4], |[input, output, read, write], tokens| {
        [
            input + i128::from(tokens.input),
            output + i128::from(tokens.output),
            read + i128::from(tokens.cache_read),
            write + i128::from(tokens.cache_write_5m) + i128::from(tokens.cache_write_1h),
        ]
    })
}

fn model_sums(end: &TurnEnd) -> Sums {
    sums(end.models.iter().flatten().map(|one| &one.tokens))
}

fn difference_of_sums(end: &TurnEnd, before: &TurnEnd) -> Option<Sums> {
    let models = end.models.as_deref().filter(|models| !models.is_empty())?;
    let known: HashedSet<&Name> = models.iter().map(|one| &one.model).collect();
    let knows = |one: &ModelUse| known.contains(&one.model);
    let grew = end.total.unwrap_or_default() >= before.total.unwrap_or_default();
    let (now, then) = (model_sums(end), model_sums(before));
    (grew && before.models.iter().flatten().all(knows))
        .then(|| std::array::from_fn(|field| now[field] - then[field]))
}

/// Limits how many candidates for the previous result are examined. Nearly always the first matches; without
/// a limit, a log with a hundred thousand similar results would take hours.
const MAX_CANDIDATES: usize = 1000;

/// Indexes of results that a later result in another file may continue, the largest total first, then in log
/// order.
struct History<'a> {
    by_session: Hashed<&'a SessionKey, Vec<&'a TurnEnd>>,
    by_sums: Hashed<Sums, Vec<&'a TurnEnd>>,
    /// API times by session and total, sorted.
    times: Hashed<(&'a SessionKey, Usd), Vec<(Millis, Place)>>,
}

impl<'a> History<'a> {
    fn of(results: &[&'a TurnEnd]) -> Self {
        let mut history =
            Self { by_session: Hashed::default(), by_sums: Hashed::default(), times: Hashed::default() };
        for &end in results {
            history.by_session.entry(&end.session).or_default().push(end);
            if end.total.is_some_and(|total| total > Usd::ZERO) {
                history.by_sums.entry(model_sums(end)).or_default().push(end);
            }
            if let Some(total) = end.total {
                let time = (end.api.unwrap_or_default(), end.place);
                history.times.entry((&end.session, total)).or_default().push(time);
            }
        }
        let orders = history.by_session.values_mut().chain(history.by_sums.values_mut());
        orders.for_each(|all| all.sort_unstable_by_key(|end| (std::cmp::Reverse(end.total), end.place)));
        history.times.values_mut().for_each(|all| all.sort_unstable());
        history
    }

    /// Finds the result in another file that this one continues. 2.1.271 to 2.1.311 continued the totals of a
    /// resumed session without printing a difference. A fork has a new session id, and its first totals are
    /// exactly those of the original session plus its own turn.
    fn continued(&self, end: &'a TurnEnd, version: Option<&str>) -> Option<Totals<'a>> {
        if end.since_last.is_some() || !version.is_some_and(continues_silently) {
            return None;
        }
        let (now, turn) = (model_sums(end), sums(std::iter::once(&end.turn)));
        let origin: Sums = std::array::from_fn(|field| now[field] - turn[field]);
        let resumed = smaller(self.by_session.get(&end.session), end).find(|before| continues(end, before));
        let forked =
            smaller(self.by_sums.get(&origin), end).find(|before| difference_of_sums(end, before).is_some());
        resumed
            .into_iter()
            .chain(forked)
            .max_by_key(|before| (before.total, std::cmp::Reverse(before.place)))
            .map(Totals::printed)
    }

    /// Returns the API time at exactly this total of the session.
    fn api_at(&self, end: &TurnEnd, total: Usd) -> Option<Millis> {
        let times = self.times.get(&(&end.session, total))?;
        let until = times.partition_point(|&(api, _)| api <= end.api.unwrap_or_default());
        let before = times[..until].iter().rev();
        before.take(2).find(|(_, place)| *place != end.place).map(|&(api, _)| api)
    }
}

/// Returns the results of other files with a total not above this one, the largest first.
fn smaller<'a, 'h>(
    all: Option<&'h Vec<&'a TurnEnd>>,
    end: &'h TurnEnd,
) -> impl Iterator<Item = &'a TurnEnd> + use<'a, 'h> {
    let all = all.map_or(&[][..], Vec::as_slice);
    let (total, source) = (end.total.unwrap_or_default(), end.place.source);
    let from = all.partition_point(|before| before.total.unwrap_or_default() > total);
    all[from..].iter().take(MAX_CANDIDATES).copied().filter(move |before| before.place.source != source)
}

fn continues_silently(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let number = [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten);
    numbers.next().is_none() && matches!(number, [Some(2), Some(1), Some(271..=311)])
}

/// Resets and versions of all sources, in order.
pub(super) struct ResetsAndVersions<'a> {
    resets: Vec<Place>,
    versions: Vec<(Place, &'a str)>,
}

impl<'a> ResetsAndVersions<'a> {
    pub(super) fn of(chain: &'a Chain) -> Self {
        let mut resets = chain.resets.clone();
        resets.sort_unstable();
        let mut versions: Vec<(Place, &str)> =
            chain.versions.iter().map(|(place, name)| (*place, name.as_str())).collect();
        versions.sort_unstable();
        Self { resets, versions }
    }

    /// Returns the number of resets before a place, in all sources. Results in different segments are not
    /// compared.
    fn segment(&self, place: Place) -> usize {
        self.resets.partition_point(|&reset| reset < place)
    }

    /// Returns the version that wrote the stream at a place.
    pub(super) fn version(&self, place: Place) -> Option<&'a str> {
        let after = self.versions.partition_point(|&(from, _)| from < place);
        let &(from, version) = self.versions.get(after.checked_sub(1)?)?;
        (from.source == place.source).then_some(version)
    }
}
