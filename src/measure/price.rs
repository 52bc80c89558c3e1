//! The price table: what each model charges per token, and where each price comes from.

pub(super) mod decimal;
mod name;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

pub use self::name::canonical;

use self::decimal::scaled;
use super::{Tokens, Usd, Version};

/// Rates of one model, in whole pico-dollars per token.
///
/// One dollar per million tokens is 1,000,000 pico-dollars per token, so every published price is an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Prompt tokens written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Prompt tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
}

impl Rates {
    /// Returns the rates in declaration order.
    pub fn all(&self) -> [u64; 5] {
        let Self { input, output, cache_write_5m, cache_write_1h, cache_read } = *self;
        [input, output, cache_write_5m, cache_write_1h, cache_read]
    }

    /// Returns the price of the tokens in pico-dollars, without web searches.
    fn cost(&self, tokens: &Tokens) -> i128 {
        let Self { input, output, cache_write_5m, cache_write_1h, cache_read } = *self;
        let parts = [
            (tokens.input, input),
            (tokens.output, output),
            (tokens.cache_write_5m, cache_write_5m),
            (tokens.cache_write_1h, cache_write_1h),
            (tokens.cache_read, cache_read),
        ];
        parts.iter().map(|&(count, rate)| i128::from(count) * i128::from(rate)).sum()
    }
}

/// Properties of a response that decide its rates, apart from its model and the length of its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Terms {
    /// The response was computed in fast mode.
    pub fast: bool,
    /// The response was computed in the US. Its tokens cost a tenth more; web searches do not.
    pub us_inference: bool,
    /// The CLI that wrote the response surcharged long prompts; see [`has_long_prompt_surcharge`].
    pub surcharged: bool,
}

/// The last version of the CLI that surcharged long prompts, measured on every version from 2.1.50 to 2.1.81.
pub const LAST_SURCHARGE_VERSION: Version = Version::new(2, 1, 74);

/// The shortest prompt, in tokens, that those versions surcharge.
pub(crate) const MIN_SURCHARGED_PROMPT: u64 = 200_001;

/// Returns whether a version of the CLI charges prompts above 200,000 tokens at higher rates.
pub fn has_long_prompt_surcharge(version: Version) -> bool {
    version <= LAST_SURCHARGE_VERSION
}

/// Rates for long prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The longest prompt that the standard rates apply to.
    pub above_prompt_tokens: u64,
    /// Rates for all tokens of a response to a longer prompt.
    pub rates: Rates,
}

/// One row of the price table: all rates of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Canonical name of the model, or its name as a pricing file writes it.
    pub model: Cow<'static, str>,
    /// Rates at the usual speed.
    pub standard: Rates,
    /// Rates of fast mode, if the model has it.
    pub fast: Option<Rates>,
    /// Rates for long prompts at the usual speed, if they differ.
    pub long: Option<Tier>,
    /// Rates for long prompts in versions of the CLI up to [`LAST_SURCHARGE_VERSION`], if they differ.
    pub surcharge: Option<Tier>,
    /// Price of one web search.
    pub web_search: Usd,
    /// The origin of the row: a dated measurement, or the name of a pricing file.
    pub source: Cow<'static, str>,
}

impl Price {
    const fn measured(model: &'static str, standard: Rates) -> Self {
        Self::built_in(model, standard, "measured 2026-11-15 on CLI 2.1.325")
    }

    /// A row that cannot be measured: the CLI replaces the model by a newer one before it sends a request.
    const fn catalogued(model: &'static str, standard: Rates) -> Self {
        Self::built_in(model, standard, "read 2026-11-15 from the catalogue of CLI 2.1.325")
    }

    const fn built_in(model: &'static str, standard: Rates, source: &'static str) -> Self {
        let (model, source) = (Cow::Borrowed(model), Cow::Borrowed(source));
        Self { model, standard, fast: None, long: None, surcharge: None, web_search: WEB_SEARCH, source }
    }

    const fn fast(mut self, rates: Rates) -> Self {
        self.fast = Some(rates);
        self
    }

    const fn long(mut self, above_prompt_tokens: u64, rates: Rates) -> Self {
        self.long = Some(Tier { above_prompt_tokens, rates });
        self
    }

