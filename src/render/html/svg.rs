//! Draws charts as SVG. Colours are classes, so that the style sheet chooses them for light and dark screens.

use super::{
    markup::{Markup, Px, spaced},
    scale::{Axis, SHADES, label_places, shade, shade_end, stack},
};
use crate::{
    render::human,
    report::{
        Activity, Bars, Bucket, Chart, Distribution, HOURS, HeatMap, Lane, Plot, Series, Span, Text,
        Timeline, Tone, Value, WEEKDAYS, hour_text, total,
    },
};

/// Size of a chart that takes half of a wide page.
const HALF: (f64, f64) = (560.0, 240.0);

/// Width of a chart that takes all of a wide page.
const FULL: f64 = 1160.0;

/// Space for the labels of the vertical axis, above the plot, and for the labels below it.
const LEFT: f64 = 64.0;
const TOP: f64 = 10.0;
const BELOW: f64 = 22.0;

/// Maximum number of characters of a label.
const LABEL: usize = 20;

/// Whether a chart takes all of a wide page.
pub(super) fn is_wide(chart: &Chart) -> bool {
    matches!(chart.plot, Plot::Timeline(_))
}

/// Draws a chart. `id` is unique in the page; `about` is its text alternative.
pub(super) fn draw(chart: &Chart, id: &str, about: &str, page: &mut Markup) {
    let (width, height) = match &chart.plot {
        Plot::Timeline(timeline) => (FULL, timeline_height(timeline)),
        Plot::Share(_) => (HALF.0, SHARE),
        Plot::HeatMap(_) => (HALF.0, TOP + 7.0 * ROW + BELOW),
        Plot::Bars(_) | Plot::Distribution(_) => HALF,
    };
    let (title, desc) = (format!("{id}-title"), format!("{id}-desc"));
    page.open(
        "svg",
        &[
            ("viewBox", &spaced(&[&0, &0, &Px(width), &Px(height)])),
            ("class", &if is_wide(chart) { "plot wide" } else { "plot" }),
            ("role", &"img"),
            ("aria-labelledby", &spaced(&[&title, &desc])),
        ],
    );
    page.element("title", &[("id", &title)], chart.title);
    page.element("desc", &[("id", &desc)], about);
    match &chart.plot {
        Plot::Bars(bars) => draw_bars(bars, page),
        Plot::Timeline(timeline) => draw_timeline(timeline, page),
        Plot::Distribution(distribution) => draw_distribution(distribution, page),
        Plot::Share(parts) => draw_share(parts, page),
        Plot::HeatMap(map) => draw_heat_map(map, page),
    }
    page.close();
}

/// Class and name of each colour; empty if there is only one.
pub(super) fn legend(chart: &Chart) -> Vec<(String, String)> {
    let series = |(at, series): (usize, &Series)| (series_class(at, series), series.name.to_string());
    match &chart.plot {
        Plot::Bars(bars)
            if bars.series.len() > 1 || bars.series.iter().any(|one| one.tone != Tone::Plain) =>
        {
            bars.series.iter().enumerate().map(series).collect()
        }
        Plot::Share(parts) => {
            let whole = total(parts).size();
            let named = |(at, (name, value)): (usize, &(Text, Value))| {
                let (amount, share) =
                    (human::value(value), human::value(&Value::Share(value.size() / whole)));
                (format!("s{at}"), format!("{} {amount} ({share})", &**name))
            };
            parts.iter().enumerate().map(named).collect()
        }
        Plot::Timeline(timeline) => {
            let named = |(activity, count, time): (Activity, u64, _)| {
                let time = human::value(&Value::Millis(time));
                let count = human::value(&Value::Count(count));
                (class(activity).to_owned(), format!("{}: {count} ×, {time}", activity.name()))
            };
            timeline.activities().into_iter().map(named).collect()
        }
        Plot::HeatMap(map) => shades(map),
        Plot::Bars(_) | Plot::Distribution(_) => Vec::new(),
    }
}

