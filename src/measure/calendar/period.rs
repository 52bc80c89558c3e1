//! Periods as people name them: a day, a week, a month or a year.

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

/// What `--since` and `--until` accept, with examples. The help prints this list.
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

/// Whole days: from the first up to, but not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) first: Date,
    pub(super) end: Date,
}

/// How long a period is.
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

    /// The first day of the period that contains a day. Weeks begin on Monday.
    fn first(self, day: Date) -> Option<Date> {
        match self {
            Self::Day => Some(day),
            Self::Week => day.checked_sub(i64::from(day.weekday().since(Weekday::Monday)).days()).ok(),
            Self::Month => Some(day.first_of_month()),
            Self::Year => Some(day.first_of_year()),
        }
    }

    /// The period that contains a day.
    fn around(self, day: Date) -> Option<Period> {
        let first = self.first(day)?;
        let long = match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        };
        Some(Period { first, end: first.checked_add(long).ok()? })
    }

    /// The period before the one that contains a day.
    fn before(self, day: Date) -> Option<Period> {
        self.around(self.first(day)?.yesterday().ok()?)
    }
}

impl Period {
    /// The period that a text in lower case names, seen from today.
    pub(super) fn parse(text: &str, today: Date) -> Option<Self> {
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            return numeric(text);
        }
        // `last-month` needs no quotes in a shell.
        let words: Vec<&str> = text.split([' ', '-', '_']).filter(|word| !word.is_empty()).collect();
        match words[..] {
            ["today"] => Length::Day.around(today),
            ["yesterday"] => Length::Day.before(today),
            ["this", length] => Length::named(length)?.around(today),
            ["last", length] => Length::named(length)?.before(today),
            [name] => weekday(name, today).or_else(|| month(name, today)),
            [name, year] => {
                let (month, year) = (position(&MONTHS, name)?, year_of(year)?);
                Length::Month.around(Date::new(year, month, 1).ok()?)
            }
            _ => None,
        }
    }
}

/// `2026-11-15`, `20261115` as other tools want it, `2026-11` or `2026`.
fn numeric(text: &str) -> Option<Period> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.len() {
        8 if digits => Length::Day.around(Date::strptime("%Y%m%d", text).ok()?),
        10 => Length::Day.around(text.parse().ok()?),
        7 => Length::Month.around(format!("{text}-01").parse().ok()?),
        4 => Length::Year.around(Date::new(year_of(text)?, 1, 1).ok()?),
        _ => None,
    }
}

fn year_of(text: &str) -> Option<i16> {
    let digits = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// The latest day with this name that has begun.
fn weekday(name: &str, today: Date) -> Option<Period> {
    let weekday = Weekday::from_monday_one_offset(position(&WEEKDAYS, name)?).ok()?;
    let ago = today.weekday().since(weekday);
    Length::Day.around(today.checked_sub(i64::from(ago).days()).ok()?)
}

/// The latest month with this name that has begun.
fn month(name: &str, today: Date) -> Option<Period> {
    let month = position(&MONTHS, name)?;
    let year = if month > today.month() { today.year() - 1 } else { today.year() };
    Length::Month.around(Date::new(year, month, 1).ok()?)
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

/// The position of a name in a list, from 1. Three letters are enough: `mon`, `sept`.
fn position(names: &[&str], name: &str) -> Option<i8> {
    let at = names.iter().position(|whole| name.len() >= 3 && whole.starts_with(name))?;
    i8::try_from(at + 1).ok()
}
