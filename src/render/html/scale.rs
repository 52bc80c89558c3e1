//! Geometry of charts: positions and lengths, without markup.

use crate::report::{Bars, Value};

/// Maximum number of grid lines above zero.
const MAX_TICKS: f64 = 4.0;

/// A vertical axis from zero to a round number.
pub(super) struct Axis {
    /// The value at the top.
    top: f64,
    step: f64,
    /// Height of the plot.
    height: f64,
}

impl Axis {
    /// An axis that covers `max`, in steps of 1, 2 or 5 times a power of ten.
    /// Counts have no fractions.
    pub(super) fn new(unit: &Value, max: f64, height: f64) -> Self {
        let is_whole = matches!(unit, Value::Count(_) | Value::Bytes(_));
        let smallest = if is_whole { 1.0 } else { 0.0 };
        let raw = max.max(f64::MIN_POSITIVE) / MAX_TICKS;
        let power = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|step| *step >= raw);
        let step = step.unwrap_or(10.0 * power).max(smallest);
        Self { top: (max / step).ceil().max(1.0) * step, step, height }
    }

    /// Length of a value.
    pub(super) fn length(&self, value: f64) -> f64 {
        value / self.top * self.height
    }

    /// Values of the grid lines, from zero.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let mut ticks = Vec::new();
        while ticks.len() as f64 * self.step <= self.top * 1.000_001 {
            ticks.push(ticks.len() as f64 * self.step);
        }
        ticks
    }
}

/// A part of a stacked bar: its series, its distance from the top of the plot and its height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) series: usize,
    pub(super) y: f64,
    pub(super) height: f64,
}

/// Parts of one bar, the largest series at the bottom. They touch and do not overlap.
pub(super) fn stack(bars: &Bars, bar: usize, axis: &Axis) -> Vec<Part> {
    let mut base = 0.0;
    let mut parts = Vec::new();
    for (series, one) in bars.series.iter().enumerate() {
        let height = axis.length(one.values[bar].size());
        if height > 0.0 {
            base += height;
            parts.push(Part { series, y: axis.height - base, height });
        }
    }
    parts
}

/// Width of a character of a label, on wide screens and on narrow ones.
const LETTER: f64 = 7.8;
const NARROW_LETTER: f64 = 11.7;

/// Space between two labels.
const LABEL_GAP: f64 = 10.0;

/// Bars and centres of the labels below a plot: as near to their bars as they can be within `width`, without overlap.
pub(super) fn label_places(
    count: usize,
    letters: usize,
    width: f64,
    center: impl Fn(usize) -> f64,
) -> Vec<(usize, f64)> {
    let pitch = letters as f64 * LETTER + LABEL_GAP;
    let margin = (letters as f64 * NARROW_LETTER / 2.0).min(width / 2.0);
    let every = |step: usize| -> Vec<(usize, f64)> {
        let place = |at: usize| (at, center(at).clamp(margin, width - margin));
        let mut places: Vec<(usize, f64)> = (0..count).step_by(step).map(place).collect();
        // The last one may have been moved towards the one before.
        if let [.., (_, one), (_, two)] = places[..]
            && two - one < pitch
        {
            places.pop();
        }
        places
    };
    let is_apart = |places: &Vec<(usize, f64)>| places.windows(2).all(|pair| pair[1].1 - pair[0].1 >= pitch);
    (1..=count).map(every).find(is_apart).unwrap_or_default()
}

/// Shade of a heat map, from 1 to [`SHADES`]; 0 if there is nothing. The root spreads small amounts.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a few shades")]
pub(super) fn shade(cell: &Value, max: f64) -> usize {
    let share = if max > 0.0 { cell.size() / max } else { 0.0 };
    (share.sqrt() * SHADES as f64).ceil() as usize
}

/// The largest share of the maximum that has a shade: the inverse of [`shade`].
pub(super) fn shade_end(shade: usize) -> f64 {
    (shade as f64 / SHADES as f64).powi(2)
}

