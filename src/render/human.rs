//! Formats values for people.

pub use super::foreign::text;
use crate::{
    measure::{Millis, Time, Usd},
    report::{Line, Part, Tone, Value},
};

/// Placeholder for unknown values.
pub const MISSING: &str = "–";

/// The mark of a tone, with a space; empty if the tone is neutral.
pub(super) fn mark(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✓ ",
        Tone::Warning => "! ",
        Tone::Bad => "✗ ",
        Tone::Running => "… ",
        Tone::Plain => "",
    }
}

/// Formats a line.
pub fn words(line: &Line) -> String {
    let word = |part: &Part| match part {
        Part::Word(word) => (*word).to_owned(),
        Part::Value(value) => self::value(value),
        Part::FollowUp(command) => text(&command.to_string()).into_owned(),
        Part::Choice(choice) => choice.words().to_owned(),
        Part::Verbatim(verbatim) => text(verbatim).into_owned(),
    };
    line.parts.iter().map(word).collect()
}

/// Formats a value.
pub fn value(value: &Value) -> String {
    match value {
        Value::Missing => MISSING.to_owned(),
        Value::Text(words) => text(words).into_owned(),
        Value::Count(count) => grouped(*count),
        Value::Bytes(bytes) => self::bytes(*bytes),
        Value::Number(number) => self::number(*number),
        Value::Usd(amount) => usd(*amount),
        Value::Millis(duration) => millis(*duration),
        Value::Time(time) => self::time(*time),
        Value::Local(_, local) => local.to_string(),
        Value::Share(share) => format!("{:.1} %", share * 100.0),
        Value::Change(amount) => change(amount),
        Value::Bar(from, to) => bar(*from, *to, BAR),
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::List(values) => values.iter().map(self::value).collect::<Vec<_>>().join(", "),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, one)| format!("{} {}", text(key), self::value(one)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Formats a difference with its sign; zero has none.
fn change(amount: &Value) -> String {
    let shown = value(amount);
    let is_signed = shown.starts_with('-') || !shown.contains(|digit| matches!(digit, '1'..='9'));
    if is_signed { shown } else { format!("+{shown}") }
}

/// Formats a value for narrow columns: large counts are abbreviated, such as `1.2M`.
pub fn short_value(value: &Value) -> String {
    match value {
        Value::Count(count) if *count >= 100_000 => scaled_count(*count),
        Value::Number(number) if *number >= 100_000.0 => short_value(&Value::Count(whole(*number))),
        Value::Number(number) if *number <= -100_000.0 => {
            format!("-{}", short_value(&Value::Number(-number)))
        }
        Value::Change(amount) => match &**amount {
            Value::Number(number) if *number >= 100_000.0 => format!("+{}", short_value(amount)),
            Value::Number(number) if *number <= -100_000.0 => short_value(amount),
            _ => self::value(value),
        },
        other => self::value(other),
    }
}

/// A count of at least 1000 as `1.2k` or `1.2M`.
pub(super) fn scaled_count(count: u64) -> String {
    scaled(count, &["k", "M", "G", "T", "P", "E"], "")
}

/// `2026-11-15 23:42`, in UTC.
fn time(time: Time) -> String {
    let whole = time.to_string();
    let (day, hour) = whole.split_once('T').unwrap_or((&whole, ""));
    format!("{day} {}", hour.get(..5).unwrap_or(hour))
}

/// Width of a bar in characters, where there is room.
pub const BAR: usize = 20;

/// `   ███      `: a bar from `from` to `to`, at least one character wide.
pub fn bar(from: f64, to: f64, width: usize) -> String {
    let (from, to) = (part_of(from, width).min(width - 1), part_of(to, width));
    " ".repeat(from) + &"█".repeat(to.saturating_sub(from).max(1))
}

/// `██▌`: a bar for an amount, exact to an eighth of a character.
#[cfg(feature = "cli")]
pub(super) fn amount_bar(share: f64, width: usize) -> String {
    let eighths = part_of(share, width * 8).max(1);
    "█".repeat(eighths / 8) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a few characters")]
fn part_of(share: f64, whole: usize) -> usize {
    (share.clamp(0.0, 1.0) * whole as f64) as usize
}

fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,234`, `-3`, `2.33`: two decimals below 100, none above.
fn number(number: f64) -> String {
    let size = number.abs();
    let decimals = if size < 100.0 { 2 } else { 0 };
    let written = column_number(number, decimals);
    if written.contains('.') {
        written.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        written
    }
}

/// The decimals of a column of numbers: none if all are whole, fewer if one is large.
#[cfg(feature = "cli")]
pub(super) fn number_decimals(mut numbers: impl Iterator<Item = f64> + Clone) -> usize {
    let largest = numbers.clone().map(f64::abs).fold(0.0, f64::max);
    match () {
        () if numbers.all(|number| number.fract() == 0.0) => 0,
        () if largest < 10.0 => 2,
        () => 1,
    }
}

/// A number with this many decimals.
pub(super) fn column_number(number: f64, decimals: usize) -> String {
    let written = format!("{:.decimals$}", number.abs());
    let (digits, part) = written.split_once('.').unwrap_or((&written, ""));
    let digits = digits.parse().map_or_else(|_| digits.to_owned(), grouped);
    let sign = if number < 0.0 && written.contains(|digit| matches!(digit, '1'..='9')) { "-" } else { "" };
    format!("{sign}{digits}{}{part}", if part.is_empty() { "" } else { "." })
}

/// Rounds a non-negative number to a count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Dollars with at least two decimals, more for small amounts.
fn usd(amount: Usd) -> String {
    if amount == Usd::ZERO {
        return "$0".to_owned();
    }
    let text = usd_with(amount, decimals_for(amount));
    let (dollars, part) = text.split_once('.').unwrap_or((&text, ""));
    let (cents, finer) = part.split_at(2);
    format!("{dollars}.{cents}{}", finer.trim_end_matches('0'))
}

/// The decimals that show an amount with some precision.
fn decimals_for(amount: Usd) -> u32 {
    match amount.nanos().unsigned_abs() {
        1..1_000 => 9,
        1_000..10_000_000 => 6,
        10_000_000..1_000_000_000 => 4,
        _ => 2,
    }
}

/// Dollars with this many decimals, at least two.
fn usd_with(amount: Usd, decimals: u32) -> String {
    let nanos = amount.nanos();
    let unit = 10u128.pow(9 - decimals);
    let rounded = (nanos.unsigned_abs() + unit / 2) / unit;
    let (whole, part) = (rounded / 10u128.pow(decimals), rounded % 10u128.pow(decimals));
    let sign = if nanos < 0 && rounded > 0 { "-" } else { "" };
    let whole = u64::try_from(whole).map_or_else(|_| whole.to_string(), grouped);
    format!("{sign}${whole}.{part:0width$}", width = decimals as usize)
}

/// The decimals of a column of amounts: those of the largest, fewer if all are exact with fewer, and up to three if that
/// makes all of them exact, as prices must be.
#[cfg(feature = "cli")]
pub(super) fn column_decimals(amounts: impl Iterator<Item = Usd> + Clone) -> u32 {
    let exact =
        |amount: Usd| (2..=9).find(|&decimals| amount.nanos() % 10i128.pow(9 - decimals) == 0).unwrap_or(9);
    let needed = amounts.clone().map(exact).max().unwrap_or(2);
    let largest = amounts.max_by_key(|amount| amount.nanos().unsigned_abs()).unwrap_or_default();
    if needed <= 3 { needed } else { needed.min(decimals_for(largest)) }
}

/// An amount in a column with this many decimals; `<$0.01` if it would be shown as zero but is more.
#[cfg(feature = "cli")]
pub fn column_usd(amount: Usd, decimals: u32) -> String {
    let least = Usd::from_nanos(10i128.pow(9 - decimals));
    if amount > Usd::ZERO && amount < least {
        return format!("<{}", usd_with(least, decimals));
    }
    usd_with(amount, decimals)
}

/// `409 ms`, `12.3 s`, `4m 05s`, `3h 07m`.
fn millis(duration: Millis) -> String {
    let millis = duration.as_f64();
    if duration < Millis::ZERO {
        return format!("-{}", self::millis(Millis::from_f64(-millis)));
    }
    if millis < 999.5 {
        return format!("{millis:.0} ms");
    }
    let seconds = millis / 1000.0;
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let seconds = whole(seconds);
    if seconds < 3600 {
        return format!("{}m {:02}s", seconds / 60, seconds % 60);
    }
    format!("{}h {:02}m", grouped(seconds / 3600), seconds % 3600 / 60)
}

/// `10.3 kB`, in powers of ten.
fn bytes(bytes: u64) -> String {
    if bytes < 1000 {
        format!("{bytes} B")
    } else {
        scaled(bytes, &["kB", "MB", "GB", "TB", "PB", "EB"], " ")
    }
}

/// A number of at least 1000 with one decimal and a unit prefix.
fn scaled(number: u64, units: &[&str], blank: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for showing, with one decimal")]
    let mut amount = number as f64 / 1000.0;
    let mut unit = 0;
    while amount >= 999.95 && unit + 1 < units.len() {
        amount /= 1000.0;
        unit += 1;
    }
    format!("{amount:.1}{blank}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_to_the_minute() {
        let moment = Time::parse("2026-11-15T23:42:40.014Z").unwrap();
        assert_eq!(value(&Value::Time(moment)), "2026-11-15 23:42");
    }

    #[test]
    fn numbers_carry_their_units() {
        let dollars = |amount| usd(Usd::from_dollars(amount));
        assert_eq!(
            ["$0.007968", "$0.0123", "$1.50", "$1,234.57", "$0", "-$0.50"],
            [0.007_968, 0.012_3, 1.5, 1234.567, 0.0, -0.5].map(dollars).each_ref().map(|text| &**text)
        );
        let shown = |amount| millis(Millis::new(amount));
        assert_eq!(
            ["409 ms", "1.0 s", "12.3 s", "1m 00s", "4m 05s", "3h 07m"],
            [409, 1000, 12_345, 59_960, 245_000, 11_220_000].map(shown).each_ref().map(|text| &**text)
        );
        assert_eq!(
            [bytes(999), bytes(10_276), bytes(999_999), bytes(5_000_000_000)],
            ["999 B", "10.3 kB", "1.0 MB", "5.0 GB"]
        );
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn amounts_of_a_column_have_the_decimals_of_the_largest() {
        let column = |amounts: &[f64]| {
            let amounts: Vec<Usd> = amounts.iter().copied().map(Usd::from_dollars).collect();
            let decimals = column_decimals(amounts.iter().copied());
            amounts.into_iter().map(|amount| column_usd(amount, decimals)).collect::<Vec<_>>()
        };
        assert_eq!(column(&[12.345_678, 0.5, 0.004_2, 0.0]), ["$12.35", "$0.50", "<$0.01", "$0.00"]);
        assert_eq!(column(&[0.066_4, 0.012, 0.000_01]), ["$0.0664", "$0.0120", "<$0.0001"]);
        assert_eq!(column(&[5.0, 0.625]), ["$5.000", "$0.625"], "prices are exact");
        assert_eq!(column(&[0.001_234, -0.5]), ["$0.0012", "-$0.5000"]);
    }

    #[test]
    fn a_bar_of_an_amount_ends_in_a_fraction() {
        assert_eq!([1.0, 0.5, 0.4, 0.000_1].map(|share| amount_bar(share, 4)), ["████", "██", "█▌", "▏"]);
        assert_eq!([bar(0.0, 0.5, 4), bar(0.0, 0.0, 4), bar(0.5, 0.5, 4)], ["██", "█", "  █"]);
    }

    #[test]
    fn changes_and_means_carry_sign_and_unit() {
        let change = |inner: Value| value(&Value::Change(Box::new(inner)));
        assert_eq!(
            ["+$0.12", "-$0.12", "$0", "+3", "-3", "0", "+2.33", "-1,234"],
            [
                change(Value::Usd(Usd::from_dollars(0.12))),
                change(Value::Usd(Usd::from_dollars(-0.12))),
                change(Value::Usd(Usd::ZERO)),
                change(Value::Number(3.0)),
                change(Value::Number(-3.0)),
                change(Value::Number(0.0)),
                change(Value::Number(7.0 / 3.0)),
                change(Value::Number(-1234.4)),
            ]
        );
        assert_eq!(
            ["+12.3 s", "-409 ms", "0 ms", "+50.5 %", "-0.1 %", "–"],
            [
                change(Value::Millis(Millis::new(12_345))),
                change(Value::Millis(Millis::new(-409))),
                change(Value::Millis(Millis::ZERO)),
                change(Value::Share(0.5051)),
                change(Value::Share(-0.0011)),
                change(Value::Missing),
            ]
        );
        let short = |number| short_value(&Value::Change(Box::new(Value::Number(number))));
        assert_eq!(["+1.2M", "-1.2M", "+999"], [short(1_234_567.0), short(-1_234_567.0), short(999.0)]);
    }
}
