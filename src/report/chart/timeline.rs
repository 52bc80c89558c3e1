//! Lanes of spans on one time axis.

use crate::{
    measure::{Millis, Time},
    report::{Line, Text, Tone, Value},
};

/// Maximum number of lanes; the rest is counted.
const MAX_LANES: usize = 24;

/// Maximum number of spans in parallel; more share the last row.
const MAX_ROWS: usize = 6;

/// Maximum number of spans; neighbours are merged.
const MAX_SPANS: usize = 2000;

/// Spans of several lanes, such as the calls of each agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub start: Time,
    pub end: Time,
    /// Start and end in the reader's time zone.
    pub clock: [Value; 2],
    pub lanes: Vec<Lane>,
    /// Lanes that are left out.
    pub left_out: usize,
}

/// A lane. Its rows do not overlap; it has several if spans are parallel.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    pub name: Text,
    /// Spans by row, in ascending order.
    pub rows: Vec<Vec<Span>>,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub from: Time,
    pub to: Time,
    pub activity: Activity,
    /// Name of the tool or model.
    pub name: Text,
    /// Number of merged spans.
    pub count: u64,
}

names! {
    /// Activity in a span. If spans are merged, the last of these wins.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Activity {
        /// Nobody had asked for anything.
        Waiting = "waiting for a prompt",
        /// The model worked on a response.
        Model = "model",
        /// A tool ran.
        Call = "call",
        /// A call has no result.
        Open = "call without a result",
        Denied = "denied call",
        Failed = "failed call",
    }
}

impl Timeline {
    /// Arranges spans in lanes, in the order of the lanes.
    pub(in crate::report) fn of(
        lanes: Vec<(Text, Vec<Span>)>,
        clock: impl Fn(Time) -> Value,
    ) -> Option<Self> {
        let spans = || lanes.iter().flat_map(|(_, spans)| spans);
        let start = spans().map(|span| span.from).min()?;
        let end = spans().map(|span| span.to).max()?;
        let left_out = lanes.len().saturating_sub(MAX_LANES);
        let lane = |(name, spans): (Text, Vec<Span>)| Lane { name, rows: rows(spans) };
        let mut lanes: Vec<Lane> = lanes.into_iter().take(MAX_LANES).map(lane).collect();
        let count = |lanes: &[Lane]| lanes.iter().flat_map(|lane| &lane.rows).map(Vec::len).sum::<usize>();
        let mut gap = end.since(start).as_f64() / 1000.0;
        while count(&lanes) > MAX_SPANS {
            lanes.iter_mut().flat_map(|lane| &mut lane.rows).for_each(|row| merge_near(row, gap));
            gap *= 2.0;
        }
        Some(Self { start, end, clock: [clock(start), clock(end)], lanes, left_out })
    }

