//! Bars over time or another order, stacked by series.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{OTHER, UNNAMED};
use crate::report::{Line, Text, Tone, Value, sum::ratio};

/// Maximum number of bars; neighbours are merged.
const MAX_BARS: usize = 120;

/// Maximum number of series; the smallest are merged.
const MAX_SERIES: usize = 7;

/// Bars, each the stack of its values in all series.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Name of each bar, in the order shown.
    pub labels: Vec<Text>,
    /// The largest first.
    pub series: Vec<Series>,
    /// How many neighbours were merged into one bar; 1 if none were.
    pub merged: usize,
    merge: Merge,
    /// The value of the whole, if it is not the sum of the bars.
    whole: Option<Value>,
}

/// One colour of a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: Text,
    /// A value for each bar.
    pub values: Vec<Value>,
    /// Whether it is good or bad news.
    pub tone: Tone,
    /// Whether it is the sum of all smaller series.
    pub is_rest: bool,
}

/// How neighbouring bars are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Amounts are added.
    Sum,
    /// The largest value is kept, since a sum means nothing.
    Max,
}

impl Merge {
    fn of(self, values: &[Value]) -> Value {
        match self {
            Self::Sum => values.iter().fold(Value::Missing, Value::plus),
            Self::Max => values
                .iter()
                .max_by(|one, two| one.size().total_cmp(&two.size()))
                .cloned()
                .unwrap_or_default(),
        }
    }
}

impl Bars {
    /// Stacks amounts, each with the index of its bar and the name of its series.
    pub(in crate::report) fn stacked(
        labels: Vec<Text>,
        amounts: impl IntoIterator<Item = (usize, Option<Text>, Value)>,
    ) -> Self {
        let mut series: BTreeMap<Text, Vec<Value>> = BTreeMap::new();
        for (bar, name, amount) in amounts {
            let values = series
                .entry(name.unwrap_or_else(|| UNNAMED.clone()))
                .or_insert_with(|| vec![Value::Missing; labels.len()]);
            if let Some(value) = values.get_mut(bar) {
                *value = std::mem::take(value).plus(&amount);
            }
        }
        let mut series: Vec<Series> = series
            .into_iter()
            .map(|(name, values)| Series { name, values, tone: Tone::Plain, is_rest: false })
            .collect();
        series.retain(|one| one.sum().size() > 0.0);
        series.sort_by(|one, two| two.sum().size().total_cmp(&one.sum().size()));
        if series.len() > MAX_SERIES {
            let rest = series.split_off(MAX_SERIES - 1);
            let value = |bar: usize| rest.iter().fold(Value::Missing, |sum, one| sum.plus(&one.values[bar]));
            series.push(Series {
                name: OTHER.clone(),
                values: (0..labels.len()).map(value).collect(),
                tone: Tone::Plain,
                is_rest: true,
            });
        }
        Self { labels, series, merged: 1, merge: Merge::Sum, whole: None }.merged()
    }

    /// One series of these values.
    pub(in crate::report) fn single(
        name: &'static str,
        labels: Vec<Text>,
        values: Vec<Value>,
        merge: Merge,
    ) -> Self {
        let series = vec![Series { name: Text::from(name), values, tone: Tone::Plain, is_rest: false }];
        Self { labels, series, merged: 1, merge, whole: None }.merged()
    }

    /// One series of shares, each a part and its whole. Merged bars have the share of all of their parts.
    pub(in crate::report) fn ratios(name: &'static str, labels: Vec<Text>, parts: &[(u64, u64)]) -> Self {
        let share = |parts: &[(u64, u64)]| {
            let add = |(part, whole): (u64, u64), more: &(u64, u64)| {
                (part.saturating_add(more.0), whole.saturating_add(more.1))
            };
            let (part, whole) = parts.iter().fold((0, 0), add);
            ratio(part, whole).map_or(Value::Missing, Value::Share)
        };
        let size = size_of_bar(labels.len());
        // Every bar of several has the same share, so that the largest is the share of all.
        let values = parts.chunks(size).flat_map(|chunk| vec![share(chunk); chunk.len()]).collect();
        Self { whole: Some(share(parts)), ..Self::single(name, labels, values, Merge::Max) }
    }

    /// Gives the series with these names a tone.
    #[must_use]
    pub(in crate::report) fn with_tones(mut self, tones: &[(&str, Tone)]) -> Self {
        for series in &mut self.series {
            let own = tones.iter().find(|(name, _)| *name == series.name.as_str());
            series.tone = own.map_or(Tone::Plain, |(_, tone)| *tone);
        }
        self
    }

    /// Says that a sum of the bars means nothing.
    #[must_use]
    pub(in crate::report) fn without_sum(mut self) -> Self {
        self.merge = Merge::Max;
        self
    }

    /// Bars without names, for tests of their geometry.
    #[cfg(test)]
    pub(crate) fn for_tests(series: Vec<Series>) -> Self {
        let count = series.iter().map(|one| one.values.len()).max().unwrap_or(0);
        Self { labels: vec![UNNAMED.clone(); count], series, merged: 1, merge: Merge::Sum, whole: None }
    }

    /// Merges neighbours until there are few enough bars.
    fn merged(mut self) -> Self {
        let size = size_of_bar(self.labels.len());
        if size > 1 {
            let label = |labels: &[Text]| match labels {
                [first, .., last] => Text::from(format!("{} to {}", &**first, &**last)),
                [one] => one.clone(),
                [] => UNNAMED.clone(),
            };
            self.labels = self.labels.chunks(size).map(label).collect();
            for series in &mut self.series {
                series.values = series.values.chunks(size).map(|values| self.merge.of(values)).collect();
            }
            self.merged = size;
        }
        self
    }

