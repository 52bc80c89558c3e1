//! Interactions: prompts with their work, and summaries that a person asked for.

use super::{
    Estimated, Interaction, MarkKind, Span, SpanBody, SpanId, TraceId,
    build::{Builder, SessionRows},
    id::Ids,
};
use crate::{
    facts::ledger::{
        Compaction, Context, Exchange, ExchangeEnd, ExchangeIndex, Exchanges, Ledger, MomentKind,
    },
    measure::Time,
};

/// An interaction whose times are still being collected.
#[derive(Clone, Debug)]
pub(super) struct Draft<'l> {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    exchange: Option<&'l Exchange>,
    /// When it began, and whether the log says so.
    began: Option<(Time, bool)>,
    /// Earliest start and latest end of its spans.
    covered: Option<(Time, Time)>,
}

impl Draft<'_> {
    fn of(ids: &Ids, key: &str) -> Self {
        Self {
            trace: ids.trace(key),
            span: ids.span("interaction", key),
            exchange: None,
            began: None,
            covered: None,
        }
    }

    /// Extends it over a span.
    pub(super) fn cover(&mut self, start: Time, end: Time) {
        let (first, last) = self.covered.unwrap_or((start, end));
        self.covered = Some((first.min(start), last.max(end)));
    }
}

/// The interactions of a session.
pub(super) struct Drafts<'l> {
    exchanges: &'l Exchanges<'l>,
    all: Vec<Draft<'l>>,
    /// Index of the first exchange. Those of a session are adjacent.
    first: usize,
    count: usize,
    /// Position of the interaction of rows that belong to no prompt or turn.
    loose: Option<usize>,
}

impl<'l> Drafts<'l> {
    pub(super) fn of(
        ledger: &'l Ledger,
        exchanges: &'l Exchanges<'l>,
        rows: &SessionRows<'_>,
        ids: &Ids,
    ) -> Self {
        let draft = |&at: &ExchangeIndex| {
            let exchange = &ledger.exchanges[at];
            let began = exchange.time.filter(|_| exchange.begins).map(|time| (time, true));
            Draft {
                exchange: Some(exchange),
                began,
                ..Draft::of(ids, &format!("prompt {}", exchange.number))
            }
        };
        let all: Vec<Draft<'_>> = rows.exchanges.iter().map(draft).collect();
        let first = rows.exchanges.first().map_or(0, |at| at.get());
        Self { exchanges, first, count: all.len(), all, loose: None }
    }

    /// Returns the position of the interaction of a row.
    pub(super) fn find(&mut self, context: &Context, ids: &Ids) -> usize {
        let found = self.exchanges.find(context).and_then(|at| at.get().checked_sub(self.first));
        if let Some(at) = found.filter(|&at| at < self.count) {
            return at;
        }
        *self.loose.get_or_insert_with(|| {
            self.all.push(Draft::of(ids, "before"));
            self.all.len() - 1
        })
    }

    /// Adds an interaction that is not a prompt. Returns its position.
    fn add(&mut self, ids: &Ids, key: &str, began: Time) -> usize {
        self.all.push(Draft { began: Some((began, false)), ..Draft::of(ids, key) });
        self.all.len() - 1
    }

    pub(super) fn at(&mut self, at: usize) -> &mut Draft<'l> {
        &mut self.all[at]
    }
}

impl<'l> Builder<'l> {
    /// Returns the position of the interaction of a compaction. One that a person asked for is an interaction
    /// of its own.
    pub(super) fn interaction_of_compaction(&mut self, compaction: &Compaction, start: Time) -> usize {
        if compaction.fact.trigger.as_deref() != Some("manual") {
            return self.drafts.find(&compaction.context, &self.ids);
        }
        let key = format!("compact {}", compaction.context.time.unwrap_or(start).micros());
        self.drafts.add(&self.ids, &key, start)
    }

    /// Adds the spans of interactions, after all others.
    pub(super) fn interactions(&mut self) {
        self.ends_of_turns();
        let queue = Queue::of(self);
        let drafts: Vec<Draft<'l>> = std::mem::take(&mut self.drafts.all);
        let mut spans: Vec<Span> = Vec::with_capacity(drafts.len());
        for draft in drafts {
            // A filter keeps exchanges even if it removes all their rows.
            match self.interaction(&draft, &queue) {
                Some(span) => spans.push(span),
                None if draft.exchange.is_some_and(|exchange| exchange.prompt.is_some()) => {
                    self.omitted().interactions += 1;
                }
                None => {}
            }
        }
        spans.sort_by_key(|span| span.start);
        for (span, position) in spans.iter_mut().zip(1..) {
            if let SpanBody::Interaction(interaction) = &mut span.body {
                interaction.number = position;
            }
        }
        self.trace.spans.extend(spans);
    }

