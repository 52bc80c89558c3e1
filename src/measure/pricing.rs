//! Reads pricing files, with which users replace built-in prices.

mod section;

use std::borrow::Cow;

use self::section::{Section, Unit};
use super::{
    Usd,
    price::{Price, Prices, Rates, Tier, WEB_SEARCH, canonical},
};

/// Why a pricing file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PricingError {
    /// The text is not JSON.
    #[error("pricing file `{file}` is not valid JSON, correct it there: {source}")]
    Json {
        /// Name of the file.
        file: String,
        /// The syntax error, with line and column.
        source: serde_json::Error,
    },
    /// The file is empty, or has neither of the two forms.
    #[error(
        "pricing file `{file}` has no prices: write \
         `{{\"models\": {{\"claude-x\": {{\"input\": 4, \"output\": 20}}}}}}` with dollars per million tokens, \
         or use a `model_prices` file with `input_cost_per_token`"
    )]
    NoPrices {
        /// Name of the file.
        file: String,
    },
    /// A key that is not known in its object.
    #[error("pricing file `{file}`: unknown key `{key}`, did you mean `{nearest}`? (known: {known})")]
    UnknownKey {
        /// Name of the file.
        file: String,
        /// The key with its path.
        key: String,
        /// The known key with the most similar spelling.
        nearest: String,
        /// All known keys of the object.
        known: String,
    },
    /// A required key is missing.
    #[error("pricing file `{file}`: `{key}` is missing, add {must}")]
    Missing {
        /// Name of the file.
        file: String,
        /// The key with its path.
        key: String,
        /// Description of the required value.
        must: String,
    },
    /// A value of the wrong type, or a number out of range.
    #[error("pricing file `{file}`: `{key}` must be {must}, not `{value}`")]
    Value {
        /// Name of the file.
        file: String,
        /// The key with its path.
        key: String,
        /// Description of the required value.
        must: String,
        /// The value in the file, shortened.
        value: String,
    },
}

impl Prices {
    /// Adds the prices of a pricing file. They replace the prices of the same models.
    ///
    /// The text has one of two forms:
    ///
    /// * `{"models": {"claude-x": {"input": 4, "output": 20}}}` in dollars per million tokens, with optional
    ///   `cache_write_5m`, `cache_write_1h`, `cache_read`, `fast`, `long` (with `above`) and `web_search`;
    /// * the common `model_prices` map of names to objects with `input_cost_per_token` and so on, in dollars
    ///   per token. Entries that are not priced by token are skipped. The form has no fast rates.
    ///
    /// Omitted cache rates are 1.25 (5m), 2 (1h) and 0.1 (read) times the input rate, the factors that
    /// Anthropic publishes; an omitted web search costs 0.01. Rates are rounded to pico-dollars per token.
    ///
    /// A row replaces the whole previous row of its model, including the surcharge of old versions. It
    /// applies to its name as written and to all names with the same canonical form. Of several such rows,
    /// the one with the canonical name wins, otherwise the first by name.
    pub fn with_file(self, name: &str, text: &str) -> Result<Self, PricingError> {
        let rows = read_rows(&Section::parse(name, text)?)?;
        if rows.is_empty() {
            return Err(PricingError::NoPrices { file: name.to_owned() });
        }
        Ok(self.with_rows(rows))
    }
}

/// The key that distinguishes our own form from `model_prices`.
const MODELS: &str = "models";

fn read_rows(file: &Section<'_>) -> Result<Vec<Price>, PricingError> {
    let shared: Vec<_> = file.sections().filter(|(_, row)| row.has(SHARED_INPUT)).collect();
    // Report a misspelled `models` as such, not as a file without prices.
    if file.has(MODELS) || shared.is_empty() && file.nearly_has(MODELS) {
        return own_rows(file);
    }
    shared.iter().filter_map(|(model, row)| shared_price(model, row).transpose()).collect()
}

const OWN_RATES: [&str; 5] = ["input", "output", "cache_write_5m", "cache_write_1h", "cache_read"];

fn own_rows(file: &Section<'_>) -> Result<Vec<Price>, PricingError> {
    file.refuse_unknown_keys(&[], &[MODELS])?;
    let Some(models) = file.section(MODELS)? else { return Ok(Vec::new()) };
    let rows = models.names().map(|model| match models.section(model)? {
        Some(row) => own_price(model, &row).map(Some),
        None => Ok(None),
    });
    rows.filter_map(Result::transpose).collect()
}

