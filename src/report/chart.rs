//! Charts as data. A report declares them beside its tables; terminals draw them as sparklines, pages as pictures,
//! and every other format leaves them out.
//!
//! A chart is small whatever was read: the constructors merge bars, series, lanes and spans beyond a limit.

mod bars;
mod distribution;
mod timeline;

pub use bars::{Bars, Merge, Series};
pub use distribution::{Bucket, Distribution};
pub use timeline::{Activity, Lane, Span, Timeline};

use super::{Line, Report, Section, Text, Tone, Value};

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Title shown above the chart.
    pub title: &'static str,
    pub plot: Plot,
    /// Whether terminals leave it out, since a table below says the same.
    pub is_page_only: bool,
}

/// Kinds of charts.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Bars over time or another order, stacked by series.
    Bars(Bars),
    /// Lanes of spans, such as the calls of each agent.
    Timeline(Timeline),
    /// How often values of each size occur.
    Distribution(Distribution),
    /// Parts of a whole, the largest first.
    Share(Vec<(Text, Value)>),
    /// Amounts by weekday and hour.
    HeatMap(HeatMap),
}

/// Names of the weekdays, from Monday.
pub const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Hours of a day.
pub const HOURS: usize = 24;

/// Amounts by weekday, from Monday, and hour. Missing where nothing happened.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    pub cells: Box<[[Value; HOURS]; 7]>,
}

/// Maximum number of parts of a whole; the smallest are merged.
const MAX_PARTS: usize = 8;

/// Name of what was merged because there is too much of it.
static OTHER: Text = arcstr::literal!("other");

/// Name of a part that the log does not name.
pub(super) static UNNAMED: Text = arcstr::literal!("(unknown)");

impl Chart {
    fn new(title: &'static str, plot: Plot) -> Self {
        Self { title, plot, is_page_only: false }
    }

    /// Leaves the chart out on terminals.
    #[must_use]
    pub(super) fn page_only(mut self) -> Self {
        self.is_page_only = true;
        self
    }

    /// Whether it is made of several series.
    pub(super) fn is_stacked(&self) -> bool {
        matches!(&self.plot, Plot::Bars(bars) if bars.series.len() > 1)
    }

    /// Bars, unless there are fewer than two or all are zero.
    pub(super) fn bars(title: &'static str, bars: Bars) -> Option<Self> {
        let is_seen = bars.labels.len() > 1 && bars.max() > 0.0;
        is_seen.then(|| Self::new(title, Plot::Bars(bars)))
    }

    /// A timeline, unless it has no span or no length.
    pub(super) fn timeline(title: &'static str, timeline: Timeline) -> Option<Self> {
        let is_seen = !timeline.lanes.is_empty() && timeline.start < timeline.end;
        is_seen.then(|| Self::new(title, Plot::Timeline(timeline)))
    }

    /// How often values of each size occur, unless there are too few to say.
    pub(super) fn distribution(title: &'static str, noun: &'static str, values: Vec<Value>) -> Option<Self> {
        Some(Self::new(title, Plot::Distribution(Distribution::of(noun, values)?)))
    }

    /// Parts of a whole, unless there are fewer than two.
    pub(super) fn share(
        title: &'static str,
        parts: impl IntoIterator<Item = (Option<Text>, Value)>,
    ) -> Option<Self> {
        let mut parts: Vec<(Text, Value)> =
            parts.into_iter().map(|(name, value)| (name.unwrap_or_else(|| UNNAMED.clone()), value)).collect();
        parts.retain(|(_, value)| value.size() > 0.0);
        parts.sort_by(|one, two| two.1.size().total_cmp(&one.1.size()).then_with(|| one.0.cmp(&two.0)));
        if parts.len() > MAX_PARTS {
            let rest = parts.split_off(MAX_PARTS - 1);
            parts.push((OTHER.clone(), rest.iter().fold(Value::Missing, |sum, (_, value)| sum.plus(value))));
        }
        (parts.len() > 1).then(|| Self::new(title, Plot::Share(parts)))
    }

    /// Amounts by weekday and hour; `None` if all are missing.
    pub(super) fn heat_map(
        title: &'static str,
        amounts: impl IntoIterator<Item = ((usize, usize), Value)>,
    ) -> Option<Self> {
        let mut cells: Box<[[Value; HOURS]; 7]> = Box::default();
        for ((day, hour), amount) in amounts {
            if let Some(cell) = cells.get_mut(day).and_then(|day| day.get_mut(hour)) {
                *cell = std::mem::take(cell).plus(&amount);
            }
        }
        let is_seen = cells.iter().flatten().any(|cell| cell.size() > 0.0);
        is_seen.then(|| Self::new(title, Plot::HeatMap(HeatMap { cells })))
    }

    /// Says in a sentence what the chart shows, for readers who cannot see it.
    pub fn about(&self) -> Line {
        match &self.plot {
            Plot::Bars(bars) => bars.about(),
            Plot::Timeline(timeline) => timeline.about(),
            Plot::Distribution(distribution) => distribution.about(),
            Plot::Share(parts) => about_share(parts),
            Plot::HeatMap(map) => map.about(),
        }
    }

