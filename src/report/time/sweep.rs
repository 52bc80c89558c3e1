//! Divides a stretch of time by the activities in it, so that each moment counts once.

use super::part::{Division, Part};

/// Kinds of activities. If several overlap, the first of this list gets the time: work comes before waiting, and the steps
/// of a subagent come before the call that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Compaction,
    Writing,
    Hook,
    Tool,
    FirstToken,
    Retry,
    Waiting,
    Cli,
    /// A call that started a subagent.
    AgentCall,
}

impl Rank {
    pub(super) const ALL: [Self; 9] = [
        Self::Compaction,
        Self::Writing,
        Self::Hook,
        Self::Tool,
        Self::FirstToken,
        Self::Retry,
        Self::Waiting,
        Self::Cli,
        Self::AgentCall,
    ];

    const fn part(self) -> Part {
        match self {
            Self::Compaction => Part::Compaction,
            Self::Writing => Part::Writing,
            Self::Hook => Part::Hooks,
            Self::Tool | Self::AgentCall => Part::Tools,
            Self::FirstToken => Part::FirstToken,
            Self::Retry => Part::Retries,
            Self::Waiting => Part::Waiting,
            Self::Cli => Part::Cli,
        }
    }

    const fn is_call(self) -> bool {
        matches!(self, Self::Tool | Self::AgentCall)
    }
}

/// Something that took time. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    pub(super) rank: Rank,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Position of the agent.
    pub(super) agent: usize,
    /// Whether the log only implies a border.
    pub(super) is_estimated: bool,
}

/// The time from a prompt to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: i64,
    /// End of the last step of its work.
    pub(super) work_end: i64,
    /// Time of its last record.
    pub(super) end: i64,
}

/// A stretch of time and its division: all of it, by stretch, and the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divided {
    pub(super) all: Division,
    pub(super) stretches: Vec<Division>,
    /// The time that belongs to no stretch.
    pub(super) rest: Division,
}

/// Divides the time from `first` to `last`. Stretches must be sorted and disjoint.
pub(super) fn divide(first: i64, last: i64, activities: &[Activity], stretches: &[Stretch]) -> Divided {
    let mut sweep = Sweep::new(stretches);
    let mut events = events(first, last, activities, stretches);
    events.sort_unstable_by_key(|event| event.time);
    let mut now = first;
    for Event { time, change } in events {
        sweep.pass(now, time);
        now = now.max(time);
        sweep.apply(change);
    }
    sweep.pass(now, last);
    sweep.divided
}

/// A moment at which the answer may change.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: i64,
    change: Change,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Starts(Activity),
    Ends(Activity),
    /// A border of a stretch.
    Border,
}

fn events(first: i64, last: i64, activities: &[Activity], stretches: &[Stretch]) -> Vec<Event> {
    let inside = |time: i64| time.clamp(first, last.max(first));
    let mut events = Vec::with_capacity(2 * activities.len() + 3 * stretches.len());
    for activity in activities {
        let (start, end) = (inside(activity.start), inside(activity.end));
        if start < end {
            events.push(Event { time: start, change: Change::Starts(*activity) });
            events.push(Event { time: end, change: Change::Ends(*activity) });
        }
    }
    for stretch in stretches {
        let borders = [stretch.start, stretch.work_end, stretch.end];
        events.extend(borders.map(|time| Event { time: inside(time), change: Change::Border }));
    }
    events
}

/// The state between two events.
struct Sweep<'s> {
    stretches: &'s [Stretch],
    /// Position of the first stretch that has not ended.
    at: usize,
    /// Number of activities of each rank, and of those that are estimated.
    active: [(u32, u32); Rank::ALL.len()],
    /// Number of calls of each agent.
    calls: Vec<u32>,
    /// Number of calls that run beside another one of the same agent.
    parallel: i64,
    divided: Divided,
}

impl<'s> Sweep<'s> {
    fn new(stretches: &'s [Stretch]) -> Self {
        let divided = Divided {
            all: Division::default(),
            stretches: vec![Division::default(); stretches.len()],
            rest: Division::default(),
        };
        Self { stretches, at: 0, active: Default::default(), calls: Vec::new(), parallel: 0, divided }
    }

    fn apply(&mut self, change: Change) {
        let (activity, is_start) = match change {
            Change::Starts(activity) => (activity, true),
            Change::Ends(activity) => (activity, false),
            Change::Border => return,
        };
        let (count, estimated) = &mut self.active[activity.rank as usize];
        let step = |count: &mut u32| *count = if is_start { *count + 1 } else { *count - 1 };
        step(count);
        if activity.is_estimated {
            step(estimated);
        }
        if !activity.rank.is_call() {
            return;
        }
        if self.calls.len() <= activity.agent {
            self.calls.resize(activity.agent + 1, 0);
        }
        let calls = &mut self.calls[activity.agent];
        if is_start {
            self.parallel += i64::from(*calls > 0);
            *calls += 1;
        } else {
            *calls -= 1;
            self.parallel -= i64::from(*calls > 0);
        }
    }

