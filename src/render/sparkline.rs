//! Charts on a terminal: a line of blocks for each series, lane or weekday.

use unicode_width::UnicodeWidthStr;

use super::{Style, human, table::cut::cut_middle};
use crate::report::{
    Activity, Bars, Chart, Distribution, HOURS, HeatMap, Lane, Plot, Text, Timeline, Value, WEEKDAYS,
    hour_text, total,
};

/// Minimum width of a terminal for charts.
const MIN_WIDTH: u16 = 80;

/// Maximum width of a name.
const NAME: usize = 24;

/// Maximum number of lanes of a timeline.
const MAX_LANES: usize = 12;

/// Heights of a block. The lowest is for amounts that are small, but not zero.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Fewer bars than this are read as fast in the table.
const MIN_BARS: usize = 7;

/// Whether a chart is drawn: on a terminal that is wide enough, never into a pipe or file, and only if it shows more than
/// the table below it.
pub(super) fn is_shown(chart: &Chart, style: Style) -> bool {
    let says_more = match &chart.plot {
        Plot::Bars(bars) => bars.labels.len() >= MIN_BARS,
        Plot::Timeline(timeline) => timeline.lanes.len() > 1,
        Plot::Distribution(_) | Plot::Share(_) | Plot::HeatMap(_) => true,
    };
    says_more && !chart.is_page_only && style.width.is_some_and(|width| width >= MIN_WIDTH)
}

/// Draws a chart below its title.
pub(super) fn draw(chart: &Chart, style: Style) -> Vec<String> {
    let width = usize::from(style.width.unwrap_or(MIN_WIDTH));
    match &chart.plot {
        Plot::Bars(bars) => draw_bars(bars, width),
        Plot::Timeline(timeline) => draw_timeline(timeline, width),
        Plot::Distribution(distribution) => draw_distribution(distribution),
        Plot::Share(parts) => draw_share(parts),
        Plot::HeatMap(map) => draw_heat_map(map),
    }
}

/// A block of this height, from 0 to `max`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 8")]
fn block(amount: f64, max: f64) -> char {
    if amount <= 0.0 || max <= 0.0 {
        return ' ';
    }
    let level = (amount / max * BLOCKS.len() as f64).ceil() as usize;
    BLOCKS[level.clamp(1, BLOCKS.len()) - 1]
}

/// The name of a line, cut and padded to a width.
fn padded(name: &str, width: usize) -> String {
    let name = cut_middle(&human::text(name), width);
    format!("{name}{}", " ".repeat(width.saturating_sub(name.width())))
}

/// The width of the longest of some names.
fn names_width<'a>(names: impl Iterator<Item = &'a Text>) -> usize {
    names.map(|name| human::text(name).width()).max().unwrap_or(0).min(NAME)
}

fn draw_bars(bars: &Bars, width: usize) -> Vec<String> {
    let names = names_width(bars.series.iter().map(|series| &series.name));
    let is_summed = bars.sum().is_some();
    let room = width.saturating_sub(names + 18).max(10);
    let group = bars.labels.len().div_ceil(room).max(1);
    let heights = |values: &[Value]| -> Vec<f64> {
        values.chunks(group).map(|values| values.iter().map(Value::size).fold(0.0, f64::max)).collect()
    };
    let max = bars.series.iter().flat_map(|series| heights(&series.values)).fold(0.0, f64::max);
    let line = |series: &crate::report::Series| {
        let blocks: String = heights(&series.values).into_iter().map(|height| block(height, max)).collect();
        let sum = if is_summed { human::short_value(&series.sum()) } else { String::new() };
        format!("{}  {blocks}  {sum}", padded(&series.name, names))
    };
    bars.series.iter().map(line).chain(ends(bars, names, bars.labels.len().div_ceil(group))).collect()
}

/// The first and the last label below the blocks.
fn ends(bars: &Bars, names: usize, blocks: usize) -> Option<String> {
    let (first, last) = (bars.labels.first()?, bars.labels.last()?);
    let (first, last) = (cut_middle(&human::text(first), NAME), cut_middle(&human::text(last), NAME));
    let gap = blocks.saturating_sub(first.width() + last.width()).max(3);
    Some(format!("{}  {first}{}{last}", " ".repeat(names), " ".repeat(gap)))
}

