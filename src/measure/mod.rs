//! Words with units: money, tokens, moments and durations.
//!
//! All of them are integers, so that a sum does not depend on the order in which threads add it up.

pub mod calendar;
mod price;
mod pricing;
mod spread;
mod version;

use std::{fmt, iter::Sum, ops::AddAssign};

pub(crate) use price::SHORTEST_SURCHARGED;
pub use price::{LAST_SURCHARGE, Price, Prices, Rates, Terms, Tier, canonical, has_long_prompt_surcharge};
pub use pricing::PricingError;
pub use spread::Spread;
pub use version::Version;

/// Adds what is known to a sum that is missing until then: missing is not zero.
pub(crate) fn add<T: AddAssign + Default>(sum: &mut Option<T>, amount: impl Into<Option<T>>) {
    if let Some(amount) = amount.into() {
        *sum.get_or_insert_default() += amount;
    }
}

/// US dollars in whole nano-dollars.
///
/// Wide enough that no log, however strange its numbers, can make a sum wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i128);

impl Usd {
    /// Nothing, as an amount; a missing amount is `None`.
    pub const ZERO: Self = Self(0);

    /// An amount in whole nano-dollars.
    pub const fn from_nanos(nanos: i128) -> Self {
        Self(nanos)
    }

    /// The nearest amount to a number of dollars as a log writes it.
    pub fn from_dollars(dollars: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the decoder refuses numbers of 1e18 and more")]
        Self((dollars * 1e9).round_ties_even() as i128)
    }

    /// The amount in whole nano-dollars.
    pub const fn nanos(self) -> i128 {
        self.0
    }

    /// This amount less another, but never below zero.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }
}

/// Dollars with up to nine decimals and no more than are needed: `0.007968`, `12`, `0`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        if part == 0 {
            return write!(f, "{sign}{whole}");
        }
        let digits = format!("{part:09}");
        write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, |mut sum, amount| {
            sum += amount;
            sum
        })
    }
}

/// Tokens by the rate they are charged at, and the web searches that are charged beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tokens {
    /// Prompt tokens that came from no cache.
    pub input: u64,
    /// Tokens that the model wrote, thinking included.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Prompt tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Web searches on the server.
    pub web_searches: u64,
}

impl Tokens {
    /// Tokens of the whole prompt, cached or not: what decides the long-prompt tier.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    /// Its fields, in the order they are declared.
    pub fn fields(&self) -> [u64; 6] {
        let Self { input, output, cache_read, cache_write_5m, cache_write_1h, web_searches } = *self;
        [input, output, cache_read, cache_write_5m, cache_write_1h, web_searches]
    }

    /// From its fields, in the order they are declared.
    pub fn of_fields(fields: [u64; 6]) -> Self {
        let [input, output, cache_read, cache_write_5m, cache_write_1h, web_searches] = fields;
        Self { input, output, cache_read, cache_write_5m, cache_write_1h, web_searches }
    }

    /// Field by field, with the same field of another.
    #[must_use]
    pub fn with(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: f(self.input, other.input),
            output: f(self.output, other.output),
            cache_read: f(self.cache_read, other.cache_read),
            cache_write_5m: f(self.cache_write_5m, other.cache_write_5m),
            cache_write_1h: f(self.cache_write_1h, other.cache_write_1h),
            web_searches: f(self.web_searches, other.web_searches),
        }
    }
}

/// A single field stays below 1e18, so a sum saturates only where it has no meaning any more.
impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = self.with(other, u64::saturating_add);
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, tokens| {
            sum += tokens;
            sum
        })
    }
}

/// A duration in milliseconds, kept in whole microseconds because some versions write fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(i64);

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A number of whole milliseconds.
    pub const fn new(millis: i64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// The nearest duration to a number of milliseconds as a log writes it.
    pub fn from_number(millis: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float cast saturates, which is what is wanted"
        )]
        Self((millis * 1000.0).round() as i64)
    }

    /// Milliseconds as a number.
    #[expect(clippy::cast_precision_loss, reason = "for showing, where 2^53 microseconds are 285 years")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// The duration in whole microseconds.
    pub(crate) fn micros(self) -> i64 {
        self.0
    }

    /// This duration less another, but never below zero.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
}

/// Milliseconds with up to three decimals and no more than are needed.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Usd(i128::from(self.0) * 1_000_000).fmt(f)
    }
}

impl AddAssign for Millis {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sum for Millis {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// A moment, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Later than every moment that a log can name.
    pub(crate) const NEVER: Self = Self(i64::MAX);

    /// The moment that a timestamp names; without an offset it is taken as UTC.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_usual(text.as_bytes()).or_else(|| Self::parse_any(text))
    }

