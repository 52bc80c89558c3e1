//! Compares the built-in price table with a `model_prices` file, and prints the rows that differ as a diff of
//! `src/measure/price.rs`. Run it as `scripts/prices`.
//!
//! Many providers sell the same model, some at other prices. A row counts if `litellm_provider` is
//! `anthropic`; for a model without such a row, one whose name has no provider in front; else any. The file
//! format has no fast rates, so those of the built-in row stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    process::ExitCode,
};

use ccstat::internal::measure::{Price, Prices, Rates, canonical};
use serde_json::Value;

const USAGE: &str = "usage: scripts/prices FILE [--date YYYY-MM-DD]";

/// The source of the table, to quote its rows.
const TABLE: &str = include_str!("../src/measure/price.rs");

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (file, date) = match *words {
        [file] if !file.starts_with('-') => (file, jiff::Zoned::now().date().to_string()),
        [file, "--date", date] | ["--date", date, file] => (file, date.to_owned()),
        _ => return complain(USAGE),
    };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return complain(&format!("cannot read `{file}`: {error}")),
    };
    match compare(file, &text, &date) {
        Ok(differences) => print(&differences),
        Err(message) => complain(&message),
    }
}

#[expect(clippy::print_stderr, reason = "a program's messages go there")]
fn complain(message: &str) -> ExitCode {
    eprintln!("prices: {message}");
    ExitCode::from(2)
}

/// Prints the differences. Like `diff`, the exit code is 1 if there are any.
#[expect(clippy::print_stdout, reason = "the differences are its output")]
fn print(differences: &Differences) -> ExitCode {
    let Differences { lines, missing, changed, added } = differences;
    for line in lines {
        println!("{line}");
    }
    println!("# {changed} changed, {added} new, {} only built in", missing.len());
    if !missing.is_empty() {
        println!("# only built in: {}", missing.join(", "));
    }
    ExitCode::from(u8::from(changed + added > 0))
}

/// The rows to review.
#[derive(Default)]
struct Differences {
    lines: Vec<String>,
    /// Models that the file lacks.
    missing: Vec<String>,
    changed: usize,
    added: usize,
}

fn compare(file: &str, text: &str, date: &str) -> Result<Differences, String> {
    let name = Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
    let source = format!("read {date} from {name}");
    let built_in = Prices::built_in();
    let offers = offers(file, text)?;
    let mut differences = Differences::default();
    let models: BTreeSet<&str> =
        built_in.rows().map(|row| &*row.model).chain(offers.keys().map(String::as_str)).collect();
    for model in models {
        let known = built_in.rows().find(|row| row.model == model);
        let Some(offered) = offers.get(model) else {
            differences.missing.push(model.to_owned());
            continue;
        };
        // Releases of one model may have different prices; each price is shown once.
        let mut shown: Vec<&Price> = Vec::new();
        for price in offered {
            if known.is_some_and(|known| same(known, price)) || shown.iter().any(|other| same(other, price)) {
                continue;
            }
            shown.push(price);
        }
        if shown.is_empty() {
            continue;
        }
        match known {
            Some(_) => differences.changed += 1,
            None => differences.added += 1,
        }
        differences.lines.extend(built_in_line(model).map(|line| format!("-{line}")));
        for price in shown {
            differences.lines.push(format!("# {}: `{}`", model.escape_debug(), price.model.escape_debug()));
            differences.lines.push(format!("+    {}", table_row(model, price, known, &source)));
        }
    }
    Ok(differences)
}

/// Returns the prices of each Claude model in the file, by canonical name, from the preferred provider.
fn offers(file: &str, text: &str) -> Result<BTreeMap<String, Vec<Price>>, String> {
    let entries: BTreeMap<String, Value> = serde_json::from_str(text)
        .map_err(|error| format!("`{file}` is not a `model_prices` file: {error}"))?;
    let prices = Prices::built_in().with_file(file, text).map_err(|error| error.to_string())?;
    let mut offers: BTreeMap<String, (Rank, Vec<Price>)> = BTreeMap::new();
    // The other rows are built-in ones that the file does not replace.
    for price in prices.rows().filter(|row| row.source == file) {
        let model = canonical(&price.model).into_owned();
        if !model.starts_with("claude-") {
            continue;
        }
        let rank = rank(price, entries.get(&*price.model));
        let (best, rows) = offers.entry(model).or_insert((rank, Vec::new()));
        if rank > *best {
            rows.clear();
            *best = rank;
        }
        if rank == *best {
            rows.push(price.clone());
        }
    }
    Ok(offers.into_iter().map(|(model, (_, rows))| (model, rows)).collect())
}

/// How much a row says about Anthropic's own price, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    OtherProvider,
    BareName,
    Anthropic,
}

fn rank(price: &Price, entry: Option<&Value>) -> Rank {
    let provider = entry.and_then(|entry| entry["litellm_provider"].as_str());
    match provider {
        Some("anthropic") => Rank::Anthropic,
        None if price.model.starts_with("claude-") => Rank::BareName,
        Some(_) | None => Rank::OtherProvider,
    }
}

/// Whether two rows have the same price, fast mode aside.
fn same(one: &Price, other: &Price) -> bool {
    let long = one.long == other.long || surcharges(one, other) || surcharges(other, one);
    one.standard == other.standard && long && one.web_search == other.web_search
}