/// Class of each shade, with the largest amount that has it.
fn shades(map: &HeatMap) -> Vec<(String, String)> {
    let unit = map.cells.iter().flatten().find(|cell| **cell != Value::Missing).cloned().unwrap_or_default();
    let named = |shade: usize| {
        let most = unit.like(map.max() * shade_end(shade));
        (format!("h{shade}"), format!("up to {}", human::short_value(&most)))
    };
    [("h0".to_owned(), "nothing".to_owned())].into_iter().chain((1..=SHADES).map(named)).collect()
}

/// Class of a series: its tone, or else a colour of its own.
fn series_class(number: usize, series: &Series) -> String {
    match series.tone {
        Tone::Good => "a-call".to_owned(),
        Tone::Bad => "a-failed".to_owned(),
        Tone::Warning => "a-denied".to_owned(),
        Tone::Running => "a-model".to_owned(),
        // The rest is grey, however large it is.
        Tone::Plain if series.is_rest => "s7".to_owned(),
        Tone::Plain => format!("s{number}"),
    }
}

/// A rectangle with a text that appears when it is pointed at.
fn rect(page: &mut Markup, class: &str, [x, y, width, height]: [f64; 4], text: &str) {
    page.open(
        "rect",
        &[("class", &class), ("x", &Px(x)), ("y", &Px(y)), ("width", &Px(width)), ("height", &Px(height))],
    );
    page.element("title", &[], text);
    page.close();
}

/// The end of a label that is attached to its point.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

fn label(page: &mut Markup, (x, y): (f64, f64), anchor: Anchor, text: &str) {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    page.element("text", &[("x", &Px(x)), ("y", &Px(y)), ("text-anchor", &anchor)], text);
}