    /// Gives the time between two events to a part.
    fn pass(&mut self, from: i64, to: i64) {
        let millis = to.saturating_sub(from);
        if millis <= 0 {
            return;
        }
        while self.stretches.get(self.at).is_some_and(|one| one.end.max(one.work_end) <= from) {
            self.at += 1;
        }
        let stretch = self.stretches.get(self.at).filter(|one| one.start <= from);
        let mut active = Rank::ALL.into_iter().zip(self.active).filter(|(_, (count, _))| *count > 0);
        let (part, is_estimated) = match active.next() {
            Some((rank, (_, estimated))) => (rank.part(), estimated > 0),
            None if stretch.is_some_and(|one| from < one.work_end) => (Part::Unexplained, false),
            None => (Part::Idle, false),
        };
        let own = match stretch.filter(|one| from < one.end) {
            Some(_) => &mut self.divided.stretches[self.at],
            None => &mut self.divided.rest,
        };
        let parallel = millis.saturating_mul(self.parallel);
        for division in [own, &mut self.divided.all] {
            division.add_time(part, millis, is_estimated);
            division.add_parallel(parallel);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::Millis;

    fn activity(rank: Rank, start: i64, end: i64) -> Activity {
        Activity { rank, start, end, agent: 0, is_estimated: false }
    }

    fn parts(division: &Division) -> Vec<(&'static str, i64)> {
        let parts = Part::ALL.into_iter().map(|part| (part.name(), division.part(part)));
        parts
            .filter(|(_, time)| *time > Millis::ZERO)
            .map(|(name, time)| (name, time.micros() / 1000))
            .collect()
    }

    #[test]
    fn each_moment_counts_once_and_the_first_rank_gets_it() {
        let activities = [
            activity(Rank::AgentCall, 10, 90),
            activity(Rank::FirstToken, 20, 30),
            activity(Rank::Writing, 30, 40),
            activity(Rank::Tool, 35, 60),
            activity(Rank::Hook, 50, 70),
        ];
        let divided = divide(0, 100, &activities, &[Stretch { start: 5, work_end: 95, end: 95 }]);
        let expected = [
            ("first_token", 10),
            ("writing", 10),
            ("tools", 40),
            ("hooks", 20),
            ("idle", 10),
            ("unexplained", 10),
        ];
        assert_eq!(parts(&divided.all), expected);
        assert_eq!(divided.all.wall(), Millis::new(100));
        assert_eq!(parts(&divided.rest), [("idle", 10)]);
    }

    #[test]
    fn parallel_calls_count_once_and_say_what_they_saved() {
        let calls = [(0, 50), (10, 60), (20, 30)].map(|(start, end)| activity(Rank::Tool, start, end));
        let divided = divide(0, 100, &calls, &[]);
        assert_eq!(divided.all.part(Part::Tools), Millis::new(60));
        assert_eq!(divided.all.parallel(), Millis::new(50 + 50 + 10 - 60));
    }

    #[test]
    fn calls_of_two_agents_save_nothing_that_the_calls_of_their_parent_do_not() {
        let inner = Activity { agent: 1, ..activity(Rank::Tool, 10, 50) };
        let divided = divide(0, 100, &[activity(Rank::AgentCall, 0, 60), inner], &[]);
        assert_eq!(divided.all.parallel(), Millis::ZERO);
    }

    fn activities() -> impl Strategy<Value = Vec<Activity>> {
        let one = (prop::sample::select(Rank::ALL.to_vec()), -20..120i64, 0..60i64, 0..3usize, any::<bool>());
        let one = one.prop_map(|(rank, start, took, agent, is_estimated)| Activity {
            rank,
            start,
            end: start + took,
            agent,
            is_estimated,
        });
        prop::collection::vec(one, 0..12)
    }

    fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
        prop::collection::vec((0..20i64, 0..20i64, 0..20i64), 0..5).prop_map(|steps| {
            let mut now = 0;
            let stretch = |(gap, work, tail): (i64, i64, i64)| {
                let start = now + gap;
                now = start + work.max(tail);
                Stretch { start, work_end: start + work, end: start + tail }
            };
            steps.into_iter().map(stretch).collect()
        })
    }

    proptest! {
        /// The obvious way asks each millisecond.
        #[test]
        fn the_sweep_equals_a_look_at_each_millisecond(
            activities in activities(),
            stretches in stretches(),
            first in -5..40i64,
            length in 0..90i64,
        ) {
            let last = first + length;
            let divided = divide(first, last, &activities, &stretches);
            let mut all = Division::default();
            for now in first..last {
                let runs = |one: &&Activity| one.start <= now && now < one.end;
                let rank = activities.iter().filter(runs).map(|one| one.rank).min();
                let works = stretches.iter().any(|one| one.start <= now && now < one.work_end);
                let part = rank.map_or(if works { Part::Unexplained } else { Part::Idle }, Rank::part);
                let of_rank = activities.iter().filter(runs).filter(|one| Some(one.rank) == rank);
                all.add_time(part, 1, of_rank.clone().any(|one| one.is_estimated));
                for agent in 0..3 {
                    let calls = activities.iter().filter(runs);
                    let calls = calls.filter(|one| one.rank.is_call() && one.agent == agent).count() as i64;
                    all.add_parallel((calls - 1).max(0));
                }
            }
            prop_assert_eq!(divided.all, all);
            prop_assert_eq!(all.wall(), Millis::new(length));
            let mut sum = divided.rest;
            divided.stretches.iter().for_each(|one| sum.add(one));
            prop_assert_eq!(sum, all);
        }
    }
}