    /// Adds the surcharge of old versions: above 200,000 prompt tokens, twice the standard rates for the
    /// prompt and 1.5 times the rate for the output.
    const fn surcharged(mut self) -> Self {
        let Rates { input, output, cache_write_5m, cache_write_1h, cache_read } = self.standard;
        let rates = Rates {
            input: input * 2,
            output: output * 3 / 2,
            cache_write_5m: cache_write_5m * 2,
            cache_write_1h: cache_write_1h * 2,
            cache_read: cache_read * 2,
        };
        self.surcharge = Some(Tier { above_prompt_tokens: MIN_SURCHARGED_PROMPT - 1, rates });
        self
    }

    /// Returns the surcharge of old versions if it applies to a response to `prompt` tokens. Fast mode is
    /// never surcharged.
    pub fn surcharge(&self, prompt: u64, terms: Terms) -> Option<&Tier> {
        let applies = |tier: &&Tier| terms.surcharged && !terms.fast && prompt > tier.above_prompt_tokens;
        self.surcharge.as_ref().filter(applies)
    }

    /// Returns the rates of a response to a prompt of `prompt` tokens.
    ///
    /// Fast rates take precedence over the long-prompt tier. No known model has both.
    pub fn rates(&self, prompt: u64, terms: Terms) -> &Rates {
        if let Some(tier) = self.surcharge(prompt, terms) {
            return &tier.rates;
        }
        match (&self.fast, &self.long) {
            (Some(rates), _) if terms.fast => rates,
            (_, Some(tier)) if prompt > tier.above_prompt_tokens => &tier.rates,
            _ => &self.standard,
        }
    }

    /// Returns the cost of one response.
    ///
    /// Does not overflow: counts are below 2^64, and the rates of a pricing file below 2^40.
    pub(crate) fn cost(&self, tokens: &Tokens, terms: Terms) -> Usd {
        let geo_tenths = if terms.us_inference { 11 } else { 10 };
        let searches = i128::from(tokens.web_searches) * self.web_search.nanos();
        let tenths = self.rates(tokens.prompt(), terms).cost(tokens) * geo_tenths;
        Usd::from_nanos(searches + (tenths + 5_000).div_euclid(10_000))
    }
}

/// Price of one web search, the same for every measured model.
pub(super) const WEB_SEARCH: Usd = Usd::from_nanos(10_000_000);

/// Makes [`Rates`] of dollars per million tokens, as published: input, output, cache write 5m, 1h, cache
/// read.
macro_rules! usd {
    ($input:literal, $output:literal, $write_5m:literal, $write_1h:literal, $read:literal) => {
        Rates {
            input: per_million(stringify!($input)),
            output: per_million(stringify!($output)),
            cache_write_5m: per_million(stringify!($write_5m)),
            cache_write_1h: per_million(stringify!($write_1h)),
            cache_read: per_million(stringify!($read)),
        }
    };
}

/// Runs only at compile time, where a panic is a compile error.
const fn per_million(dollars: &str) -> u64 {
    match scaled(dollars, 6) {
        Some(pico) => pico,
        None => panic!("not a number of dollars"),
    }
}