/// Whether the rates for long prompts in one row are the surcharge of old versions in the other: price files
/// have no versions.
fn surcharges(one: &Price, other: &Price) -> bool {
    one.long.is_some_and(|long| other.surcharge.is_some_and(|surcharge| surcharge.rates == long.rates))
}

/// Returns the line of the table about a model.
fn built_in_line(model: &str) -> Option<&'static str> {
    TABLE
        .lines()
        .find(|line| line.trim_start().starts_with("Price::") && line.contains(&format!("(\"{model}\", ")))
}

/// Formats a line for the table.
fn table_row(model: &str, price: &Price, known: Option<&Price>, source: &str) -> String {
    let mut row = format!("Price::built_in({model:?}, {}, {source:?})", usd(&price.standard));
    if let Some(fast) = known.and_then(|known| known.fast) {
        row += &format!(".fast({})", usd(&fast));
    }
    if known.is_some_and(|known| known.surcharge.is_some()) {
        row += ".surcharged()";
    }
    if let Some(long) = price.long.as_ref().filter(|_| !known.is_some_and(|known| surcharges(price, known))) {
        row += &format!(".long({}, {})", grouped(long.above_prompt_tokens), usd(&long.rates));
    }
    row += ",";
    if known.is_some_and(|known| known.web_search != price.web_search) {
        row += &format!(" // a web search costs {}", price.web_search);
    }
    row
}

/// Formats dollars per million tokens as in the table.
fn usd(rates: &Rates) -> String {
    let dollars = rates.all().map(|pico| {
        let text = format!("{}.{:06}", pico / 1_000_000, pico % 1_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    });
    format!("usd!({})", dollars.join(", "))
}

/// Formats a number as `200_000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(text: &str) -> Differences {
        compare("pricing/p.json", text, "2026-11-18").expect("a file with prices")
    }

    #[test]
    fn rows_that_differ_are_lines_for_the_table() {
        let found = compared(include_str!("../testdata/pricing/model-prices.json"));
        let expected = [
            "# claude-nova-6: `anthropic/claude-nova-6-20261101`",
            r#"+    Price::built_in("claude-nova-6", usd!(7, 35, 8.75, 14, 0.7), "read 2026-11-18 from p.json"),"#,
            r#"-    Price::measured("claude-opus-5-5", usd!(4, 20, 5, 8, 0.2)).fast(usd!(8, 40, 10, 16, 0.4)),"#,
            "# claude-opus-5-5: `claude-opus-5-5`",
            r#"+    Price::built_in("claude-opus-5-5", usd!(3, 15, 3.75, 6, 0.15), "read 2026-11-18 from p.json").fast(usd!(8, 40, 10, 16, 0.4)),"#,
        ];
        assert_eq!(found.lines, expected);
        assert_eq!((found.changed, found.added), (1, 1));
        // Equal under the name of a release, under that of the only provider, and by the surcharge of old
        // versions.
        for model in ["claude-haiku-4-5", "claude-sonnet-5-5", "claude-sonnet-4-5"] {
            assert!(!found.missing.contains(&model.to_owned()), "{model}");
        }
        assert!(found.missing.contains(&"claude-opus-4-1".to_owned()));
    }

    #[test]
    fn rates_of_long_prompts_that_are_not_the_surcharge_differ() {
        let found = compared(
            r#"{"claude-sonnet-4-5": {"input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5,
                "input_cost_per_token_above_200k_tokens": 7e-6, "output_cost_per_token_above_200k_tokens": 2.25e-5}}"#,
        );
        let added = found.lines.iter().find(|line| line.starts_with('+')).expect("a row that differs");
        assert!(added.contains(".surcharged().long(200_000, usd!(7, 22.5, "), "{added}");
    }

    #[test]
    fn every_built_in_row_is_found_in_the_source() {
        for row in Prices::built_in().rows() {
            let line = built_in_line(&row.model).unwrap_or_else(|| panic!("{}", row.model));
            assert!(line.contains(&usd(&row.standard)), "{line}");
        }
    }

    #[test]
    fn releases_with_different_prices_are_all_shown_once() {
        let row = |name: &str, input: &str| {
            format!(r#""{name}": {{"input_cost_per_token": {input}, "output_cost_per_token": 1e-5}}"#)
        };
        let rows =
            [row("claude-z-20260101", "1e-6"), row("claude-z-20260202", "2e-6"), row("claude-z", "1e-6")];
        let found = compared(&format!("{{{}}}", rows.join(",")));
        assert_eq!(found.lines.iter().filter(|line| line.starts_with('+')).count(), 2, "{:?}", found.lines);
        assert_eq!(found.added, 1);
    }

    #[test]
    fn names_from_the_file_cannot_reach_a_terminal_raw() {
        let text = r#"{"claude-\u001b[2J\n": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5}}"#;
        let found = compared(text);
        assert!(found.lines.iter().all(|line| !line.contains(char::is_control)), "{:?}", found.lines);
    }

    #[test]
    fn a_file_without_prices_is_an_error() {
        for text in ["", "[]", "{}", r#"{"claude-x": {}}"#] {
            assert!(compare("p.json", text, "2026-11-18").is_err(), "{text}");
        }
    }
}