    fn interaction(&mut self, draft: &Draft<'l>, queue: &Queue) -> Option<Span> {
        let prompt = draft.exchange.and_then(|exchange| exchange.prompt).map(|at| &self.ledger.prompts[at]);
        if let Some(prompt) = prompt {
            self.mark_prompt(&prompt.context, draft);
        }
        let began = draft.began.filter(|_| draft.exchange.is_none() || prompt.is_some());
        let taken = began.and_then(|(began, _)| queue.taken(began)).map(|taken| (taken, true));
        let known = taken.or(began);
        let (first, last) = draft.covered.or(known.map(|(start, _)| (start, start)))?;
        let start = known.map_or(first, |(start, _)| start.min(first));
        let outcome = draft.exchange.and_then(|exchange| exchange.end);
        let error = (outcome == Some(ExchangeEnd::Error)).then(|| arcstr::literal!("error"));
        Some(Span {
            id: draft.span,
            trace: draft.trace,
            parent: None,
            agent: 0,
            start,
            end: last.max(start),
            estimated: Estimated {
                start: !known.is_some_and(|(_, is_exact)| is_exact),
                ..Estimated::default()
            },
            error,
            body: SpanBody::Interaction(Interaction {
                number: 0,
                exchange: draft.exchange.map(|exchange| exchange.number),
                outcome: outcome.map(ExchangeEnd::name),
                prompt: prompt.and_then(|prompt| prompt.text.clone()),
            }),
        })
    }

    fn mark_prompt(&mut self, context: &Context, draft: &Draft<'_>) {
        let Some(time) = context.time else { return };
        let agent = self.lane(context.agent);
        self.trace.marks.push(super::Mark {
            kind: MarkKind::Prompt,
            time,
            agent,
            span: Some((draft.trace, draft.span)),
            name: None,
            call: None,
            tokens: (None, None),
            took: None,
            message: None,
        });
    }

    /// Extends interactions to the records of their ends.
    fn ends_of_turns(&mut self) {
        for turn in &self.rows.interactive_turns {
            let Some(time) = turn.context.time else { continue };
            let at = self.drafts.find(&turn.context, &self.ids);
            self.drafts.at(at).cover(time, time);
        }
        // A result has no time of its own, but says how long the turn took.
        for turn in self.rows.turns.iter().filter(|turn| turn.counted) {
            let at = self.drafts.find(&turn.context, &self.ids);
            let draft = self.drafts.at(at);
            let is_alone = draft.exchange.is_some_and(|exchange| !exchange.begins);
            if let (Some((_, last)), Some(wall), true) = (draft.covered, turn.wall, is_alone) {
                draft.cover(Time::from_micros(last.micros().saturating_sub(wall.micros())), last);
            }
        }
    }
}

/// When the CLI took messages from its queue.
struct Queue {
    taken: Vec<Time>,
    /// Ends of the spans of the main agent.
    ends: Vec<Time>,
}

impl Queue {
    fn of(builder: &Builder<'_>) -> Self {
        let moments = builder.rows.moments.iter().filter(|moment| moment.kind == MomentKind::Dequeue);
        let mut taken: Vec<Time> = moments.filter_map(|moment| moment.context.time).collect();
        let spans = builder.trace.spans.iter().filter(|span| span.agent == 0);
        let mut ends: Vec<Time> = spans.map(|span| span.end).collect();
        taken.sort_unstable();
        ends.sort_unstable();
        Self { taken, ends }
    }

    /// Returns when the CLI took the message that it had begun to work on at `time`, unless it did something
    /// else in between.
    fn taken(&self, time: Time) -> Option<Time> {
        let taken = *self.taken[..self.taken.partition_point(|&taken| taken <= time)].last()?;
        let after = self.ends.get(self.ends.partition_point(|&end| end <= taken));
        after.is_none_or(|&end| end >= time).then_some(taken)
    }
}