/// The built-in price table, sorted by name. It has no older models because the CLI has no prices for them.
#[rustfmt::skip] // one row per line
const BUILT_IN: &[Price] = &[
    Price::measured("claude-3-5-haiku", usd!(0.8, 4, 1, 1.6, 0.08)),
    Price::measured("claude-3-5-sonnet", usd!(3, 15, 3.75, 6, 0.3)),
    Price::measured("claude-3-7-sonnet", usd!(3, 15, 3.75, 6, 0.3)),
    Price::measured("claude-fable-5", usd!(10, 50, 12.5, 20, 1)),
    Price::measured("claude-fable-5-1", usd!(10, 50, 12.5, 20, 0.25)),
    Price::measured("claude-fable-5-2", usd!(8, 40, 10, 16, 0.2)).fast(usd!(16, 80, 20, 32, 0.4)),
    Price::measured("claude-haiku-4-5", usd!(1, 5, 1.25, 2, 0.1)),
    Price::measured("claude-haiku-5-5", usd!(0.1, 0.5, 0.125, 0.2, 0.01)).long(100_000, usd!(0.5, 2.5, 0.625, 1, 0.05)),
    Price::measured("claude-mythos-5", usd!(10, 50, 12.5, 20, 1)),
    Price::measured("claude-mythos-5-1", usd!(10, 50, 12.5, 20, 0.25)),
    Price::measured("claude-mythos-5-2", usd!(8, 40, 10, 16, 0.2)).fast(usd!(16, 80, 20, 32, 0.4)),
    Price::catalogued("claude-opus-4-0", usd!(15, 75, 18.75, 30, 1.5)),
    Price::catalogued("claude-opus-4-1", usd!(15, 75, 18.75, 30, 1.5)),
    Price::measured("claude-opus-4-5", usd!(5, 25, 6.25, 10, 0.5)),
    Price::measured("claude-opus-4-6", usd!(5, 25, 6.25, 10, 0.5)).fast(usd!(30, 150, 37.5, 60, 3)).surcharged(),
    Price::measured("claude-opus-4-7", usd!(5, 25, 6.25, 10, 0.5)).fast(usd!(30, 150, 37.5, 60, 3)),
    Price::measured("claude-opus-4-8", usd!(5, 25, 6.25, 10, 0.5)).fast(usd!(10, 50, 12.5, 20, 1)),
    Price::measured("claude-opus-5", usd!(5, 25, 6.25, 10, 0.5)).fast(usd!(10, 50, 12.5, 20, 1)),
    Price::measured("claude-opus-5-5", usd!(4, 20, 5, 8, 0.2)).fast(usd!(8, 40, 10, 16, 0.4)),
    Price::measured("claude-sonnet-4-0", usd!(3, 15, 3.75, 6, 0.3)).surcharged(),
    Price::measured("claude-sonnet-4-5", usd!(3, 15, 3.75, 6, 0.3)).surcharged(),
    Price::measured("claude-sonnet-4-6", usd!(3, 15, 3.75, 6, 0.3)).surcharged(),
    Price::measured("claude-sonnet-5", usd!(2, 10, 2.5, 4, 0.2)),
    Price::measured("claude-sonnet-5-5", usd!(2, 10, 2.5, 4, 0.1)),
];

/// A price table: the built-in rows, and those of pricing files in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Sorted by name; names are unique.
    rows: Vec<Price>,
    /// Index of the row that prices each canonical name.
    canonical: BTreeMap<String, usize>,
}

impl Default for Prices {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Prices {
    /// Returns the prices that this version of ccstat was released with.
    pub fn built_in() -> Self {
        Self { rows: Vec::new(), canonical: BTreeMap::new() }.with_rows(BUILT_IN.to_vec())
    }

    /// Adds rows. They replace all rows with the same canonical names.
    pub(super) fn with_rows(self, newer: Vec<Price>) -> Self {
        let covered: BTreeSet<_> = newer.iter().map(|row| canonical(&row.model)).collect();
        let mut rows = self.rows;
        rows.retain(|row| !covered.contains(&canonical(&row.model)));
        rows.extend(newer);
        rows.sort_by(|a, b| a.model.cmp(&b.model));
        Self { canonical: by_canonical_name(&rows), rows }
    }

    /// Returns the row of a model: the one with its exact name, otherwise the one for its canonical name.
    pub fn find(&self, model: &str) -> Option<&Price> {
        let exact = self.rows.binary_search_by(|row| row.model.as_ref().cmp(model)).ok();
        let index = exact.or_else(|| self.canonical.get(canonical(model).as_ref()).copied())?;
        self.rows.get(index)
    }

    /// Returns the cost of one API response, rounded half up to a nano-dollar; `None` for a model without a
    /// price.
    ///
    /// A response in fast mode is charged at standard rates if the model has no fast rates.
    pub fn cost(&self, model: &str, tokens: &Tokens, terms: Terms) -> Option<Usd> {
        self.find(model).map(|price| price.cost(tokens, terms))
    }