    /// `2026-11-15T23:42:40.014Z`, which is what every version writes, without the general parser.
    fn parse_usual(text: &[u8]) -> Option<Self> {
        const SHAPE: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
        let text: &[u8; 24] = text.try_into().ok()?;
        let fits = |(&byte, &wanted): (&u8, &u8)| byte == wanted || wanted == b'0' && byte.is_ascii_digit();
        // All are looked at, so that they can be looked at at once.
        if !text.iter().zip(SHAPE).map(fits).fold(true, |all, fits| all & fits) {
            return None;
        }
        let number = |at: usize, end: usize| {
            text[at..end].iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
        };
        let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
        let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
        let days = days_in(year, month).filter(|days| (1..=*days).contains(&day));
        if days.is_none() || hour > 23 || minute > 59 || second > 59 || year == 9999 {
            return None; // leap seconds and the end of time are for the general parser
        }
        let days = days_from_civil(year, month, day);
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        Some(Self(seconds * 1_000_000 + number(20, 23) * 1000))
    }

    fn parse_any(text: &str) -> Option<Self> {
        let zoned = text.parse::<jiff::Timestamp>();
        let moment = zoned.or_else(|_| {
            text.parse::<jiff::civil::DateTime>()?
                .to_zoned(jiff::tz::TimeZone::UTC)
                .map(|zoned| zoned.timestamp())
        });
        moment.ok().map(|moment| Self(moment.as_microsecond()))
    }

    /// The moment in whole microseconds since 1970.
    pub(crate) fn micros(self) -> i64 {
        self.0
    }

    /// The moment of that many microseconds since 1970.
    pub(crate) fn of_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The moment this much later.
    #[must_use]
    pub fn later(self, by: Millis) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// Time passed since an earlier moment, in whole milliseconds, and none if it is a later one.
    pub fn since(self, earlier: Self) -> Millis {
        let micros = self.0.saturating_sub(earlier.0).max(0);
        Millis::new((micros + 500) / 1000)
    }
}

/// How many days a month has; `None` if there is no such month.
fn days_in(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    })
}

/// Days since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years from the first of March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// RFC 3339 in UTC with milliseconds, as the logs write it.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment =
            jiff::Timestamp::from_millisecond(self.0.div_euclid(1000)).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{moment:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_shown_with_no_more_decimals_than_they_have() {
        let shown = |dollars| Usd::from_dollars(dollars).to_string();
        assert_eq!(shown(0.007968), "0.007968");
        assert_eq!(shown(12.0), "12");
        assert_eq!(shown(-0.5), "-0.5");
        assert_eq!(shown(0.000_000_001), "0.000000001");
    }

    #[test]
    fn the_usual_timestamp_and_the_general_parser_agree() {
        for text in [
            "2026-11-15T23:42:40.014Z",
            "2000-02-28T00:00:00.000Z",
            "1969-12-28T23:59:59.999Z",
            "2024-03-01T12:00:00.500Z",
        ] {
            assert_eq!(Time::parse_usual(text.as_bytes()), Time::parse_any(text), "{text}");
            assert_eq!(Time::parse(text).map(|time| time.to_string()).as_deref(), Some(text));
        }
    }

    /// For the days beyond the 28th the general parser took 4 % of all instructions on transcripts.
    #[test]
    fn every_day_of_every_month_is_usual_and_no_other_is() {
        for year in [0, 1900, 1970, 2000, 2023, 2024, 2100, 9999] {
            for (month, day) in (0..=13).flat_map(|month| (0..=32).map(move |day| (month, day))) {
                let text = format!("{year:04}-{month:02}-{day:02}T12:34:56.789Z");
                let (usual, any) = (Time::parse_usual(text.as_bytes()), Time::parse_any(&text));
                assert_eq!(usual, any.filter(|_| year < 9999), "{text}");
            }
        }
    }

    #[test]
    fn odd_timestamps_are_understood_or_missing() {
        assert_eq!(Time::parse("2024-02-29T00:00:00Z"), Time::parse("2024-02-29T01:00:00+01:00"));
        assert_eq!(Time::parse("2024-02-29T00:00:00"), Time::parse("2024-02-29T00:00:00.000Z"));
        assert_eq!(Time::parse("2026-02-30T00:00:00.000Z"), None);
        assert_eq!(Time::parse("yesterday"), None);
        assert_eq!(Time::parse("2026-11-15T23:42:4x.014Z"), None);
    }

    #[test]
    fn a_latency_is_never_negative() {
        let (early, late) = (Time(1_000_000), Time(1_083_500));
        assert_eq!(late.since(early), Millis::new(84));
        assert_eq!(early.since(late), Millis::ZERO);
    }
}