/// Labels below a plot, at the height `y`. On narrow screens, every second one is hidden.
fn labels_below(page: &mut Markup, texts: &[String], y: f64, center: impl Fn(usize) -> f64) {
    let letters = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let places = label_places(texts.len(), letters, HALF.0, center);
    for (number, (at, x)) in places.into_iter().enumerate() {
        let class = if number.is_multiple_of(2) { "x1" } else { "x2" };
        let attributes: [(&'static str, &dyn std::fmt::Display); 4] =
            [("class", &class), ("x", &Px(x)), ("y", &Px(y)), ("text-anchor", &"middle")];
        page.element("text", &attributes, &texts[at]);
    }
}

/// Grid lines with the values of the vertical axis.
fn grid(page: &mut Markup, axis: &Axis, unit: &Value) {
    for tick in axis.ticks() {
        let y = HALF.1 - BELOW - axis.length(tick);
        let line: [(&str, &dyn std::fmt::Display); 4] =
            [("x1", &Px(LEFT)), ("x2", &Px(HALF.0)), ("y1", &Px(y)), ("y2", &Px(y))];
        page.empty("line", &line);
        // The lowest one is kept clear of the labels below.
        let below = if tick == 0.0 { 0.0 } else { 4.0 };
        label(page, (LEFT - 6.0, y + below), Anchor::End, &tick_text(unit, tick));
    }
}

/// The value of a grid line in a few characters: `0`, `20k`, `$15`, `$0.25`.
fn tick_text(unit: &Value, tick: f64) -> String {
    if tick == 0.0 {
        return "0".to_owned();
    }
    let value = unit.like(tick);
    match value {
        Value::Count(count) if count >= 1000 => human::scaled_count(count).replacen(".0", "", 1),
        Value::Usd(_) if tick >= 10.0 => human::value(&value).trim_end_matches(".00").to_owned(),
        Value::Share(_) => human::value(&value).replacen(".0", "", 1),
        value => human::short_value(&value),
    }
}

/// Shortens a label at its end.
fn short(text: &str) -> String {
    match text.char_indices().nth(LABEL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn draw_bars(bars: &Bars, page: &mut Markup) {
    let count = bars.labels.len();
    let unit = (0..count).map(|bar| bars.stack(bar)).find(|value| *value != Value::Missing);
    let unit = unit.unwrap_or_default();
    let height = HALF.1 - TOP - BELOW;
    let axis = Axis::new(&unit, bars.max(), height);
    grid(page, &axis, &unit);
    let pitch = (HALF.0 - LEFT) / count as f64;
    let width = (pitch * 0.84).min(48.0);
    let x = |bar: usize| LEFT + pitch * (bar as f64 + 0.5) - width / 2.0;
    for bar in 0..count {
        for part in stack(bars, bar, &axis) {
            let series = &bars.series[part.series];
            let name = &*bars.labels[bar];
            let value = human::value(&series.values[bar]);
            let text = match bars.series.len() {
                1 => format!("{name}: {value}"),
                _ => format!("{name}: {} {value}", &*series.name),
            };
            let class = series_class(part.series, series);
            rect(page, &class, [x(bar), TOP + part.y, width, part.height], &text);
        }
    }
    // A bar of several periods is labelled by the first of them.
    let text = |label: &Text| short(label.split(" to ").next().unwrap_or_default());
    let texts: Vec<String> = bars.labels.iter().map(text).collect();
    labels_below(page, &texts, HALF.1 - 4.0, |bar| LEFT + pitch * (bar as f64 + 0.5));
}

fn draw_distribution(distribution: &Distribution, page: &mut Markup) {
    let Distribution { noun, buckets, .. } = distribution;
    let (count, unit) = (buckets.len(), Value::Count(0));
    let axis = Axis::new(&unit, distribution.max() as f64, HALF.1 - TOP - BELOW);
    grid(page, &axis, &unit);
    let pitch = (HALF.0 - LEFT) / count as f64;
    for (at, Bucket { from, to, count }) in buckets.iter().enumerate().filter(|(_, one)| one.count > 0) {
        let height = axis.length(*count as f64);
        let text = format!(
            "{} to {}: {} {noun}",
            human::value(from),
            human::value(to),
            human::value(&Value::Count(*count))
        );
        let place = [LEFT + pitch * at as f64, HALF.1 - BELOW - height, pitch, height];
        rect(page, "s0", place, &text);
    }
    let texts: Vec<String> = buckets.iter().map(|bucket| human::short_value(&bucket.from)).collect();
    labels_below(page, &texts, HALF.1 - 4.0, |at| LEFT + pitch * at as f64);
}

/// Height of a share.
const SHARE: f64 = 36.0;

fn draw_share(parts: &[(Text, Value)], page: &mut Markup) {
    let whole = total(parts).size();
    let mut x = 0.0;
    for (at, (name, value)) in parts.iter().enumerate() {
        let width = value.size() / whole * HALF.0;
        let text = format!("{}: {}", &**name, human::value(value));
        rect(page, &format!("s{at}"), [x, 4.0, width, SHARE - 8.0], &text);
        x += width;
    }
}

/// Height of a row of a heat map.
const ROW: f64 = 24.0;

fn draw_heat_map(map: &HeatMap, page: &mut Markup) {
    let (max, left) = (map.max(), 44.0);
    let pitch = (HALF.0 - left) / HOURS as f64;
    for (day, hours) in map.cells.iter().enumerate() {
        let y = TOP + ROW * day as f64;
        label(page, (left - 6.0, y + 16.0), Anchor::End, WEEKDAYS[day]);
        for (hour, cell) in hours.iter().enumerate() {
            let class = format!("h{}", shade(cell, max).min(SHADES));
            let text = format!("{} {}: {}", WEEKDAYS[day], hour_text(hour), human::value(cell));
            let x = left + pitch * hour as f64;
            rect(page, &class, [x + 1.0, y + 1.0, pitch - 2.0, ROW - 2.0], &text);
        }
    }
    let texts: Vec<String> = (0..HOURS).step_by(3).map(hour_text).collect();
    labels_below(page, &texts, TOP + 7.0 * ROW + 18.0, |at| left + pitch * (3.0 * at as f64 + 0.5));
}

/// Space for the names of lanes, height of a row of spans, space between lanes.
const NAMES: f64 = 160.0;
const THIN: f64 = 16.0;
const GAP: f64 = 8.0;

fn lane_height(lane: &Lane) -> f64 {
    lane.rows.len().max(1) as f64 * THIN + GAP
}

fn timeline_height(timeline: &Timeline) -> f64 {
    timeline.lanes.iter().map(lane_height).sum::<f64>() + TOP + BELOW
}

/// Class of an activity.
pub(super) fn class(activity: Activity) -> &'static str {
    match activity {
        Activity::Waiting => "a-wait",
        Activity::Model => "a-model",
        Activity::Call => "a-call",
        Activity::Open => "a-open",
        Activity::Denied => "a-denied",
        Activity::Failed => "a-failed",
    }
}

fn draw_timeline(timeline: &Timeline, page: &mut Markup) {
    let x = |share: f64| NAMES + (FULL - NAMES) * share;
    let bottom = timeline_height(timeline) - BELOW;
    let whole = timeline.end.since(timeline.start).as_f64();
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let line: [(&str, &dyn std::fmt::Display); 4] =
            [("x1", &Px(x(share))), ("x2", &Px(x(share))), ("y1", &Px(0.0)), ("y2", &Px(bottom))];
        page.empty("line", &line);
        let (anchor, text) = match quarter {
            0 => (Anchor::Start, human::value(&timeline.clock[0])),
            4 => (Anchor::End, human::value(&timeline.clock[1])),
            _ => {
                let since = crate::measure::Millis::from_f64(whole * share);
                (Anchor::Middle, format!("+{}", human::value(&Value::Millis(since))))
            }
        };
        label(page, (x(share), bottom + 16.0), anchor, &text);
    }
    let mut y = TOP;
    for lane in &timeline.lanes {
        page.open("g", &[]);
        page.element("title", &[], &lane.name);
        label(page, (NAMES - 8.0, y + THIN - 4.0), Anchor::End, &short(&lane.name));
        page.close();
        for (row, spans) in lane.rows.iter().enumerate() {
            for span in spans {
                let (from, to) = (x(timeline.share(span.from)), x(timeline.share(span.to)));
                let width = (to - from).max(1.0).min(FULL - from.min(FULL - 1.0));
                let place = [from.min(FULL - 1.0), y + row as f64 * THIN + 1.0, width, THIN - 3.0];
                rect(page, class(span.activity), place, &span_text(span));
            }
        }
        y += lane_height(lane);
    }
}

fn span_text(span: &Span) -> String {
    let took = human::value(&Value::Millis(span.to.since(span.from)));
    let more = if span.count > 1 { format!(" and {} more", span.count - 1) } else { String::new() };
    format!("{} ({}){more}: {took}", &*span.name, span.activity.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Time;

    /// Position and size of each drawn rectangle, and the size of the picture.
    fn drawn(plot: Plot) -> (Vec<[f64; 4]>, [f64; 2]) {
        let mut page = Markup::default();
        draw(&Chart { title: "Chart", plot, is_page_only: false }, "id", "about", &mut page);
        let tree = roxmltree::Document::parse(page.as_str()).unwrap();
        let number =
            |node: roxmltree::Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let rects = tree.descendants().filter(|node| node.has_tag_name("rect"));
        let rects = rects.map(|node| ["x", "y", "width", "height"].map(|name| number(node, name)));
        let size: Vec<f64> = tree
            .root_element()
            .attribute("viewBox")
            .unwrap()
            .split(' ')
            .map(|one| one.parse().unwrap())
            .collect();
        (rects.collect(), [size[2], size[3]])
    }

    /// Numbers are written with one digit, so neighbours may share a tenth of a pixel.
    fn assert_apart_and_inside((rects, [width, height]): &(Vec<[f64; 4]>, [f64; 2])) {
        assert!(!rects.is_empty());
        for (at, one) in rects.iter().enumerate() {
            let [x, y, w, h] = *one;
            assert!(x >= 0.0 && y >= 0.0 && x + w <= width + 0.15 && y + h <= height + 0.15, "{one:?}");
            for other in &rects[at + 1..] {
                let apart = |from: usize| {
                    one[from] + one[from + 2] <= other[from] + 0.15
                        || other[from] + other[from + 2] <= one[from] + 0.15
                };
                assert!(apart(0) || apart(1), "{one:?} and {other:?} overlap");
            }
        }
    }

    fn series(name: &str, values: &[u64]) -> Series {
        let values = values.iter().map(|&value| Value::Count(value)).collect();
        Series { name: name.into(), values, tone: Tone::Plain, is_rest: false }
    }

    #[test]
    fn stacked_bars_do_not_overlap_and_are_as_high_as_their_sum() {
        let bars = Bars::for_tests(vec![series("a", &[5, 9, 0, 1]), series("b", &[3, 0, 0, 7])]);
        let picture = drawn(Plot::Bars(bars));
        assert_apart_and_inside(&picture);
        let height = |bar: usize| {
            let mut lefts: Vec<f64> = picture.0.iter().map(|rect| rect[0]).collect();
            lefts.dedup();
            picture.0.iter().filter(|rect| rect[0] == lefts[bar]).map(|rect| rect[3]).sum::<f64>()
        };
        // 8, 9 and 8: the empty bar is not drawn.
        assert!((height(0) / height(1) - 8.0 / 9.0).abs() < 0.01, "{:?}", picture.0);
        assert!((height(0) - height(2)).abs() < 0.25, "{:?}", picture.0);
    }

    #[test]
    fn lanes_and_their_rows_do_not_overlap() {
        let time = |second: i64| Time::from_micros(second * 1_000_000);
        let span = |from, to| Span {
            from: time(from),
            to: time(to),
            activity: Activity::Call,
            name: "Bash".into(),
            count: 1,
        };
        let lane = |rows: Vec<Vec<Span>>| Lane { name: "agent".into(), rows };
        let lanes = vec![
            lane(vec![vec![span(0, 40), span(40, 99), span(99, 100)], vec![span(5, 60)]]),
            lane(vec![vec![span(10, 20)], vec![span(12, 18)], vec![span(13, 17), span(30, 31)]]),
            lane(vec![vec![span(0, 100)]]),
        ];
        let timeline =
            Timeline { start: time(0), end: time(100), clock: Default::default(), lanes, left_out: 0 };
        let picture = drawn(Plot::Timeline(timeline));
        assert_eq!(picture.0.len(), 9);
        assert_apart_and_inside(&picture);
        let [x, _, width, _] = picture.0[8];
        assert!(
            (x - NAMES).abs() < 0.1 && (x + width - FULL).abs() < 0.1,
            "the whole time is the whole width"
        );
    }

    #[test]
    fn parts_of_a_whole_fill_the_width() {
        let parts = [7, 2, 1].map(|count| (Text::from("part"), Value::Count(count))).to_vec();
        let picture = drawn(Plot::Share(parts));
        assert_apart_and_inside(&picture);
        let widths: Vec<f64> = picture.0.iter().map(|rect| rect[2]).collect();
        assert!((widths.iter().sum::<f64>() - HALF.0).abs() < 0.2, "{widths:?}");
        assert!((widths[0] / widths[2] - 7.0).abs() < 0.05, "{widths:?}");
    }

    #[test]
    fn a_heat_map_has_a_cell_for_every_hour_of_the_week() {
        let mut cells: Box<[[Value; HOURS]; 7]> = Box::default();
        cells[0][9] = Value::Count(4);
        let picture = drawn(Plot::HeatMap(HeatMap { cells }));
        assert_eq!(picture.0.len(), 7 * HOURS);
        assert_apart_and_inside(&picture);
    }
}
