//! Periods that people name: a day, a week, a month or a year.

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

/// The forms of time that `--since` and `--until` accept, each with its meaning. The help prints this list.
pub const TIMES: &[(&str, &str)] = &[
    ("2026-11-15", "a day (also 20261115)"),
    ("2026-11", "a month"),
    ("2026", "a year"),
    ("today, yesterday", "a day"),
    ("monday", "the latest Monday, perhaps today; any day"),
    ("june, june 2025", "the latest June that has begun; any month"),
    ("this week, last week", "Monday to Sunday; also month and year"),
    ("2026-11-15T08:00", "a time, perhaps with Z or an offset"),
    ("7d, 12h, 2 weeks ago", "before now, in s, m, h, d, w, mo or y"),
    ("now", "this moment"),
];

/// Maximum number of periods in a sequence: ten years of days.
const MAX_PERIODS: usize = 3660;

/// Returns every `step`th day from one to another, as [`Zone::day`](super::Zone::day) formats them. Empty if there are too many.
pub fn each_day(first: &str, last: &str, step: i64) -> Vec<String> {
    let (Ok(first), Ok(last)) = (first.parse::<Date>(), last.parse::<Date>()) else { return Vec::new() };
    let days = first.series(step.days()).take_while(|day| *day <= last).take(MAX_PERIODS + 1);
    let days: Vec<String> = days.map(|day| day.to_string()).collect();
    if days.len() > MAX_PERIODS { Vec::new() } else { days }
}

/// Returns every month from one to another, as [`Zone::month`](super::Zone::month) formats them. Empty if there are too
/// many.
pub fn each_month(first: &str, last: &str) -> Vec<String> {
    let day = |month: &str| format!("{month}-01").parse::<Date>();
    let (Ok(first), Ok(last)) = (day(first), day(last)) else { return Vec::new() };
    let months = first.series(1.months()).take_while(|day| *day <= last).take(MAX_PERIODS + 1);
    let months: Vec<String> = months.map(|day| format!("{:04}-{:02}", day.year(), day.month())).collect();
    if months.len() > MAX_PERIODS { Vec::new() } else { months }
}

/// Whole days, from `first` up to, but not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) first: Date,
    pub(super) end: Date,
}

#[derive(Clone, Copy)]
enum Length {
    Day,
    Week,
    Month,
    Year,
}

impl Length {
    fn named(name: &str) -> Option<Self> {
        match name {
            "week" => Some(Self::Week),
            "month" => Some(Self::Month),
            "year" => Some(Self::Year),
            _ => None,
        }
    }

    /// Returns the first day of the period that contains `day`. Weeks begin on Monday.
    fn first(self, day: Date) -> Option<Date> {
        match self {
            Self::Day => Some(day),
            Self::Week => day.checked_sub(i64::from(day.weekday().since(Weekday::Monday)).days()).ok(),
            Self::Month => Some(day.first_of_month()),
            Self::Year => Some(day.first_of_year()),
        }
    }

    /// Returns the period that contains `day`.
    fn containing(self, day: Date) -> Option<Period> {
        let first = self.first(day)?;
        let span = match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        };
        Some(Period { first, end: first.checked_add(span).ok()? })
    }

    /// Returns the period before the one that contains `day`.
    fn before(self, day: Date) -> Option<Period> {
        self.containing(self.first(day)?.yesterday().ok()?)
    }
}

impl Period {
    /// Parses a period in lower case, relative to `today`.
    pub(super) fn parse(text: &str, today: Date) -> Option<Self> {
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            return numeric(text);
        }
        // `last-month` needs no quotes in a shell.
        let words: Vec<&str> = text.split([' ', '-', '_']).filter(|word| !word.is_empty()).collect();
        match words[..] {
            ["today"] => Length::Day.containing(today),
            ["yesterday"] => Length::Day.before(today),
            ["this", length] => Length::named(length)?.containing(today),
            ["last", length] => Length::named(length)?.before(today),
            [name] => weekday(name, today).or_else(|| month(name, today)),
            [name, year] => {
                let (month, year) = (position(&MONTHS, name)?, year_of(year)?);
                Length::Month.containing(Date::new(year, month, 1).ok()?)
            }
            _ => None,
        }
    }
}

/// Parses `2026-11-15`, `20261115`, `2026-11` or `2026`.
fn numeric(text: &str) -> Option<Period> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.len() {
        8 if digits => Length::Day.containing(Date::strptime("%Y%m%d", text).ok()?),
        10 => Length::Day.containing(text.parse().ok()?),
        7 => Length::Month.containing(format!("{text}-01").parse().ok()?),
        4 => Length::Year.containing(Date::new(year_of(text)?, 1, 1).ok()?),
        _ => None,
    }
}

fn year_of(text: &str) -> Option<i16> {
    let digits = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Returns the latest day with this name that has begun.
fn weekday(name: &str, today: Date) -> Option<Period> {
    let weekday = Weekday::from_monday_one_offset(position(&WEEKDAYS, name)?).ok()?;
    let ago = today.weekday().since(weekday);
    Length::Day.containing(today.checked_sub(i64::from(ago).days()).ok()?)
}

/// Returns the latest month with this name that has begun.
fn month(name: &str, today: Date) -> Option<Period> {
    let month = position(&MONTHS, name)?;
    let year = if month > today.month() { today.year() - 1 } else { today.year() };
    Length::Month.containing(Date::new(year, month, 1).ok()?)
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Returns the position of a name in a list, counted from 1. Its first three letters are enough: `mon`,
/// `sept`.
fn position(names: &[&str], name: &str) -> Option<i8> {
    let index = names.iter().position(|whole| name.len() >= 3 && whole.starts_with(name))?;
    i8::try_from(index + 1).ok()
}
