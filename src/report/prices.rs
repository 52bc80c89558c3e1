//! The price table.

use super::{
    Column, CommandGroup, CommandSpec, Data, Head, Line, Reads, Report, ReportSpec, Table, Tone, Unit, Value,
    column::columns, heads,
};
use crate::measure::{LAST_SURCHARGE_VERSION, Price, Prices, Rates, Tier, Usd, Version};

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text model "Model" [required] "Canonical name of the model." => &*row.price.model;
        text applies "Applies" [required] "Responses to which it applies: `standard`, `fast`, or more than (`>`) a number of prompt tokens."
            => &row.applies;
        text until "Until" [wide] "Last CLI version to which it applies; missing if it applies to all."
            => row.until.map(|version| version.to_string());
        usd input "Input" [no_sum, required] "Dollars per million input tokens." => per_million(row.rates.input);
        usd output "Output" [no_sum, required] "Dollars per million output tokens." => per_million(row.rates.output);
        usd cache_read "Cache read" [no_sum, required] "Dollars per million tokens read from the cache."
            => per_million(row.rates.cache_read);
        usd cache_write_5m "Write 5m" [no_sum, required] "Dollars per million tokens written to the cache for five minutes."
            => per_million(row.rates.cache_write_5m);
        usd cache_write_1h "Write 1h" [no_sum, required] "Dollars per million tokens written to the cache for an hour."
            => per_million(row.rates.cache_write_1h);
        usd web_search "Search" [no_sum, data] "Dollars per web search." => row.price.web_search;
        text source "Source" [required, data] "Source of the price." => &*row.price.source;
    }
}

pub(crate) const SPEC: ReportSpec = ReportSpec {
    reads: Reads::Nothing,
    sample: &["prices", "--limit", "4"],
    command: Some(CommandSpec {
        group: CommandGroup::Programs,
        about: "Print the prices in use",
        details: "Costs that the CLI did not report are computed from tokens with these prices.",
        examples: &[
            ("The most expensive models", "ccstat prices --sort output --limit 5"),
            (
                "All prices, including those of your own file",
                "ccstat prices --pricing model_prices.json --format csv",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("prices", "The prices in use, in US dollars per million tokens.", || heads(&columns()))
};

struct Row {
    price: Price,
    applies: String,
    until: Option<Version>,
    rates: Rates,
}

/// Converts pico-dollars per token to dollars per million tokens: the same number, scaled by 10^6.
fn per_million(picos: u64) -> Value {
    Value::Usd(Usd::from_nanos(i128::from(picos) * 1000))
}

/// Builds the report.
pub fn prices(prices: &Prices) -> Report {
    let rows: Vec<Row> = prices.rows().flat_map(rows_of).collect();
    let table = Table::of("Prices in US dollars per million tokens", &columns(), &rows);
    let searches = Line::new(Tone::Plain)
        .word("web searches cost ")
        .value(Usd::from_nanos(10_000_000))
        .word(" each unless stated otherwise");
    let mut sources: Vec<&str> = prices.rows().map(|price| &*price.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let sources = sources.into_iter().map(|source| Line::new(Tone::Plain).word("prices: ").value(source));
    Report::of(SPEC.name, table, [searches].into_iter().chain(surcharge(&rows)).chain(sources).collect())
}

/// Note that some rates apply to old versions only, since a narrow screen has no room for that column.
fn surcharge(rows: &[Row]) -> Option<Line> {
    rows.iter().any(|row| row.until.is_some()).then(|| {
        Line::new(Tone::Plain)
            .word("some rates for long prompts apply only to CLI versions up to ")
            .value(LAST_SURCHARGE_VERSION.to_string())
            .word(" (column until)")
    })
}

/// Adds a note to a report with costs if price files come from a configuration file that was found, not
/// given.
pub fn note_found_prices(report: &mut Report, files: &[String]) {
    if files.is_empty() || !shows_cost(report) {
        return;
    }
    let files = Value::List(files.iter().map(|file| file.as_str().into()).collect());
    report.notes.push(
        Line::new(Tone::Plain)
            .word("prices come from ")
            .value(files)
            .words(", found with this project; {no configuration} ignores them"),
    );
}

fn shows_cost(report: &Report) -> bool {
    match &report.data {
        Data::Tree(_) | Data::Bare(_) => true,
        Data::Rows(table) => {
            let is_usd = |head: &Head| head.unit == Unit::Usd;
            table.columns.iter().any(is_usd) || table.rows.iter().flatten().any(is_amount)
        }
    }
}

/// Whether a value is an amount. In some columns every row has its own unit.
fn is_amount(value: &Value) -> bool {
    let is_usd = |value: &Value| matches!(value, Value::Usd(_));
    is_usd(value) || matches!(value, Value::Change(value) if is_usd(value))
}

fn rows_of(price: &Price) -> Vec<Row> {
    let row =
        |applies: &str, rates| Row { price: price.clone(), applies: applies.to_owned(), until: None, rates };
    let long = |tier: Tier| row(&format!("> {}", tier.above_prompt_tokens), tier.rates);
    let surcharge = |tier: Tier| Row { until: Some(LAST_SURCHARGE_VERSION), ..long(tier) };
    let standard = row("standard", price.standard);
    let fast = price.fast.map(|rates| row("fast", rates));
    [Some(standard), fast, price.long.map(long), price.surcharge.map(surcharge)]
        .into_iter()
        .flatten()
        .collect()
}