    /// The whole of one bar.
    pub fn stack(&self, bar: usize) -> Value {
        self.series.iter().fold(Value::Missing, |sum, series| sum.plus(&series.values[bar]))
    }

    /// The largest bar.
    pub fn max(&self) -> f64 {
        (0..self.labels.len()).map(|bar| self.stack(bar).size()).fold(0.0, f64::max)
    }

    /// The sum of all bars; `None` if it means nothing.
    pub fn sum(&self) -> Option<Value> {
        match self.merge {
            Merge::Sum => Some(self.series.iter().fold(Value::Missing, |sum, one| sum.plus(&one.sum()))),
            Merge::Max => None,
        }
    }

    pub(super) fn about(&self) -> Line {
        let mut line = Line::new(Tone::Plain);
        let has_tones = self.series.iter().any(|series| series.tone != Tone::Plain);
        match self.whole.clone().or_else(|| self.sum()) {
            // Good and bad news do not add up.
            Some(_) if has_tones => {
                for (at, series) in self.series.iter().enumerate() {
                    let name = Value::Text(series.name.clone());
                    line =
                        line.word(if at > 0 { ", " } else { "" }).value(series.sum()).word(" ").value(name);
                }
            }
            Some(sum) => line = line.value(sum).word(" in all"),
            None => {}
        }
        // Bars that count one for each of their names are equal.
        if self.max() == self.merged as f64 && has_tones {
            return line;
        }
        if !line.parts.is_empty() {
            line = line.word(", ");
        }
        let largest = (0..self.labels.len()).map(|bar| (self.stack(bar), bar));
        let largest = largest.max_by(|(one, at), (two, after)| {
            one.size().total_cmp(&two.size()).then(Reverse(at).cmp(&Reverse(after)))
        });
        match largest {
            Some((value, bar)) => line
                .word("at most ")
                .value(value)
                .word(" (")
                .value(Value::Text(self.labels[bar].clone()))
                .word(")"),
            None => line,
        }
    }

    pub(super) fn values(&self) -> (Vec<Text>, Vec<Vec<Value>>) {
        let names = self.series.iter().map(|series| series.name.clone());
        let row = |(bar, label): (usize, &Text)| {
            let values = self.series.iter().map(|series| series.values[bar].clone());
            [Value::Text(label.clone())].into_iter().chain(values).collect()
        };
        let heads = [Text::from("Bar")].into_iter().chain(names).collect();
        (heads, self.labels.iter().enumerate().map(row).collect())
    }
}

/// The number of neighbours that are merged into one bar.
fn size_of_bar(bars: usize) -> usize {
    bars.div_ceil(MAX_BARS).max(1)
}

impl Series {
    /// Sum of the values.
    pub fn sum(&self) -> Value {
        Merge::Sum.of(&self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(count: usize) -> Vec<Text> {
        (0..count).map(|at| Text::from(at.to_string())).collect()
    }

    #[test]
    fn many_series_and_bars_are_merged_and_nothing_is_lost() {
        let (bars, series) = (1000, 50);
        let amounts = (0..bars).flat_map(|bar| {
            (0..series).map(move |at| (bar, Some(Text::from(format!("s{at}"))), Value::Count(1 + at as u64)))
        });
        let chart = Bars::stacked(labels(bars), amounts);
        assert!(chart.labels.len() <= MAX_BARS && chart.merged == 9, "{}", chart.merged);
        assert_eq!(chart.series.len(), MAX_SERIES);
        assert_eq!(&*chart.series[MAX_SERIES - 1].name, "other");
        assert_eq!(chart.sum(), Some(Value::Count(bars as u64 * (1..=series as u64).sum::<u64>())));
        assert_eq!(&*chart.labels[0], "0 to 8");
    }

    #[test]
    fn a_stack_is_the_sum_of_its_series_and_missing_is_not_zero() {
        let amounts = [(0, Some("a"), 2), (0, Some("b"), 3), (2, None, 1)];
        let amounts = amounts.map(|(bar, name, count)| (bar, name.map(Text::from), Value::Count(count)));
        let chart = Bars::stacked(labels(3), amounts);
        let stacks: Vec<Value> = (0..3).map(|bar| chart.stack(bar)).collect();
        assert_eq!(stacks, [Value::Count(5), Value::Missing, Value::Count(1)]);
        assert_eq!(chart.max(), 5.0);
    }

    #[test]
    fn shares_of_merged_bars_are_not_added() {
        let parts: Vec<(u64, u64)> = (0..240).map(|at| if at % 2 == 0 { (1, 1) } else { (0, 3) }).collect();
        let chart = Bars::ratios("hits", labels(240), &parts);
        assert_eq!((chart.labels.len(), chart.merged), (120, 2));
        assert!((0..120).all(|bar| chart.stack(bar) == Value::Share(0.25)));
        assert_eq!((chart.whole, chart.merge), (Some(Value::Share(0.25)), Merge::Max));
        let chart = Bars::ratios("hits", labels(2), &[(0, 0), (1, 2)]);
        assert_eq!([chart.stack(0), chart.stack(1)], [Value::Missing, Value::Share(0.5)]);
    }

    #[test]
    fn sizes_of_a_context_are_not_added() {
        let values = (0..500_u64).map(Value::Count).collect();
        let chart = Bars::single("tokens", labels(500), values, Merge::Max);
        assert_eq!(chart.max(), 499.0);
        assert_eq!(chart.sum(), None);
    }
}
