//! Quantities with units: money, tokens, points in time and durations.
//!
//! All of them are integers, so a sum does not depend on the order in which threads add it up.

pub mod calendar;
mod price;
mod pricing;
mod spread;
mod version;

use std::{
    fmt,
    iter::Sum,
    ops::{Add, AddAssign},
};

pub(crate) use price::MIN_SURCHARGED_PROMPT;
pub use price::{
    LAST_SURCHARGE_VERSION, Price, Prices, Rates, Terms, Tier, canonical, has_long_prompt_surcharge,
};
pub use pricing::PricingError;
pub use spread::Spread;
pub use version::Version;

/// Adds `amount` to `sum` if there is one. A sum without any amount stays `None`: missing is not zero.
pub(crate) fn add<T: AddAssign + Default>(sum: &mut Option<T>, amount: impl Into<Option<T>>) {
    if let Some(amount) = amount.into() {
        *sum.get_or_insert_default() += amount;
    }
}

/// Makes a type that adds up usable with `+` and `sum`.
macro_rules! sums {
    ($($type:ident)*) => {$(
        impl Add for $type {
            type Output = Self;

            fn add(mut self, other: Self) -> Self {
                self += other;
                self
            }
        }

        impl Sum for $type {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self::default(), Self::add)
            }
        }
    )*};
}

sums! { Usd Tokens Millis }

/// US dollars in whole nano-dollars.
///
/// 128 bits, so that no log, whatever its numbers, can make a sum overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i128);

impl Usd {
    /// Zero dollars. An unknown amount is `None`, not this.
    pub const ZERO: Self = Self(0);

    /// Converts from whole nano-dollars.
    pub const fn from_nanos(nanos: i128) -> Self {
        Self(nanos)
    }

    /// Converts from dollars as a log writes them, rounded to the nearest nano-dollar.
    pub fn from_dollars(dollars: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the decoder refuses numbers of 1e18 and more")]
        Self((dollars * 1e9).round_ties_even() as i128)
    }

    /// The amount in whole nano-dollars.
    pub const fn nanos(self) -> i128 {
        self.0
    }

    /// Subtracts `other`; the result is never below zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }
}

/// Writes dollars with up to nine decimals, without trailing zeros: `0.007968`, `12`, `0`.
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

/// Token counts, one for each rate of the price table, and the number of web searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tokens {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input: u64,
    /// Tokens that the model wrote, thinking included.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Prompt tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Web searches that the API ran; charged by the search, not by the token.
    pub web_searches: u64,
}

impl Tokens {
    /// Returns the length of the whole prompt, cached or not. It decides the long-prompt tier.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    /// Returns the tokens that were written to the cache, for any time.
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Returns the fields in declaration order.
    pub fn fields(&self) -> [u64; 6] {
        let Self { input, output, cache_read, cache_write_5m, cache_write_1h, web_searches } = *self;
        [input, output, cache_read, cache_write_5m, cache_write_1h, web_searches]
    }

    /// The inverse of [`fields`](Self::fields).
    pub fn from_fields(fields: [u64; 6]) -> Self {
        let [input, output, cache_read, cache_write_5m, cache_write_1h, web_searches] = fields;
        Self { input, output, cache_read, cache_write_5m, cache_write_1h, web_searches }
    }

    /// Combines each field with the same field of `other`.
    #[must_use]
    pub fn zip_with(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
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

/// The decoder refuses counts of 1e18 and more, so only a sum of absurd counts can saturate.
impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = self.zip_with(other, u64::saturating_add);
    }
}

/// A duration, shown in milliseconds and stored in whole microseconds because some versions of the CLI write
/// fractions of a millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(i64);

impl Millis {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);

    /// Converts from whole milliseconds.
    pub const fn new(millis: i64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// Converts from milliseconds as a log writes them, rounded to the nearest microsecond.
    pub fn from_f64(millis: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, as it should here")]
        Self((millis * 1000.0).round() as i64)
    }

    /// Returns the duration in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "only for display, and 2^53 microseconds are 285 years")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Returns the duration in whole microseconds.
    pub(crate) fn micros(self) -> i64 {
        self.0
    }

    /// Subtracts `other`; the result is never below zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
}

/// Writes milliseconds with up to three decimals, without trailing zeros.
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

/// A point in time, in microseconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Later than every timestamp in a log.
    pub(crate) const NEVER: Self = Self(i64::MAX);

    /// Parses an ISO 8601 timestamp. Without an offset it is taken as UTC.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_usual(text.as_bytes()).or_else(|| Self::parse_any(text))
    }

    /// Parses the form that every version of the CLI writes, `2026-11-15T23:42:40.014Z`. Much faster than
    /// the general parser; `None` leaves the text to it.
    fn parse_usual(text: &[u8]) -> Option<Self> {
        const SHAPE: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
        let text: &[u8; 24] = text.try_into().ok()?;
        let fits = |(&byte, &wanted): (&u8, &u8)| byte == wanted || wanted == b'0' && byte.is_ascii_digit();
        // No early exit, so that the compiler can vectorize the comparison.
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
            return None; // leap seconds and the upper limit of dates are left to the general parser
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

    /// Returns the microseconds since 1970.
    pub(crate) fn micros(self) -> i64 {
        self.0
    }

    /// Converts from microseconds since 1970.
    pub(crate) fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Adds a duration; saturates.
    #[must_use]
    pub fn plus(self, duration: Millis) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// Returns the time passed since `earlier`, in whole milliseconds; zero if `earlier` is in fact later.
    pub fn since(self, earlier: Self) -> Millis {
        let micros = self.0.saturating_sub(earlier.0).max(0);
        Millis::new((micros + 500) / 1000)
    }
}

/// Returns the number of days of a month; `None` unless `month` is 1 to 12.
fn days_in(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    })
}

/// Returns the days since 1970-01-01 in the Gregorian calendar.
///
/// This is Howard Hinnant's algorithm: years start on the first of March and are grouped into eras of 400
/// years, which all have the same number of days.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Writes RFC 3339 in UTC with milliseconds, as logs do.
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
    fn dollars_are_shown_without_trailing_zeros() {
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

    /// When days after the 28th went to the general parser, it took 4 % of all instructions on transcripts.
    #[test]
    fn the_fast_parser_accepts_exactly_the_days_that_exist() {
        for year in [0, 1900, 1970, 2000, 2023, 2024, 2100, 9999] {
            for (month, day) in (0..=13).flat_map(|month| (0..=32).map(move |day| (month, day))) {
                let text = format!("{year:04}-{month:02}-{day:02}T12:34:56.789Z");
                let (usual, any) = (Time::parse_usual(text.as_bytes()), Time::parse_any(&text));
                assert_eq!(usual, any.filter(|_| year < 9999), "{text}");
            }
        }
    }

    #[test]
    fn unusual_timestamps_are_parsed_and_invalid_ones_are_none() {
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