fn own_price(model: &str, row: &Section<'_>) -> Result<Price, PricingError> {
    row.refuse_unknown_keys(&OWN_RATES, &["fast", "long", "web_search"])?;
    let standard = own_rates(row)?;
    let fast = row.section("fast")?.map(|fast| {
        fast.refuse_unknown_keys(&OWN_RATES, &[])?;
        own_rates(&fast)
    });
    let long = row.section("long")?.map(|long| {
        long.refuse_unknown_keys(&OWN_RATES, &["above"])?;
        let above_prompt_tokens = long.required("above", &Unit::TOKENS)?;
        Ok(Tier { above_prompt_tokens, rates: own_rates(&long)? })
    });
    let web_search = row.number("web_search", &Unit::PER_SEARCH)?;
    Ok(file_price(model, row, standard, fast.transpose()?, long.transpose()?, web_search))
}

fn own_rates(section: &Section<'_>) -> Result<Rates, PricingError> {
    let [input, output, write_5m, write_1h, read] = OWN_RATES;
    let rate = |key| section.number(key, &Unit::PER_MILLION);
    let (input, output) =
        (section.required(input, &Unit::PER_MILLION)?, section.required(output, &Unit::PER_MILLION)?);
    Ok(with_cache_rates(input, output, [rate(write_5m)?, rate(write_1h)?, rate(read)?]))
}

const SHARED_INPUT: &str = "input_cost_per_token";
const SHARED_OUTPUT: &str = "output_cost_per_token";
const SHARED_CACHE: [&str; 3] = [
    "cache_creation_input_token_cost",
    "cache_creation_input_token_cost_above_1hr",
    "cache_read_input_token_cost",
];

/// Suffix of the keys of the long-prompt tier, and the prompt length that it names.
const SHARED_LONG: (&str, u64) = ("_above_200k_tokens", 200_000);

/// Reads an entry of `model_prices`. `None` if it is not priced by input and output token (embeddings,
/// images), and for `sample_spec`, which documents the form.
fn shared_price(model: &str, row: &Section<'_>) -> Result<Option<Price>, PricingError> {
    if model == "sample_spec" || !row.has(SHARED_OUTPUT) && !canonical(model).starts_with("claude-") {
        return Ok(None);
    }
    let Some(standard) = shared_rates(row, "", None)? else { return Ok(None) };
    let (suffix, above_prompt_tokens) = SHARED_LONG;
    let long = shared_rates(row, suffix, Some(standard.output))?;
    let long = long.map(|rates| Tier { above_prompt_tokens, rates });
    let search = match row.section("search_context_cost_per_query")? {
        Some(sizes) => sizes.number("search_context_size_medium", &Unit::PER_SEARCH)?,
        None => None,
    };
    Ok(Some(file_price(model, row, standard, None, long, search)))
}

fn shared_rates(
    row: &Section<'_>,
    suffix: &str,
    default_output: Option<u64>,
) -> Result<Option<Rates>, PricingError> {
    let rate = |key: &str| row.number(&format!("{key}{suffix}"), &Unit::PER_TOKEN);
    let Some(input) = rate(SHARED_INPUT)? else { return Ok(None) };
    let output = match rate(SHARED_OUTPUT)?.or(default_output) {
        Some(output) => output,
        None => row.required(SHARED_OUTPUT, &Unit::PER_TOKEN)?,
    };
    let [write_5m, write_1h, read] = SHARED_CACHE;
    Ok(Some(with_cache_rates(input, output, [rate(write_5m)?, rate(write_1h)?, rate(read)?])))
}

fn with_cache_rates(input: u64, output: u64, cache: [Option<u64>; 3]) -> Rates {
    let percent = |factor: u64| (input * factor + 50) / 100;
    let [write_5m, write_1h, read] = cache;
    Rates {
        input,
        output,
        cache_write_5m: write_5m.unwrap_or_else(|| percent(125)),
        cache_write_1h: write_1h.unwrap_or_else(|| percent(200)),
        cache_read: read.unwrap_or_else(|| percent(10)),
    }
}