fn draw_distribution(distribution: &Distribution) -> Vec<String> {
    let Distribution { buckets, .. } = distribution;
    let max = distribution.max() as f64;
    let blocks: String = buckets.iter().map(|bucket| block(bucket.count as f64, max)).collect();
    let end = |value: Option<&Value>| value.map(human::value).unwrap_or_default();
    let from = end(buckets.first().map(|bucket| &bucket.from));
    vec![format!("{from} {blocks} {}", end(buckets.last().map(|bucket| &bucket.to)))]
}

/// Width of the longest bar of a share.
const SHARE: f64 = 30.0;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few characters")]
fn draw_share(parts: &[(Text, Value)]) -> Vec<String> {
    let names = names_width(parts.iter().map(|(name, _)| name));
    let whole = total(parts).size();
    let line = |(name, value): &(Text, Value)| {
        let share = value.size() / whole;
        let bar = "█".repeat(((share * SHARE).round() as usize).max(1));
        let share = human::value(&Value::Share(share));
        format!("{}  {share:>7}  {bar} {}", padded(name, names), human::value(value))
    };
    parts.iter().map(line).collect()
}

fn draw_heat_map(map: &HeatMap) -> Vec<String> {
    let hours: String = (0..HOURS).step_by(6).map(|hour| format!("{:<12}", hour_text(hour))).collect();
    let line = |(day, cells): (usize, &[Value; HOURS])| {
        let max = map.max();
        let blocks: String = cells.iter().flat_map(|cell| [block(cell.size(), max); 2]).collect();
        format!("{}  {blocks}", WEEKDAYS[day])
    };
    [format!("     {hours}")].into_iter().chain(map.cells.iter().enumerate().map(line)).collect()
}

fn draw_timeline(timeline: &Timeline, width: usize) -> Vec<String> {
    let names = names_width(timeline.lanes.iter().map(|lane| &lane.name));
    let room = width.saturating_sub(names + 2).max(10);
    let line = |lane: &Lane| format!("{}  {}", padded(&lane.name, names), lane_blocks(timeline, lane, room));
    let mut lines: Vec<String> = timeline.lanes.iter().take(MAX_LANES).map(line).collect();
    let activities = timeline.activities().into_iter();
    let known: Vec<String> =
        activities.map(|(activity, ..)| format!("{} {}", letter(activity), activity.name())).collect();
    lines.push(format!("{}  {}", " ".repeat(names), known.join("   ")));
    lines
}

/// One letter for each part of a lane: the most important activity in it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the width")]
fn lane_blocks(timeline: &Timeline, lane: &Lane, room: usize) -> String {
    let mut cells: Vec<Option<Activity>> = vec![None; room];
    let at = |share: f64| ((share * room as f64) as usize).min(room - 1);
    for span in lane.rows.iter().flatten() {
        let (from, to) = (at(timeline.share(span.from)), at(timeline.share(span.to)));
        cells[from..=to].iter_mut().for_each(|cell| *cell = (*cell).max(Some(span.activity)));
    }
    cells.into_iter().map(|cell| cell.map_or(' ', letter)).collect()
}

fn letter(activity: Activity) -> char {
    match activity {
        Activity::Waiting => '·',
        Activity::Model => '░',
        Activity::Call => '█',
        Activity::Open => '?',
        Activity::Denied => '!',
        Activity::Failed => '✗',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Series, Tone};

    fn drawn(series: Vec<Series>) -> Vec<String> {
        draw_bars(&Bars::for_tests(series), 80)
    }

    #[test]
    fn every_series_is_a_line_of_blocks_and_nothing_is_wider_than_the_screen() {
        let values = |size: u64| (0..300).map(|at| Value::Count(at * size)).collect();
        let name = "a name that is much longer than there is room for it";
        let lines = drawn(vec![
            Series { name: name.into(), values: values(8), tone: Tone::Plain, is_rest: false },
            Series { name: "日本語".into(), values: values(1), tone: Tone::Plain, is_rest: false },
        ]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.width() <= 80), "{lines:?}");
        assert!(lines[0].contains('█') && !lines[1].contains('▂'), "heights are relative to all: {lines:?}");
    }

    #[test]
    fn only_nothing_is_blank() {
        assert_eq!([block(0.0, 5.0), block(0.001, 5.0), block(5.0, 5.0)], [' ', '▁', '█']);
        assert_eq!(block(1.0, 0.0), ' ');
    }
}
