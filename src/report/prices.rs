//! The prices in force.

use super::{Column, Data, Line, Report, Section, Table, Tone, Value};
use crate::measure::{Price, Prices, Rates, Usd};

const COLUMNS: &[Column<Row>] = &[
    Column {
        key: "model",
        head: "Model",
        doc: "Canonical name of the model.",
        value: |row| (&*row.price.model).into(),
    },
    Column {
        key: "applies",
        head: "Applies",
        doc: "To which responses: `standard`, `fast`, or `>` a number of prompt tokens.",
        value: |row| row.applies.clone().into(),
    },
    Column {
        key: "input",
        head: "Input",
        doc: "Dollars per million input tokens.",
        value: |row| per_million(row.rates.input),
    },
    Column {
        key: "output",
        head: "Output",
        doc: "Dollars per million output tokens.",
        value: |row| per_million(row.rates.output),
    },
    Column {
        key: "cache_read",
        head: "Cache read",
        doc: "Dollars per million tokens read from the cache.",
        value: |row| per_million(row.rates.cache_read),
    },
    Column {
        key: "cache_write_5m",
        head: "Write 5m",
        doc: "Dollars per million tokens written to the cache for five minutes.",
        value: |row| per_million(row.rates.cache_write_5m),
    },
    Column {
        key: "cache_write_1h",
        head: "Write 1h",
        doc: "Dollars per million tokens written to the cache for an hour.",
        value: |row| per_million(row.rates.cache_write_1h),
    },
    Column {
        key: "web_search",
        head: "Search",
        doc: "Dollars per web search.",
        value: |row| row.price.web_search.into(),
    },
    Column {
        key: "source",
        head: "Source",
        doc: "Where the price is from.",
        value: |row| (&*row.price.source).into(),
    },
];

/// How many columns a screen shows: searches cost the same everywhere, and sources are said below.
const ON_SCREEN: usize = 7;

struct Row {
    price: Price,
    applies: String,
    rates: Rates,
}

/// A rate of whole pico-dollars per token is the same number of dollars per million tokens, six digits up.
fn per_million(picos: u64) -> Value {
    Value::Usd(Usd::from_nanos(i128::from(picos) * 1000))
}

/// The report of the prices in force.
pub fn prices(prices: &Prices) -> Report {
    let rows: Vec<Row> = prices.rows().flat_map(rows_of).collect();
    let table = Table::of("Prices in US dollars per million tokens", COLUMNS, &rows);
    let mut shown = Table::of(table.title, &COLUMNS[..ON_SCREEN], &rows);
    shown.more = Some(
        Line::new(Tone::Plain)
            .word("web searches cost ")
            .value(Usd::from_nanos(10_000_000))
            .word(" each unless said otherwise"),
    );
    let mut sources: Vec<&str> = prices.rows().map(|price| &*price.source).collect();
    sources.sort_unstable();
    sources.dedup();
    let notes =
        sources.into_iter().map(|source| Line::new(Tone::Plain).word("prices: ").value(source)).collect();
    Report {
        name: "prices",
        data: Data::Rows(table),
        screen: vec![Section::Table(shown), Section::Notes(notes)],
    }
}

fn rows_of(price: &Price) -> Vec<Row> {
    let row = |applies: &str, rates| Row { price: price.clone(), applies: applies.to_owned(), rates };
    let long = |tier: crate::measure::Tier| row(&format!("> {}", tier.above_prompt_tokens), tier.rates);
    let standard = row("standard", price.standard);
    [Some(standard), price.fast.map(|rates| row("fast", rates)), price.long.map(long)]
        .into_iter()
        .flatten()
        .collect()
}