fn file_price(
    model: &str,
    row: &Section<'_>,
    standard: Rates,
    fast: Option<Rates>,
    long: Option<Tier>,
    web_search: Option<u64>,
) -> Price {
    let web_search = web_search.map_or(WEB_SEARCH, |nanos| Usd::from_nanos(nanos.into()));
    let (model, source) = (Cow::Owned(model.to_owned()), Cow::Owned(row.file().to_owned()));
    Price { model, standard, fast, long, surcharge: None, web_search, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(text: &str) -> Prices {
        Prices::built_in().with_file("p.json", text).expect("a pricing file")
    }

    fn error(text: &str) -> String {
        Prices::built_in().with_file("p.json", text).expect_err("no pricing file").to_string()
    }

    fn rates(input: u64, output: u64, cache_write_5m: u64, cache_write_1h: u64, cache_read: u64) -> Rates {
        Rates { input, output, cache_write_5m, cache_write_1h, cache_read }
    }

    #[test]
    fn our_form_sets_every_rate() {
        let prices = prices(
            r#"{"models": {"claude-opus-5-5": {
                "input": 1, "output": 2.5, "cache_write_5m": 3, "cache_write_1h": 4e0, "cache_read": 0.05,
                "fast": {"input": 10, "output": 20, "cache_read": 7},
                "long": {"above": 100000, "input": 100, "output": 200, "cache_write_5m": 0},
                "web_search": 0.02}}}"#,
        );
        let row = prices.find("claude-opus-5-5").expect("a price");
        assert_eq!(row.standard, rates(1_000_000, 2_500_000, 3_000_000, 4_000_000, 50_000));
        assert_eq!(row.fast, Some(rates(10_000_000, 20_000_000, 12_500_000, 20_000_000, 7_000_000)));
        let long = rates(100_000_000, 200_000_000, 0, 200_000_000, 10_000_000);
        assert_eq!(row.long, Some(Tier { above_prompt_tokens: 100_000, rates: long }));
        assert_eq!(row.web_search.to_string(), "0.02");
        assert_eq!(row.source, "p.json");
        assert_eq!(prices.rows().count(), Prices::built_in().rows().count());
    }

    #[test]
    fn cache_rates_and_searches_have_defaults_and_the_previous_row_is_replaced() {
        let prices = prices("\u{feff}{\"models\": {\"claude-opus-5-5\": {\"input\": 0.1, \"output\": 1}}}");
        let row = prices.find("claude-opus-5-5").expect("a price");
        assert_eq!(row.standard, rates(100_000, 1_000_000, 125_000, 200_000, 10_000));
        assert_eq!((row.fast, row.long, row.web_search), (None, None, WEB_SEARCH));
    }

    #[test]
    fn the_model_prices_form_is_read_without_rounding_errors() {
        let prices = prices(
            r#"{"sample_spec": {"input_cost_per_token": 0.0, "max_tokens": "LEGACY parameter"},
                "a note": "not a model",
                "dall-e": {"input_cost_per_image": 0.1},
                "text-embedding": {"input_cost_per_token": 2e-08, "mode": "embedding"},
                "gpt-x": {"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
                    "cache_creation_input_token_cost": null},
                "claude-sonnet-4-5": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
                    "cache_creation_input_token_cost": 3.75e-06,
                    "cache_creation_input_token_cost_above_1hr": 6e-06,
                    "cache_read_input_token_cost": 3e-07,
                    "input_cost_per_token_above_200k_tokens": 6e-06,
                    "output_cost_per_token_above_200k_tokens": 2.25e-05,
                    "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06,
                    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.3e-05,
                    "cache_read_input_token_cost_above_200k_tokens": 6e-07,
                    "search_context_cost_per_query": {"search_context_size_low": 1,
                        "search_context_size_medium": 0.03}, "supports_vision": true}}"#,
        );
        let row = prices.find("claude-sonnet-4-5-20250929").expect("a price");
        assert_eq!(row.standard, rates(3_000_000, 15_000_000, 3_750_000, 6_000_000, 300_000));
        let long = rates(6_000_000, 22_500_000, 7_500_000, 13_000_000, 600_000);
        assert_eq!(row.long, Some(Tier { above_prompt_tokens: 200_000, rates: long }));
        assert_eq!(row.web_search.to_string(), "0.03");
        let other = prices.find("gpt-x").expect("a price");
        assert_eq!(other.standard, rates(2_500_000, 10_000_000, 3_125_000, 5_000_000, 250_000));
        let skipped = ["sample_spec", "dall-e", "text-embedding", "a note"];
        assert!(skipped.iter().all(|model| prices.find(model).is_none()));
    }

    fn input_of(prices: &Prices, model: &str) -> u64 {
        prices.find(model).expect("a price").standard.input / 1_000_000
    }

    #[test]
    fn a_row_applies_to_its_name_and_to_all_names_with_its_canonical_form() {
        let prices = prices(
            r#"{"models": {
                "vertex/claude-opus-5@1": {"input": 33, "output": 1},
                "us.anthropic.claude-opus-5": {"input": 22, "output": 1},
                "US.anthropic.claude-sonnet-5": {"input": 44, "output": 1},
                "claude-sonnet-5": {"input": 55, "output": 1}}}"#,
        );
        assert_eq!(input_of(&prices, "claude-opus-5"), 22, "first by name, before the built-in row");
        assert_eq!(input_of(&prices, "vertex/claude-opus-5@1"), 33, "exact");
        assert_eq!(input_of(&prices, "claude-opus-5[1m]"), 22);
        assert_eq!(input_of(&prices, "US.anthropic.claude-sonnet-5"), 44, "exact");
        assert_eq!(input_of(&prices, "eu.anthropic.claude-sonnet-5"), 55, "the canonical name wins");
        assert_eq!(input_of(&prices, "claude-opus-5-5"), 4, "untouched");
        let later =
            prices.with_file("q.json", r#"{"models": {"claude-opus-5": {"input": 66, "output": 1}}}"#);
        assert_eq!(
            input_of(&later.expect("a pricing file"), "vertex/claude-opus-5@1"),
            66,
            "a later file replaces them all"
        );
    }

    #[test]
    fn an_error_about_a_value_names_its_path() {
        let model = |row: &str| error(&format!(r#"{{"models": {{"claude-x": {row}}}}}"#));
        let start = "pricing file `p.json`: `models.claude-x";
        let number = "must be a number of dollars per million tokens";
        let range = "between 0.0001 and 1000000, or 0";
        assert_eq!(model(r#"{"input": "4", "output": 1}"#), format!("{start}.input` {number}, not `\"4\"`"));
        for value in ["-4", "1e7", "0.000003"] {
            let message = model(&format!(r#"{{"input": 1, "output": {value}}}"#));
            assert_eq!(message, format!("{start}.output` {number} {range}, not `{value}`"));
        }
        assert_eq!(model("[4]"), format!("{start}` must be an object, not `[4]`"));
        let missing = model(r#"{"input": 4, "output": 1, "fast": {"input": 8}}"#);
        assert_eq!(
            missing,
            format!("{start}.fast.output` is missing, add a number of dollars per million tokens")
        );
        let long = model(r#"{"input": 4, "output": 1, "long": {"above": -1, "input": 8, "output": 1}}"#);
        assert!(long.starts_with(&format!("{start}.long.above` must be a number of tokens")), "{long}");
    }

    #[test]
    fn an_error_about_an_unknown_key_suggests_the_most_similar_one() {
        let message = error(r#"{"models": {"claude-x": {"input": 4, "output": 1, "cache_raed": 1}}}"#);
        let expected = "unknown key `models.claude-x.cache_raed`, did you mean `cache_read`?";
        assert!(message.contains(expected), "{message}");
        let message = error(r#"{"Model": {"claude-x": {"input": 4, "output": 1}}}"#);
        assert!(message.contains("unknown key `Model`, did you mean `models`?"), "{message}");
    }

    #[test]
    fn a_claude_model_needs_both_prices_in_the_model_prices_form() {
        let message = error(r#"{"claude-x": {"input_cost_per_token": 3e-06}}"#);
        let expected = "pricing file `p.json`: `claude-x.output_cost_per_token` is missing, \
                        add a number of dollars per token";
        assert_eq!(message, expected);
        let message = error(r#"{"claude-x": {"input_cost_per_token": 3, "output_cost_per_token": 15}}"#);
        assert!(
            message.contains("must be a number of dollars per token between 0 and 1, not `3`"),
            "{message}"
        );
    }

    #[test]
    fn a_file_that_is_not_a_pricing_file_is_an_error() {
        let message = error("{\n  \"models\": {,}\n}");
        assert!(message.starts_with("pricing file `p.json` is not valid JSON"), "{message}");
        assert!(message.ends_with("at line 2 column 14"), "{message}");
        for text in ["", " \n", "{}", "[]", "4", "null", r#"{"models": {}}"#, r#"{"claude-x": {"input": 4}}"#]
        {
            assert!(
                error(text).starts_with("pricing file `p.json` has no prices: write `{\"models\""),
                "{text}"
            );
        }
    }
}