/// Number of shades of a heat map.
pub(super) const SHADES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Series, Tone};

    fn bars(values: &[&[u64]]) -> Bars {
        let series = |values: &&[u64]| Series {
            name: "s".into(),
            values: values.iter().map(|&value| Value::Count(value)).collect(),
            tone: Tone::Plain,
            is_rest: false,
        };
        Bars::for_tests(values.iter().map(series).collect())
    }

    #[test]
    fn parts_of_a_bar_add_up_to_its_height_and_touch() {
        let bars = bars(&[&[5, 0, 9], &[3, 2, 0], &[1, 7, 4]]);
        let axis = Axis::new(&Value::Count(1), bars.max(), 200.0);
        for bar in 0..3 {
            let parts = stack(&bars, bar, &axis);
            let whole: f64 = parts.iter().map(|part| part.height).sum();
            assert!((whole - axis.length(bars.stack(bar).size())).abs() < 1e-9);
            let bottom = parts[0].y + parts[0].height;
            assert!((bottom - 200.0).abs() < 1e-9, "it begins at the axis");
            for pair in parts.windows(2) {
                assert!((pair[1].y + pair[1].height - pair[0].y).abs() < 1e-9, "{pair:?}");
            }
            assert!(parts.iter().all(|part| part.y >= 0.0), "it fits: {parts:?}");
        }
        assert_eq!(stack(&bars, 1, &axis).len(), 2, "nothing is drawn for zero");
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (max, ticks) in [
            (13.0, vec![0.0, 5.0, 10.0, 15.0]),
            (1.0, vec![0.0, 0.5, 1.0]),
            (4.0, vec![0.0, 1.0, 2.0, 3.0, 4.0]),
            (0.07, vec![0.0, 0.02, 0.04, 0.06, 0.08]),
        ] {
            let axis = Axis::new(&Value::Number(1.0), max, 100.0);
            let found = axis.ticks();
            assert_eq!(found.len(), ticks.len(), "{max}: {found:?}");
            assert!(found.iter().zip(&ticks).all(|(one, two)| (one - two).abs() < 1e-9), "{max}: {found:?}");
            assert!(axis.length(max) <= 100.0);
        }
        assert!(Axis::new(&Value::Missing, 0.0, 100.0).ticks().len() < 10, "an empty chart has an axis too");
    }

    #[test]
    fn labels_are_within_the_picture_and_do_not_overlap() {
        for count in 1..300 {
            for letters in [1, 5, 10, 16, 21] {
                let pitch = 496.0 / count as f64;
                let places = label_places(count, letters, 560.0, |at| 64.0 + pitch * (at as f64 + 0.5));
                assert!(!places.is_empty() && places[0].0 == 0, "{count} bars: the first has a label");
                let half = letters as f64 * LETTER / 2.0;
                for (_, place) in &places {
                    assert!(place - half >= 0.0 && place + half <= 560.0, "{count} bars: {place} is cut");
                }
                for pair in places.windows(2) {
                    assert!(pair[0].1 + half < pair[1].1 - half, "{count} bars, {letters} letters: {pair:?}");
                }
                for pair in places.windows(3) {
                    assert_eq!(pair[1].0 - pair[0].0, pair[2].0 - pair[1].0, "evenly spaced");
                }
                // On a narrow screen letters are larger, and every second label is hidden.
                let half = letters as f64 * NARROW_LETTER / 2.0;
                for pair in places.iter().step_by(2).collect::<Vec<_>>().windows(2) {
                    assert!(
                        pair[0].1 + half <= pair[1].1 - half,
                        "{count} bars, {letters} letters: {pair:?}"
                    );
                }
            }
        }
        let three = label_places(3, 10, 560.0, |at| 100.0 + 150.0 * at as f64);
        assert_eq!(three, [(0, 100.0), (1, 250.0), (2, 400.0)], "labels that fit are below their bars");
    }

    #[test]
    fn only_nothing_has_no_shade() {
        assert_eq!(shade(&Value::Missing, 10.0), 0);
        assert_eq!([shade(&Value::Count(1), 1e9), shade(&Value::Count(10), 10.0)], [1, SHADES]);
        for number in 1..=SHADES {
            let end = shade_end(number);
            assert_eq!(
                shade(&Value::Number(end - 1e-9), 1.0),
                number,
                "the legend names the end of each shade"
            );
            assert!(shade(&Value::Number(end + 1e-9), 1.0) > number);
        }
    }
}
