//! Charts of many runs: the cost of each with its verdict, how costs are distributed, and which are outliers.

use super::Row;
use crate::report::{
    Column, Section, Table, Text, Tone, Value,
    chart::{Bars, Chart},
    column::columns,
};

/// Fewer runs than this have no outliers.
const MIN_RUNS: usize = 8;

/// Maximum number of outliers that are named.
const MAX_OUTLIERS: usize = 10;

/// Charts of the runs, in the order of the rows.
pub(super) fn sections(rows: &[Row]) -> Vec<Section> {
    let label = |row: &Row| text(if row.short == Value::Missing { &row.file } else { &row.short });
    let labels: Vec<Text> = rows.iter().map(label).collect();
    let amounts = rows
        .iter()
        .enumerate()
        .filter_map(|(bar, row)| Some((bar, Some(text(&row.verdict)), Value::Usd(row.cost?))));
    let tones = [("ok", Tone::Good), ("FAILED", Tone::Bad)];
    let bars = Bars::stacked(labels.clone(), amounts).with_tones(&tones);
    let costs = Chart::bars("Cost of each run, by verdict", bars);
    let verdicts = rows.iter().enumerate().map(|(bar, row)| (bar, Some(text(&row.verdict)), Value::Count(1)));
    let verdicts = Bars::stacked(labels, verdicts).with_tones(&tones);
    let verdicts = Chart::bars("Runs by verdict", verdicts);
    let values = rows.iter().filter_map(|row| row.cost.map(Value::Usd)).collect();
    let distribution = Chart::distribution("Cost of runs", "runs", values);
    let charts =
        verdicts.into_iter().chain(costs).chain(distribution).map(Chart::page_only).map(Section::Chart);
    charts.chain(outliers(rows).map(Section::Table)).collect()
}

fn text(value: &Value) -> Text {
    match value {
        Value::Text(text) => text.clone(),
        _ => Text::default(),
    }
}

/// A run that costs much more than the others.
struct Outlier<'a> {
    row: &'a Row,
    times: f64,
}

fn columns<'a>() -> Vec<Column<Outlier<'a>>> {
    columns! { |outlier: Outlier<'a>|
        text run "Run" "Beginning of the session id." => &outlier.row.short;
        text file "Log" "File name of the log." => &outlier.row.file;
        text verdict "Verdict" "`ok` or `FAILED`." => &outlier.row.verdict;
        usd cost_usd "Cost" "Cost of the run." => outlier.row.cost;
        number times "Times the median" "Cost divided by the median of all runs." => outlier.times;
    }
}

/// Runs that cost more than the upper quartile by three times the distance of the quartiles, as in Tukey's fences.
fn outliers(rows: &[Row]) -> Option<Table> {
    let size = |row: &Row| row.cost.map(|cost| Value::Usd(cost).size());
    let mut known: Vec<f64> = rows.iter().filter_map(size).collect();
    known.sort_by(f64::total_cmp);
    if known.len() < MIN_RUNS {
        return None;
    }
    let [low, median, high] = [1, 2, 3].map(|quarter| known[(known.len() * quarter).div_ceil(4) - 1]);
    let fence = high + 3.0 * (high - low);
    let far = |row: &&Row| size(row).is_some_and(|size| median > 0.0 && size > fence && size > 2.0 * median);
    let mut far: Vec<Outlier<'_>> = rows
        .iter()
        .filter(far)
        .map(|row| Outlier { row, times: size(row).unwrap_or_default() / median })
        .collect();
    far.sort_by(|one, two| two.times.total_cmp(&one.times));
    far.truncate(MAX_OUTLIERS);
    (!far.is_empty()).then(|| Table::of("Outliers by cost", &columns(), &far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Usd;

    fn rows(costs: &[f64]) -> Vec<Row> {
        let row = |&cost: &f64| Row { cost: Some(Usd::from_dollars(cost)), ..Row::default() };
        costs.iter().map(row).collect()
    }

    #[test]
    fn runs_far_above_the_others_are_named_the_most_expensive_first() {
        let costs = [1.0, 1.1, 0.9, 1.0, 30.0, 1.2, 0.8, 1.0, 12.0, 1.1];
        let table = outliers(&rows(&costs)).unwrap();
        let cost = |row: &Vec<Value>| row[3].clone();
        let usd = |amount| Value::Usd(Usd::from_dollars(amount));
        assert_eq!(table.rows.iter().map(cost).collect::<Vec<_>>(), [usd(30.0), usd(12.0)]);
        assert_eq!(table.rows[0][4], Value::Number(30.0));
    }

    #[test]
    fn few_or_similar_runs_have_no_outliers() {
        assert_eq!(outliers(&rows(&[1.0, 1.0, 1.0, 50.0])), None);
        assert_eq!(outliers(&rows(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8])), None);
        assert_eq!(outliers(&rows(&[0.0; 20])), None);
    }
}