    /// The values as a table: headings, then rows that begin with their name.
    pub fn values(&self) -> (Vec<Text>, Vec<Vec<Value>>) {
        match &self.plot {
            Plot::Bars(bars) => bars.values(),
            Plot::Timeline(timeline) => timeline.values(),
            Plot::Distribution(distribution) => distribution.values(),
            Plot::Share(parts) => share_values(parts),
            Plot::HeatMap(map) => map.values(),
        }
    }
}

fn about_share(parts: &[(Text, Value)]) -> Line {
    let line = Line::new(Tone::Plain);
    let total = total(parts);
    match parts.first() {
        Some((name, value)) => line
            .word("the largest part is ")
            .value(Value::Text(name.clone()))
            .word(": ")
            .value(Value::Share(value.size() / total.size()))
            .word(" of ")
            .value(total),
        None => line,
    }
}

/// Sum of the parts of a whole.
pub fn total(parts: &[(Text, Value)]) -> Value {
    parts.iter().fold(Value::Missing, |sum, (_, value)| sum.plus(value))
}

fn share_values(parts: &[(Text, Value)]) -> (Vec<Text>, Vec<Vec<Value>>) {
    let whole = total(parts).size();
    let row = |(name, value): &(Text, Value)| {
        vec![Value::Text(name.clone()), value.clone(), Value::Share(value.size() / whole)]
    };
    (["Part", "Amount", "Share"].map(Text::from).to_vec(), parts.iter().map(row).collect())
}

impl HeatMap {
    /// The largest amount.
    pub fn max(&self) -> f64 {
        self.cells.iter().flatten().map(Value::size).fold(0.0, f64::max)
    }

    /// Weekday, hour and amount of every cell that is not missing.
    fn known(&self) -> impl Iterator<Item = (usize, usize, &Value)> {
        let cells = self.cells.iter().enumerate();
        cells
            .flat_map(|(day, hours)| hours.iter().enumerate().map(move |(hour, cell)| (day, hour, cell)))
            .filter(|(.., cell)| **cell != Value::Missing)
    }

    fn about(&self) -> Line {
        let line = Line::new(Tone::Plain);
        match self.known().max_by(|one, two| one.2.size().total_cmp(&two.2.size())) {
            Some((day, hour, cell)) => line
                .word("most on ")
                .word(WEEKDAYS[day])
                .word(" at ")
                .value(hour_text(hour))
                .word(": ")
                .value(cell.clone()),
            None => line,
        }
    }

    fn values(&self) -> (Vec<Text>, Vec<Vec<Value>>) {
        let row = |(day, hour, cell): (usize, usize, &Value)| {
            vec![Value::from(format!("{} {}", WEEKDAYS[day], hour_text(hour))), cell.clone()]
        };
        (["Hour", "Amount"].map(Text::from).to_vec(), self.known().map(row).collect())
    }
}

/// `09:00`.
pub fn hour_text(hour: usize) -> String {
    format!("{hour:02}:00")
}

impl Report {
    /// Adds charts above the rows, below the headline.
    #[must_use]
    pub(super) fn with_charts(mut self, charts: impl IntoIterator<Item = Chart>) -> Self {
        let is_line = |section: &Section| match section {
            Section::Verdict(_) | Section::About(_) | Section::Attention(_) | Section::Gates => true,
            Section::Table(_) | Section::ScreenRows(_) | Section::Chart(_) => false,
            Section::Rows | Section::Cards => false,
        };
        let at = self.screen.iter().position(|section| !is_line(section)).unwrap_or(self.screen.len());
        self.screen.splice(at..at, charts.into_iter().map(Section::Chart));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_sorted_and_the_smallest_are_merged() {
        let parts = (1..=20_u64).map(|size| (Some(Text::from(size.to_string())), Value::Count(size)));
        let Some(Chart { plot: Plot::Share(parts), .. }) = Chart::share("Share", parts) else { panic!() };
        assert_eq!(parts.len(), MAX_PARTS);
        assert_eq!(parts[0], (Text::from("20"), Value::Count(20)));
        assert_eq!(parts[MAX_PARTS - 1], (OTHER.clone(), Value::Count((1..=13).sum())));
        assert_eq!(total(&parts), Value::Count((1..=20).sum()));
        assert_eq!(Chart::share("Share", [(None, Value::Count(1))]), None, "one part says nothing");
    }

    #[test]
    fn a_heat_map_adds_up_and_knows_its_largest_hour() {
        let amounts = [((0, 9), 2), ((0, 9), 3), ((6, 23), 1)];
        let amounts = amounts.map(|(at, count)| (at, Value::Count(count)));
        let chart = Chart::heat_map("Hours", amounts).unwrap();
        let Plot::HeatMap(map) = &chart.plot else { panic!() };
        assert_eq!((&map.cells[0][9], &map.cells[0][10]), (&Value::Count(5), &Value::Missing));
        assert_eq!((map.max(), chart.values().1.len()), (5.0, 2));
        assert_eq!(Chart::heat_map("Hours", [((7, 0), Value::Count(1))]), None, "there is no eighth day");
    }
}