    /// Position of a time, from 0 to 1.
    pub fn share(&self, time: Time) -> f64 {
        let whole = self.end.since(self.start).as_f64();
        if whole > 0.0 { (time.since(self.start).as_f64() / whole).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn spans(&self) -> impl Iterator<Item = &Span> {
        self.lanes.iter().flat_map(|lane| lane.rows.iter().flatten())
    }

    /// Sum of the spans by activity.
    pub fn activities(&self) -> Vec<(Activity, u64, Millis)> {
        let of = |activity: Activity| {
            let own = || self.spans().filter(|span| span.activity == activity);
            (activity, own().map(|span| span.count).sum(), own().map(|span| span.to.since(span.from)).sum())
        };
        Activity::ALL.into_iter().map(of).filter(|&(_, count, _)| count > 0).collect()
    }

    pub(super) fn about(&self) -> Line {
        let [start, end] = self.clock.clone();
        let line = Line::new(Tone::Plain).value(self.end.since(self.start)).word(" from ").value(start);
        let line = line.word(" to ").value(end).word(", ");
        let line = line.count((self.lanes.len() + self.left_out) as u64, " lane", " lanes");
        match self.left_out {
            0 => line,
            more => line.word("; ").count(more as u64, " of them is left out", " of them are left out"),
        }
    }

    pub(super) fn values(&self) -> (Vec<Text>, Vec<Vec<Value>>) {
        let heads = ["Lane", "Activity", "Number", "Time"].map(Text::from).to_vec();
        let mut values = Vec::new();
        for lane in &self.lanes {
            let alone = Self { lanes: vec![lane.clone()], clock: Default::default(), ..*self };
            values.extend(alone.activities().into_iter().map(|(activity, count, time)| {
                vec![Value::Text(lane.name.clone()), activity.name().into(), count.into(), time.into()]
            }));
        }
        (heads, values)
    }
}

/// Distributes spans over rows such that no row has two at the same time.
fn rows(mut spans: Vec<Span>) -> Vec<Vec<Span>> {
    spans.sort_by_key(|span| (span.from, span.to));
    let mut rows: Vec<Vec<Span>> = Vec::new();
    for span in spans {
        let is_free = |row: &Vec<Span>| row.last().is_none_or(|last| last.to <= span.from);
        match rows.iter().position(is_free) {
            Some(row) => rows[row].push(span),
            None if rows.len() < MAX_ROWS => rows.push(vec![span]),
            None => {
                if let Some(last) = rows.last_mut().and_then(|row| row.last_mut()) {
                    last.absorb(span);
                }
            }
        }
    }
    rows
}

/// Merges spans that are closer than `gap` milliseconds and would be drawn as one.
fn merge_near(row: &mut Vec<Span>, gap: f64) {
    let mut merged: Vec<Span> = Vec::with_capacity(row.len());
    for span in row.drain(..) {
        match merged.last_mut() {
            Some(last) if span.to.since(last.from).as_f64() < gap => last.absorb(span),
            _ => merged.push(span),
        }
    }
    *row = merged;
}

impl Span {
    /// Extends the span over another one that begins later.
    fn absorb(&mut self, other: Self) {
        self.to = self.to.max(other.to);
        if other.activity > self.activity {
            (self.activity, self.name) = (other.activity, other.name);
        }
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: i64, to: i64) -> Span {
        let time = |millis: i64| Time::from_micros(millis * 1000);
        let name = Text::from("Bash");
        Span { from: time(from), to: time(to), activity: Activity::Call, name, count: 1 }
    }

    fn timeline(spans: Vec<Span>) -> Timeline {
        Timeline::of(vec![(Text::from("main"), spans)], |_| Value::Missing).unwrap()
    }

    fn assert_apart(timeline: &Timeline) {
        for row in timeline.lanes.iter().flat_map(|lane| &lane.rows) {
            assert!(row.windows(2).all(|pair| pair[0].to <= pair[1].from), "{row:?}");
        }
    }

    #[test]
    fn parallel_spans_have_rows_of_their_own() {
        let timeline = timeline(vec![span(0, 10), span(5, 15), span(10, 20), span(12, 13)]);
        assert_eq!(timeline.lanes[0].rows.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
        assert_apart(&timeline);
        assert_eq!(timeline.share(timeline.end), 1.0);
    }

    #[test]
    fn spans_beyond_the_limits_are_merged_and_still_counted() {
        let many = (0..20_000).map(|at| span(at * 7, at * 7 + 100 + at % 13)).collect();
        let timeline = timeline(many);
        assert_apart(&timeline);
        assert!(timeline.lanes[0].rows.len() <= MAX_ROWS);
        assert!(timeline.spans().count() <= MAX_SPANS, "{}", timeline.spans().count());
        assert_eq!(timeline.spans().map(|span| span.count).sum::<u64>(), 20_000);
    }

    #[test]
    fn a_failure_is_not_hidden_by_its_neighbours() {
        let mut row = vec![span(0, 1), Span { activity: Activity::Failed, ..span(1, 2) }, span(2, 3)];
        merge_near(&mut row, 10.0);
        assert_eq!((row.len(), row[0].activity, row[0].count), (1, Activity::Failed, 3));
    }
}
