//! The periods of an overview, and what happened in each.

use std::{collections::BTreeSet, ops::Range};

use crate::{
    facts::ledger::{Context, End, SessionIndex},
    measure::{Time, Tokens, Usd, add, calendar::Zone},
    report::{
        View,
        sum::{ratio, share},
    },
};

/// The periods that an overview is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Periods {
    pub(super) today: Range<Time>,
    pub(super) yesterday: Range<Time>,
    pub(super) this_week: Range<Time>,
    pub(super) last_week_so_far: Range<Time>,
    pub(super) last_week: Range<Time>,
    /// The period as a whole, and the one before it.
    pub(super) period: Range<Time>,
    pub(super) before: Range<Time>,
    /// The period in which failures are listed: the chosen one, else the last seven days.
    pub(super) recent: Range<Time>,
    /// Whether the beginning of the period was given.
    pub(super) is_chosen: bool,
    /// Whether the end of the period was given.
    pub(super) is_past: bool,
}

impl Periods {
    /// The periods at the end of the period from `since` until `until`: by default the last 14 days until now.
    pub fn of(zone: &Zone, since: Option<Time>, until: Option<Time>, now: Time) -> Result<Self, String> {
        let end = until.unwrap_or(now);
        // Midnight belongs to the day that it ends.
        let at = Time::from_micros(end.micros() - 1);
        let start = |text: &str| zone.parse_time(text, at, false);
        let (today, this_week, last_week) = (start("today")?, start("this week")?, start("last week")?);
        let first = match since {
            Some(since) => since,
            None => zone.parse_time("13d", today, false)?,
        };
        let period = first.min(end)..end;
        let week_ago = zone.parse_time("6d", today, false)?;
        let elapsed = end.micros() - this_week.micros();
        let so_far = Time::from_micros(last_week.micros() + elapsed).min(this_week);
        Ok(Self {
            today: today..end,
            yesterday: start("yesterday")?..today,
            this_week: this_week..end,
            last_week_so_far: last_week..so_far,
            last_week: last_week..this_week,
            recent: if since.is_some() { period.clone() } else { week_ago..end },
            before: zone.period_before(&period),
            period,
            is_chosen: since.is_some(),
            is_past: until.is_some(),
        })
    }

    /// The time that the overview is about. Texts from outside must not be shown.
    pub fn whole(&self) -> Range<Time> {
        self.period.clone()
    }
}

/// Counts and costs of a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) range: Option<Range<Time>>,
    pub(super) cost: Option<Usd>,
    pub(super) tokens: Tokens,
    pub(super) sessions: u64,
    pub(super) prompts: u64,
    /// Results of printed runs, which have no record of their prompts.
    results: u64,
    pub(super) steps: u64,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) denied: u64,
}

impl Tally {
    pub(super) fn of(view: &View<'_>, range: &Range<Time>) -> Self {
        let ledger = view.ledger;
        let is_in = |context: &Context| context.time.is_some_and(|time| range.contains(&time));
        let mut sessions: BTreeSet<SessionIndex> = BTreeSet::new();
        let mut tally = Self { range: Some(range.clone()), ..Self::default() };
        for charge in ledger.charges.iter().filter(|charge| is_in(&charge.context)) {
            add(&mut tally.cost, charge.cost);
            tally.tokens += charge.tokens;
            sessions.extend(charge.context.session);
        }
        for call in ledger.calls.iter().filter(|call| is_in(&call.context)) {
            tally.calls += 1;
            tally.errors += u64::from(call.end == End::Error);
            sessions.extend(call.context.session);
        }
        for prompt in ledger.prompts.iter().filter(|prompt| is_in(&prompt.context)) {
            tally.prompts += 1;
            sessions.extend(prompt.context.session);
        }
        for turn in ledger.turns.iter().filter(|turn| turn.counted && is_in(&turn.context)) {
            tally.results += 1;
            sessions.extend(turn.context.session);
        }
        for response in ledger.responses.iter().filter(|response| is_in(&response.context)) {
            tally.steps += 1;
            sessions.extend(response.context.session);
        }
        tally.denied = ledger.denials.iter().filter(|denial| is_in(&denial.context)).count() as u64;
        tally.sessions = sessions.len() as u64;
        tally
    }

    /// Prompts, or results of printed runs.
    pub(super) fn asked(&self) -> u64 {
        self.prompts.max(self.results)
    }

    /// Share of prompt tokens that were read from the cache.
    pub(super) fn hit_rate(&self) -> Option<f64> {
        ratio(self.tokens.cache_read, self.tokens.prompt())
    }

    /// The relative change of the cost from another period to this one.
    pub(super) fn change_from(&self, before: &Self) -> Option<f64> {
        Some(share(self.cost, before.cost)? - 1.0)
    }
}