    /// Returns all rows, sorted by model name.
    pub fn rows(&self) -> impl Iterator<Item = &Price> {
        self.rows.iter()
    }
}

/// Indexes the rows by canonical name. If several rows share one, the row with exactly that name wins,
/// otherwise the first.
fn by_canonical_name(rows: &[Price]) -> BTreeMap<String, usize> {
    let mut index = BTreeMap::new();
    for (position, row) in rows.iter().enumerate() {
        let name = canonical(&row.model);
        if name == row.model {
            index.insert(name.into_owned(), position);
        } else {
            index.entry(name.into_owned()).or_insert(position);
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(model: &str) -> Price {
        Prices::built_in().find(model).unwrap_or_else(|| panic!("{model} has a price")).clone()
    }

    fn pico_per_token(rates: &Rates) -> [u64; 5] {
        let Rates { input, output, cache_write_5m, cache_write_1h, cache_read } = *rates;
        [input, output, cache_write_5m, cache_write_1h, cache_read]
    }

    #[test]
    fn the_table_is_sorted_and_its_names_are_unique_and_canonical() {
        assert!(BUILT_IN.is_sorted_by(|a, b| a.model < b.model));
        for row in BUILT_IN {
            assert_eq!(canonical(&row.model), row.model);
        }
        assert!(Prices::default().rows().eq(BUILT_IN));
    }

    #[test]
    fn the_source_of_every_row_has_a_date() {
        for row in BUILT_IN {
            let dated = row.source.split(' ').any(|word| word.len() == 10 && word.starts_with("2026-"));
            assert!(dated, "{}: {}", row.model, row.source);
        }
    }

    #[test]
    fn rates_equal_those_in_the_protocol() {
        for (model, expected) in [
            ("claude-3-5-haiku", [800_000, 4_000_000, 1_000_000, 1_600_000, 80_000]),
            ("claude-haiku-4-5", [1_000_000, 5_000_000, 1_250_000, 2_000_000, 100_000]),
            ("claude-haiku-5-5", [100_000, 500_000, 125_000, 200_000, 10_000]),
            ("claude-3-7-sonnet", [3_000_000, 15_000_000, 3_750_000, 6_000_000, 300_000]),
            ("claude-sonnet-4-6", [3_000_000, 15_000_000, 3_750_000, 6_000_000, 300_000]),
            ("claude-sonnet-5", [2_000_000, 10_000_000, 2_500_000, 4_000_000, 200_000]),
            ("claude-sonnet-5-5", [2_000_000, 10_000_000, 2_500_000, 4_000_000, 100_000]),
            ("claude-opus-4-1", [15_000_000, 75_000_000, 18_750_000, 30_000_000, 1_500_000]),
            ("claude-opus-5", [5_000_000, 25_000_000, 6_250_000, 10_000_000, 500_000]),
            ("claude-opus-5-5", [4_000_000, 20_000_000, 5_000_000, 8_000_000, 200_000]),
            ("claude-fable-5", [10_000_000, 50_000_000, 12_500_000, 20_000_000, 1_000_000]),
            ("claude-mythos-5-1", [10_000_000, 50_000_000, 12_500_000, 20_000_000, 250_000]),
            ("claude-mythos-5-2", [8_000_000, 40_000_000, 10_000_000, 16_000_000, 200_000]),
        ] {
            assert_eq!(pico_per_token(&price(model).standard), expected, "{model}");
        }
    }

    #[test]
    fn the_models_of_the_protocol_have_fast_rates_and_long_tiers() {
        let fast: Vec<_> =
            BUILT_IN.iter().filter_map(|row| Some((row.model.as_ref(), row.fast?.input))).collect();
        let expected = [
            ("claude-fable-5-2", 16_000_000),
            ("claude-mythos-5-2", 16_000_000),
            ("claude-opus-4-6", 30_000_000),
            ("claude-opus-4-7", 30_000_000),
            ("claude-opus-4-8", 10_000_000),
            ("claude-opus-5", 10_000_000),
            ("claude-opus-5-5", 8_000_000),
        ];
        assert_eq!(fast, expected);
        let long: Vec<_> = BUILT_IN.iter().filter(|row| row.long.is_some()).map(|row| &row.model).collect();
        assert_eq!(long, ["claude-haiku-5-5"]);
    }

    #[test]
    fn models_without_a_price_in_the_cli_have_none_here() {
        for model in
            ["claude-mythos-preview", "claude-3-opus-20240229", "claude-3-haiku", "claude-unknown-9", ""]
        {
            assert_eq!(Prices::built_in().find(model), None, "{model}");
            assert_eq!(Prices::built_in().cost(model, &Tokens::default(), Terms::default()), None, "{model}");
        }
    }

    fn cost(model: &str, tokens: &Tokens, fast: bool, us_inference: bool) -> String {
        let terms = Terms { fast, us_inference, surcharged: false };
        Prices::built_in().cost(model, tokens, terms).expect("a price").to_string()
    }

    #[test]
    fn each_kind_of_token_has_its_own_rate() {
        let tokens = Tokens {
            input: 1,
            output: 10,
            cache_read: 100,
            cache_write_5m: 1_000,
            cache_write_1h: 10_000,
            web_searches: 2,
        };
        // 4 + 200 + 20 + 5,000 + 80,000 millionths, and two cents
        assert_eq!(cost("us.anthropic.claude-opus-5-5[1m]", &tokens, false, false), "0.105224");
        assert_eq!(cost("claude-opus-5-5", &tokens, true, false), "0.190448");
        assert_eq!(
            cost("claude-opus-5-5", &tokens, false, true),
            "0.1137464",
            "a tenth more, but not on searches"
        );
        let slow = cost("claude-opus-4-5", &tokens, false, false);
        assert_eq!(cost("claude-opus-4-5", &tokens, true, false), slow, "a model without fast rates");
    }

    #[test]
    fn a_long_prompt_starts_above_the_limit_and_counts_cached_tokens() {
        let prompt =
            |input| Tokens { input, cache_read: 50_000, cache_write_5m: 25_000, ..Tokens::default() };
        assert_eq!(cost("claude-haiku-5-5", &prompt(25_000), false, false), "0.006125");
        assert_eq!(cost("claude-haiku-5-5", &prompt(25_001), false, false), "0.0306255");
    }

    #[test]
    fn versions_up_to_2_1_74_surcharge_prompts_above_200_000_tokens() {
        let old = Terms { surcharged: true, ..Terms::default() };
        let per_million = |model: &str, prompt: u64, terms: Terms| {
            pico_per_token(price(model).rates(prompt, terms)).map(|picos| picos as f64 / 1e6)
        };
        let sonnet = [6.0, 22.5, 7.5, 12.0, 0.6];
        for (model, long) in [
            ("claude-sonnet-4-20250514", sonnet),
            ("claude-sonnet-4-5-20250929[1m]", sonnet),
            ("us.anthropic.claude-sonnet-4-6", sonnet),
            ("claude-opus-4-6", [10.0, 37.5, 12.5, 20.0, 1.0]),
        ] {
            let standard = per_million(model, 0, Terms::default());
            assert_eq!(per_million(model, 200_001, old), long, "{model}");
            assert_eq!(per_million(model, 200_000, old), standard, "{model}");
            assert_eq!(per_million(model, 200_001, Terms::default()), standard, "{model}");
        }
        let fast = Terms { fast: true, ..old };
        assert_eq!(per_million("claude-opus-4-6", 200_001, fast)[0], 30.0, "fast mode is not surcharged");
        assert_eq!(
            per_million("claude-sonnet-4-5", 200_001, fast)[0],
            3.0,
            "nor is a model without fast rates"
        );
        let surcharged = BUILT_IN.iter().filter(|row| row.surcharge.is_some()).count();
        assert_eq!(surcharged, 4, "no other model");
        assert!(has_long_prompt_surcharge(Version::new(0, 2, 9)));
        assert!(has_long_prompt_surcharge(Version::new(2, 1, 74)));
        assert!(!has_long_prompt_surcharge(Version::new(2, 1, 75)));
    }

    #[test]
    fn a_cost_is_rounded_half_up_and_only_once() {
        let prices = Prices::built_in();
        let nanos = |tokens, us_inference| {
            let terms = Terms { us_inference, ..Terms::default() };
            prices.cost("claude-haiku-5-5", &tokens, terms).expect("a price").nanos()
        };
        // a read token is 10 nano-dollars, a written one 125
        let tokens = Tokens { cache_read: 1, cache_write_5m: 1, ..Tokens::default() };
        assert_eq!(nanos(tokens, false), 135);
        assert_eq!(nanos(tokens, true), 149, "148.5");
        assert_eq!(nanos(Tokens { cache_write_5m: 3, ..Tokens::default() }, true), 413, "412.5");
        let most = Tokens::from_fields([u64::MAX; 6]);
        assert!(nanos(most, true) > 0, "no overflow");
    }
}
