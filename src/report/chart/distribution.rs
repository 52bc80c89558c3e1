//! How often values of each size occur.

use crate::report::{Line, Text, Tone, Value};

/// Fewer values than this are better read one by one.
const MIN_VALUES: usize = 5;

/// Maximum number of buckets.
const MAX_BUCKETS: usize = 24;

/// Counts of values by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Plural noun of what is counted.
    pub noun: &'static str,
    /// In ascending order, without gaps.
    pub buckets: Vec<Bucket>,
    /// Named values: median, 90th percentile and maximum.
    pub marks: [(&'static str, Value); 3],
}

/// Values from one size up to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    pub from: Value,
    /// Excluded, except in the last bucket.
    pub to: Value,
    pub count: u64,
}

impl Distribution {
    pub(super) fn of(noun: &'static str, values: Vec<Value>) -> Option<Self> {
        let mut values: Vec<Value> = values.into_iter().filter(|value| value.number().is_some()).collect();
        values.sort_unstable_by(|one, two| one.size().total_cmp(&two.size()));
        let (first, last) = (values.first()?, values.last()?);
        if values.len() < MIN_VALUES || first.size() == last.size() {
            return None;
        }
        let edges = edges(first.size(), last.size());
        let mut buckets: Vec<Bucket> = edges
            .windows(2)
            .map(|edges| Bucket { from: first.like(edges[0]), to: first.like(edges[1]), count: 0 })
            .collect();
        for value in &values {
            let after = edges.partition_point(|&edge| edge <= value.size());
            let at = after.saturating_sub(1).min(buckets.len() - 1);
            buckets[at].count += 1;
        }
        let at = |share: usize| values[(values.len() * share).div_ceil(100).max(1) - 1].clone();
        let marks = [("median", at(50)), ("p90", at(90)), ("maximum", at(100))];
        Some(Self { noun, buckets, marks })
    }

    /// The count of the fullest bucket.
    pub fn max(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0)
    }

    pub(super) fn about(&self) -> Line {
        let all = self.buckets.iter().map(|bucket| bucket.count).sum::<u64>();
        let line = Line::new(Tone::Plain).value(all).word(" ").word(self.noun);
        self.marks
            .iter()
            .fold(line, |line, (name, value)| line.word(", ").word(name).word(" ").value(value.clone()))
    }

    pub(super) fn values(&self) -> (Vec<Text>, Vec<Vec<Value>>) {
        let heads = [Text::from("From"), Text::from("To"), Text::from("Count")].to_vec();
        let row = |bucket: &Bucket| vec![bucket.from.clone(), bucket.to.clone(), Value::Count(bucket.count)];
        (heads, self.buckets.iter().map(row).collect())
    }
}

/// Edges of buckets that cover both values: 1, 2, 5, 10 and so on, since costs and latencies span orders of
/// magnitude; equal steps if they do not.
fn edges(low: f64, high: f64) -> Vec<f64> {
    let mut edges = if high > low.max(0.0) * 20.0 { decades(low, high) } else { steps(low, high) };
    edges.dedup();
    edges
}

/// Below this, all values are in the first bucket.
const SMALLEST: f64 = 0.001;

fn decades(low: f64, high: f64) -> Vec<f64> {
    let power = |value: f64| value.max(SMALLEST).log10().floor();
    let (first, last) = (power(low).max(power(high) - 7.0), power(high));
    let mut edges = vec![if low < 10_f64.powf(first) { low.min(0.0) } else { 10_f64.powf(first) }];
    let mut decade = first;
    while decade <= last {
        edges.extend([1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powf(decade)));
        decade += 1.0;
    }
    edges.push(10_f64.powf(last + 1.0));
    edges.dedup();
    // Empty buckets at both ends say nothing.
    let from = edges.partition_point(|&edge| edge <= low).saturating_sub(1);
    let to = edges.partition_point(|&edge| edge <= high).min(edges.len() - 1);
    edges[from..=to].to_vec()
}

fn steps(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / (MAX_BUCKETS / 2) as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= raw);
    let step = step.unwrap_or(raw);
    let first = (low / step).floor();
    let edge = |at: usize| (first + at as f64) * step;
    let mut edges: Vec<f64> = (0..=MAX_BUCKETS).map(edge).take_while(|&edge| edge <= high).collect();
    edges.push(edge(edges.len()));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Usd;

    fn distribution(values: &[f64]) -> Distribution {
        let values = values.iter().map(|&value| Value::Usd(Usd::from_dollars(value))).collect();
        Distribution::of("runs", values).unwrap()
    }

    #[test]
    fn every_value_is_in_one_bucket_and_buckets_have_no_gaps() {
        let spread: Vec<f64> = (0..1000).map(|at| 0.0001 * 1.02_f64.powi(at)).collect();
        let narrow: Vec<f64> = (0..1000).map(|at| 10.0 + f64::from(at) * 0.003).collect();
        let zeros = [0.0, 0.0, 0.0, 0.0, 3.0, 4.5];
        for values in [&spread[..], &narrow, &zeros, &[1.0, 2.0, 3.0, 4.0, 5.0], &[-2.0, 0.0, 1.0, 1.0, 50.0]]
        {
            let made = distribution(values);
            let count: u64 = made.buckets.iter().map(|bucket| bucket.count).sum();
            assert_eq!(count, values.len() as u64);
            assert!(made.buckets.len() <= MAX_BUCKETS + 2, "{}", made.buckets.len());
            for pair in made.buckets.windows(2) {
                assert_eq!(pair[0].to, pair[1].from);
                assert!(pair[0].from.size() < pair[0].to.size(), "{pair:?}");
            }
            let (first, last) = (&made.buckets[0], &made.buckets[made.buckets.len() - 1]);
            assert!(first.count > 0 && last.count > 0, "no empty buckets at the ends: {made:?}");
        }
    }

    #[test]
    fn marks_are_the_percentiles() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let usd = |amount| Value::Usd(Usd::from_dollars(amount));
        assert_eq!(
            distribution(&values).marks,
            [("median", usd(50.0)), ("p90", usd(90.0)), ("maximum", usd(100.0))]
        );
    }

    #[test]
    fn few_or_equal_values_have_no_distribution() {
        assert_eq!(Distribution::of("runs", vec![Value::Count(1); 4]), None);
        assert_eq!(Distribution::of("runs", vec![Value::Count(1); 400]), None);
        assert_eq!(Distribution::of("runs", vec![Value::Missing; 400]), None);
    }
}
