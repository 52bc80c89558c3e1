//! Spans of time that are compared: a period that people name, and the one before it.

use std::ops::Range;

use jiff::{ToSpan, Zoned, civil::Time as Clock};

use super::{Time, Zone, time_of};

/// Most days that are listed one by one: more than ten years.
const MAX_DAYS: usize = 4000;

impl Zone {
    /// Parses a period such as `last month` or `2026-11`. A time, or how long ago, means from then until now.
    pub fn parse_period(&self, text: &str, now: Time) -> Result<Range<Time>, String> {
        let (start, end) = (self.parse_time(text, now, false)?, self.parse_time(text, now, true)?);
        let end = if start == end { now } else { end };
        if start < end { Ok(start..end) } else { Err(format!("not a period: `{text}` is now or later")) }
    }

    /// Returns the period before: as many months if it consists of whole months, else as many days, else as long.
    pub fn period_before(&self, period: &Range<Time>) -> Range<Time> {
        let calendar = || self.start_of_period_before(&self.zoned(period.start)?, &self.zoned(period.end)?);
        let as_long = period.start.micros().saturating_sub(period.end.micros() - period.start.micros());
        calendar().unwrap_or(Time::from_micros(as_long))..period.start
    }

    fn start_of_period_before(&self, start: &Zoned, end: &Zoned) -> Option<Time> {
        let midnight = Clock::midnight();
        if start.time() != midnight || end.time() != midnight {
            return None;
        }
        let (first, last) = (start.date(), end.date());
        let months = |date: jiff::civil::Date| i64::from(date.year()) * 12 + i64::from(date.month());
        let span = if first.day() == 1 && last.day() == 1 {
            (months(last) - months(first)).months()
        } else {
            first.until(last).ok()?
        };
        let before = first.checked_sub(span).ok()?;
        before.to_zoned(self.0.clone()).ok().map(|zoned| time_of(&zoned))
    }

    /// Returns the names of the days of a period, the newest 4000 of them.
    pub fn days(&self, period: &Range<Time>) -> Vec<String> {
        let last = Time::from_micros(period.end.micros() - 1).max(period.start);
        let Some((first, last)) = self.zoned(period.start).zip(self.zoned(last)) else { return Vec::new() };
        let first = first.date();
        let back = std::iter::successors(Some(last.date()), |day| day.yesterday().ok());
        let mut days: Vec<String> =
            back.take_while(|day| *day >= first).take(MAX_DAYS).map(|day| day.to_string()).collect();
        days.reverse();
        days
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> Zone {
        Zone::named("Europe/Berlin").expect("a zone")
    }

    fn now() -> Time {
        Time::parse("2026-11-18T09:00:00Z").expect("a time")
    }

    fn shown(period: &Range<Time>) -> [Option<String>; 2] {
        [zone().minute(period.start), zone().minute(period.end)]
    }

    #[test]
    fn a_period_and_the_one_before_it_have_whole_months_or_days() {
        for (text, period, before) in [
            ("last month", ["2026-10-01 00:00", "2026-11-01 00:00"], "2026-09-01 00:00"),
            ("this-week", ["2026-11-16 00:00", "2026-11-23 00:00"], "2026-11-09 00:00"),
            ("2026", ["2026-01-01 00:00", "2027-01-01 00:00"], "2025-01-01 00:00"),
            // The clocks were set back on 25 October: a day of 25 hours.
            ("2026-10-26", ["2026-10-26 00:00", "2026-10-27 00:00"], "2026-10-25 00:00"),
            ("7d", ["2026-11-11 10:00", "2026-11-18 10:00"], "2026-11-04 10:00"),
        ] {
            let found = zone().parse_period(text, now()).expect(text);
            assert_eq!(shown(&found), period.map(|text| Some(text.to_owned())), "{text}");
            let expected = [Some(before.to_owned()), Some(period[0].to_owned())];
            assert_eq!(shown(&zone().period_before(&found)), expected, "{text}");
        }
        assert!(zone().parse_period("now", now()).is_err());
    }

    #[test]
    fn the_days_of_a_period_are_all_named() {
        let days = zone().days(&zone().parse_period("2026-02", now()).expect("a month"));
        assert_eq!((days.len(), &*days[0], &*days[27]), (28, "2026-02-01", "2026-02-28"));
    }
}
