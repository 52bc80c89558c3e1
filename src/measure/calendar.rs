//! Days, weeks, months and hours in a time zone, and parsing of times and durations that people type.

mod period;
mod span;

use std::{ops::Range, time::Duration};

use jiff::{
    SignedDuration, Span, Timestamp, ToSpan, Zoned,
    civil::{DateTime, Weekday},
    tz::TimeZone,
};

use period::Period;
pub use period::{TIMES, each_day, each_month};

use super::Time;

/// A time zone, UTC by default. It decides where days, weeks and months begin.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Zone {
    /// Returns the time zone of this machine, or the one in `TZ`.
    pub fn system() -> Self {
        Self(TimeZone::system())
    }

    /// Returns the time zone of this machine if `TZ` is not set. The same as [`system`](Self::system), but does not look for its
    /// name, for which all zones are listed.
    #[cfg(feature = "cli")]
    pub fn of_machine() -> Self {
        let file = std::fs::read("/etc/localtime").ok();
        let zone = file.and_then(|bytes| TimeZone::tzif("local", &bytes).ok());
        zone.map_or_else(Self::system, Self)
    }

    /// The zone with this name, or that of the system without one.
    pub fn named_or_system(name: Option<&str>) -> Result<Self, String> {
        name.map_or_else(|| Ok(Self::system()), Self::named)
    }

    /// Returns the zone with a name such as `Europe/Berlin` or `UTC`, an offset such as `+02:00`, or `local`.
    pub fn named(name: &str) -> Result<Self, String> {
        if name.eq_ignore_ascii_case("local") {
            return Ok(Self::system());
        }
        let by_offset = || {
            let zoned = format!("2000-01-01T00:00:00{name}");
            let offset = jiff::fmt::temporal::Pieces::parse(&zoned).ok()?.to_numeric_offset()?;
            Some(TimeZone::fixed(offset))
        };
        let zone = TimeZone::get(name).ok().or_else(by_offset);
        zone.map(Self).ok_or_else(|| {
            format!("unknown time zone `{name}`: use a name such as `Europe/Berlin`, an offset such as `+02:00`, `UTC` or `local`")
        })
    }

    fn zoned(&self, time: Time) -> Option<Zoned> {
        Timestamp::from_microsecond(time.micros()).ok().map(|moment| moment.to_zoned(self.0.clone()))
    }

    /// Formats the day: `2026-11-15`.
    pub fn day(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.date().to_string())
    }

    /// Formats the Monday on which the week began: `2026-11-09`.
    pub fn week(&self, time: Time) -> Option<String> {
        let date = self.zoned(time)?.date();
        let since = date.weekday().since(Weekday::Monday);
        Some(date.checked_sub(i64::from(since).days()).ok()?.to_string())
    }

    /// Formats the month: `2026-11`.
    pub fn month(&self, time: Time) -> Option<String> {
        let date = self.zoned(time)?.date();
        Some(format!("{:04}-{:02}", date.year(), date.month()))
    }

    /// Formats the hour: `2026-10-25T02:00+02:00`. With the offset, because an hour occurs twice when clocks
    /// are set back.
    pub fn hour(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%Y-%m-%dT%H:00%:z").to_string())
    }

    /// Returns the times around this one that have the same day and the same UTC offset, and so the same week
    /// and month. Empty before 1970.
    pub fn same_day(&self, time: Time) -> Range<Time> {
        self.same(time, SignedDuration::from_hours(24))
    }

    /// Returns the times around this one that have the same hour and the same UTC offset. Empty before 1970.
    pub fn same_hour(&self, time: Time) -> Range<Time> {
        self.same(time, SignedDuration::from_hours(1))
    }

    /// Returns the period of this length that the time is in, counted from midnight, as far as no clock
    /// changes in it.
    fn same(&self, time: Time, length: SignedDuration) -> Range<Time> {
        let micros = time.micros();
        // Before 1970 jiff rounds parts of a second up, so a range would not be exact.
        let Some(timestamp) = Timestamp::from_microsecond(micros).ok().filter(|_| micros >= 0) else {
            return time..time;
        };
        let (offset, length) =
            (i64::from(self.0.to_offset(timestamp).seconds()) * 1_000_000, length.as_micros() as i64);
        let start = (micros + offset).div_euclid(length) * length - offset;
        let Range { mut start, mut end } = start..start + length;
        // A change at this very time applies to it already.
        let after = timestamp.checked_add(SignedDuration::from_secs(1)).unwrap_or(timestamp);
        let mut earlier = self.0.preceding(after).map(|change| change.timestamp());
        if let Some(change) = earlier.find(|change| *change <= timestamp) {
            start = start.max(change.as_microsecond());
        }
        let mut later = self.0.following(timestamp).map(|change| change.timestamp());
        if let Some(change) = later.find(|change| *change > timestamp) {
            end = end.min(change.as_microsecond());
        }
        Time::from_micros(start)..Time::from_micros(end)
    }

    /// Formats day and minute: `2026-11-15 23:42`.
    pub fn minute(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%Y-%m-%d %H:%M").to_string())
    }

    /// Formats day and second: `2026-11-15 23:42:07`.
    pub fn second(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }

    /// Returns the weekday, from 0 for Monday, and the hour.
    pub fn weekday_and_hour(&self, time: Time) -> Option<(usize, usize)> {
        let zoned = self.zoned(time)?;
        let day = usize::try_from(zoned.weekday().to_monday_zero_offset()).ok()?;
        Some((day, usize::try_from(zoned.hour()).ok()?))
    }

    /// Formats the time of day: `23:42:07`.
    pub fn clock(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%H:%M:%S").to_string())
    }

    /// Parses a time in one of the forms of [`TIMES`].
    ///
    /// A period such as a day or a month means its start, or, if `is_end`, the start of the next period.
    pub fn parse_time(&self, text: &str, now: Time, is_end: bool) -> Result<Time, String> {
        let wrong = || {
            format!(
                "not a time: `{text}`: use a date such as `2026-11-15`, a period such as `2026-11`, `june`, `monday` or `last month`, a time such as `2026-11-15T08:00`, or how long ago such as `7d` or `2 weeks ago`; --help lists all forms"
            )
        };
        let now = self.zoned(now).ok_or_else(wrong)?;
        let lower = text.trim().to_ascii_lowercase();
        if lower == "now" {
            return Ok(time_of(&now));
        }
        if let Some(Period { first, end }) = Period::parse(&lower, now.date()) {
            let day = if is_end { end } else { first };
            return day.to_zoned(self.0.clone()).map(|start| time_of(&start)).map_err(|_| wrong());
        }
        if let Ok(timestamp) = text.trim().parse::<Timestamp>() {
            return Ok(Time::from_micros(timestamp.as_microsecond()));
        }
        if let Ok(local) = text.trim().parse::<DateTime>() {
            return local.to_zoned(self.0.clone()).map(|zoned| time_of(&zoned)).map_err(|_| wrong());
        }
        let ago = parse_ago(&lower).ok_or_else(wrong)?;
        now.checked_sub(ago).map(|zoned| time_of(&zoned)).map_err(|_| wrong())
    }
}

/// Returns the current time. Reports never call this: arguments relative to now are resolved once, before any
/// log is read.
pub fn now() -> Time {
    Time::from_micros(Timestamp::now().as_microsecond())
}

fn time_of(zoned: &Zoned) -> Time {
    Time::from_micros(zoned.timestamp().as_microsecond())
}

/// Parses how long ago: `7d`, `12h`, `2 weeks ago`, `1 month`.
fn parse_ago(text: &str) -> Option<Span> {
    let text = text.strip_suffix("ago").unwrap_or(text).trim();
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let count: i64 = text[..digits].parse().ok()?;
    let span = Span::new();
    match text[digits..].trim() {
        "s" | "sec" | "second" | "seconds" => span.try_seconds(count),
        "m" | "min" | "minute" | "minutes" => span.try_minutes(count),
        "h" | "hour" | "hours" => span.try_hours(count),
        "d" | "day" | "days" => span.try_days(count),
        "w" | "week" | "weeks" => span.try_weeks(count),
        "mo" | "month" | "months" => span.try_months(count),
        "y" | "year" | "years" => span.try_years(count),
        _ => return None,
    }
    .ok()
}

/// Parses a duration: `90s`, `10m`, `1h30m`, `1h 30m`, or a number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("not a duration: `{text}`: use one such as `90s`, `10m` or `1h30m`");
    if let Ok(seconds) = text.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
    }
    let duration: SignedDuration = text.trim().parse().map_err(|_| wrong())?;
    Duration::try_from(duration).map_err(|_| wrong())
}

/// Returns the starts of the five-hour windows in which subscriptions count usage, given the times of all
/// responses.
///
/// A window starts at the full hour of its first response. The first response after its end starts the next
/// one.
pub fn window_starts(mut times: Vec<Time>) -> Vec<Time> {
    times.sort_unstable();
    let mut starts: Vec<Time> = Vec::new();
    for time in times {
        if starts.last().is_none_or(|&start| time.micros() >= start.micros() + WINDOW.as_micros() as i64) {
            let timestamp = Timestamp::from_microsecond(time.micros()).unwrap_or(Timestamp::UNIX_EPOCH);
            let hour = timestamp.as_second().div_euclid(3600) * 3600;
            starts.push(Time::from_micros(hour.saturating_mul(1_000_000)));
        }
    }
    starts
}

/// Length of a window.
const WINDOW: SignedDuration = SignedDuration::from_hours(5);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(text: &str) -> Time {
        Time::parse(text).expect("a time")
    }

    #[test]
    fn days_weeks_and_months_depend_on_the_time_zone() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        let late = time("2026-11-15T23:42:40.014Z");
        assert_eq!(Zone::default().day(late).as_deref(), Some("2026-11-15"));
        assert_eq!(berlin.day(late).as_deref(), Some("2026-11-16"));
        assert_eq!(berlin.week(late).as_deref(), Some("2026-11-16"));
        assert_eq!(Zone::default().week(late).as_deref(), Some("2026-11-09"));
        assert_eq!(berlin.month(late).as_deref(), Some("2026-11"));
        assert_eq!(
            Zone::named("-01:30").expect("an offset").hour(late).as_deref(),
            Some("2026-11-15T22:00-01:30")
        );
        assert!(Zone::named("Mars/Olympus").is_err());
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_zone_of_the_machine_needs_no_name() {
        let (machine, system) = (Zone::of_machine(), Zone::system());
        for text in
            ["2026-01-15T23:42:40Z", "2026-07-15T23:42:40Z", "2027-03-28T01:30:00Z", "2060-11-01T12:00:00Z"]
        {
            assert_eq!(machine.hour(time(text)), system.hour(time(text)), "{text}");
        }
    }

    /// Zones with odd offsets and odd changes of clocks: St. John's set clocks back from 00:01 to 23:01 of
    /// the day before, Lord Howe changes by half an hour, Apia left out a day, Santiago skips midnight.
    const ODD_ZONES: [&str; 8] = [
        "UTC",
        "Europe/Berlin",
        "America/St_Johns",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "America/Santiago",
        "Asia/Kathmandu",
        "-01:30",
    ];

    proptest! {
        #[test]
        fn times_of_one_range_have_the_same_names(
            zone in proptest::sample::select(&ODD_ZONES[..]),
            second in -100_000_000i64..4_000_000_000,
            nudge in -90_000i64..90_000,
            part in 0.0..1.0f64,
        ) {
            let zone = Zone::named(zone).expect("a zone");
            // Half of the times are near a change of clocks.
            let timestamp = Timestamp::from_second(second).expect("in range");
            let change = zone.0.following(timestamp).next().filter(|_| second % 2 == 0);
            let base = change.map_or(timestamp, |change| change.timestamp());
            for micros in [base.as_microsecond(), base.as_microsecond() + nudge * 1_000_000] {
                let time = Time::from_micros(micros);
                for (range, name) in [
                    (zone.same_day(time), Zone::day as fn(&Zone, Time) -> Option<String>),
                    (zone.same_day(time), Zone::week),
                    (zone.same_day(time), Zone::month),
                    (zone.same_hour(time), Zone::hour),
                ] {
                    prop_assert!(range.contains(&time) || micros < 0, "{range:?} {time:?}");
                    if range.is_empty() {
                        continue;
                    }
                    let length = range.end.micros() - range.start.micros();
                    let within = Time::from_micros(range.start.micros() + (length as f64 * part) as i64);
                    let last = Time::from_micros(range.end.micros() - 1);
                    for other in [range.start, within, last] {
                        prop_assert_eq!(name(&zone, other), name(&zone, time));
                    }
                }
            }
        }
    }

    #[test]
    fn an_hour_that_occurs_twice_has_two_names() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        let hours = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"].map(|text| berlin.hour(time(text)));
        assert_eq!(hours[0].as_deref(), Some("2026-10-25T02:00+02:00"));
        assert_eq!(hours[1].as_deref(), Some("2026-10-25T02:00+01:00"));
    }

    #[test]
    fn times_are_parsed_in_every_form() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        let now = time("2026-11-16T09:00:00Z");
        let since = |text| berlin.parse_time(text, now, false).map(|time| time.to_string());
        let until = |text| berlin.parse_time(text, now, true).map(|time| time.to_string());
        let is = |text: &str| Ok(text.to_owned());
        assert_eq!(since("2026-11-15"), is("2026-11-14T23:00:00.000Z"));
        assert_eq!(until("2026-11-15"), is("2026-11-15T23:00:00.000Z"));
        assert_eq!(since("20261115"), since("2026-11-15"));
        assert_eq!(since("2026-11-15T08:00"), is("2026-11-15T07:00:00.000Z"));
        assert_eq!(since("2026-11-15 08:00:30"), is("2026-11-15T07:00:30.000Z"));
        assert_eq!(since("2026-11-15T08:00:00Z"), is("2026-11-15T08:00:00.000Z"));
        assert_eq!(since("7d"), is("2026-11-09T09:00:00.000Z"));
        assert_eq!(since("2 weeks ago"), is("2026-11-02T09:00:00.000Z"));
        assert_eq!(since("12h"), is("2026-11-15T21:00:00.000Z"));
        assert_eq!(
            since("1 month"),
            is("2026-10-16T08:00:00.000Z"),
            "the same hour of the day, in summer time"
        );
        assert_eq!(since("yesterday"), since("2026-11-15"));
        for wrong in ["", "soon", "7x", "2026-13-01", "d", "99999999999999999999d", "-3d"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }

    /// Parses a text as start and as end of a period, and formats both as local times with their offsets.
    fn period(zone: &Zone, text: &str, now: &str) -> (String, String) {
        let parse =
            |is_end| zone.parse_time(text, time(now), is_end).unwrap_or_else(|error| panic!("{error}"));
        let local = |time: Time| zone.zoned(time).unwrap().strftime("%Y-%m-%dT%H:%M%:z").to_string();
        (local(parse(false)), local(parse(true)))
    }

    #[track_caller]
    fn assert_days(zone: &Zone, now: &str, expected: &[(&str, &str, &str)]) {
        for (text, first, end) in expected {
            let (since, until) = period(zone, text, now);
            assert_eq!((&since[..10], &until[..10]), (*first, *end), "{text} at {now}");
            assert_eq!((&since[10..16], &until[10..16]), ("T00:00", "T00:00"), "{text} at {now}");
        }
    }

    #[test]
    fn a_period_ends_at_the_start_of_the_next_one() {
        let utc = Zone::default();
        // A Wednesday.
        assert_days(
            &utc,
            "2026-07-15T12:00:00Z",
            &[
                ("2026-06", "2026-06-01", "2026-07-01"),
                ("2026-12", "2026-12-01", "2027-01-01"),
                ("2024-02", "2024-02-01", "2024-03-01"),
                ("2026", "2026-01-01", "2027-01-01"),
                ("2026-06-30", "2026-06-30", "2026-07-01"),
                ("today", "2026-07-15", "2026-07-16"),
                ("yesterday", "2026-07-14", "2026-07-15"),
                ("this week", "2026-07-13", "2026-07-20"),
                ("last week", "2026-07-06", "2026-07-13"),
                ("this month", "2026-07-01", "2026-08-01"),
                ("last month", "2026-06-01", "2026-07-01"),
                ("Last-Month", "2026-06-01", "2026-07-01"),
                ("this year", "2026-01-01", "2027-01-01"),
                ("last year", "2025-01-01", "2026-01-01"),
                ("wednesday", "2026-07-15", "2026-07-16"),
                ("monday", "2026-07-13", "2026-07-14"),
                ("Thu", "2026-07-09", "2026-07-10"),
                ("july", "2026-07-01", "2026-08-01"),
                ("june", "2026-06-01", "2026-07-01"),
                ("aug", "2025-08-01", "2025-09-01"),
                ("june 2024", "2024-06-01", "2024-07-01"),
            ],
        );
    }

    #[test]
    fn periods_may_cross_the_end_of_a_year() {
        let utc = Zone::default();
        // A Friday.
        assert_days(
            &utc,
            "2027-01-01T00:00:00Z",
            &[
                ("yesterday", "2026-12-31", "2027-01-01"),
                ("this week", "2026-12-28", "2027-01-04"),
                ("last week", "2026-12-21", "2026-12-28"),
                ("last month", "2026-12-01", "2027-01-01"),
                ("this month", "2027-01-01", "2027-02-01"),
                ("last year", "2026-01-01", "2027-01-01"),
                ("december", "2026-12-01", "2027-01-01"),
                ("january", "2027-01-01", "2027-02-01"),
                ("february", "2026-02-01", "2026-03-01"),
                ("monday", "2026-12-28", "2026-12-29"),
                ("saturday", "2026-12-26", "2026-12-27"),
            ],
        );
        // In Berlin 2027 begins an hour earlier than in UTC.
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_days(&utc, "2026-12-31T23:30:00Z", &[("last month", "2026-11-01", "2026-12-01")]);
        assert_days(&berlin, "2026-12-31T23:30:00Z", &[("last month", "2026-12-01", "2027-01-01")]);
    }

    #[test]
    fn both_ends_of_a_period_have_their_own_offset_when_clocks_change_in_it() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let both = |text, now| period(&berlin, text, now);
        let pair = |since: &str, until: &str| (since.to_owned(), until.to_owned());
        // Clocks are set forward on 2026-03-29 and back on 2026-10-25, both Sundays.
        let march = pair("2026-03-01T00:00+01:00", "2026-04-01T00:00+02:00");
        assert_eq!(both("2026-03", "2026-07-15T12:00:00Z"), march);
        assert_eq!(both("last month", "2026-04-30T12:00:00Z"), march);
        let october = pair("2026-10-01T00:00+02:00", "2026-11-01T00:00+01:00");
        assert_eq!(both("october", "2026-11-15T12:00:00Z"), october);
        let monday = "2026-10-26T10:00:00Z";
        assert_eq!(both("last week", monday), pair("2026-10-19T00:00+02:00", "2026-10-26T00:00+01:00"));
        assert_eq!(both("yesterday", monday), pair("2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"));
        // In Santiago clocks went forward at midnight: 2024-09-08 began at one o'clock.
        let santiago = Zone::named("America/Santiago").unwrap();
        let sunday = period(&santiago, "sunday", "2024-09-09T12:00:00Z");
        assert_eq!(sunday, pair("2024-09-08T01:00-03:00", "2024-09-09T00:00-03:00"));
    }

    #[test]
    fn every_form_in_the_help_is_parsed() {
        let now = time("2026-11-16T09:00:00Z");
        for form in TIMES.iter().flat_map(|(forms, _)| forms.split(", ")) {
            let parse = |is_end| {
                Zone::default().parse_time(form, now, is_end).unwrap_or_else(|error| panic!("{error}"))
            };
            assert!(parse(false) <= parse(true), "{form}");
        }
    }

    #[test]
    fn words_that_are_not_a_period_are_an_error() {
        let now = time("2026-11-16T09:00:00Z");
        for wrong in
            ["last", "this", "last monday ago", "ju", "mo", "june june", "june 26", "20x6", "-", "last day"]
        {
            assert!(Zone::default().parse_time(wrong, now, true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_window_starts_at_a_full_hour_and_lasts_five() {
        let times =
            ["2026-11-15T10:50:00Z", "2026-11-15T14:59:00Z", "2026-11-15T15:00:00Z", "2026-11-15T23:10:00Z"];
        let starts: Vec<String> =
            window_starts(times.map(time).to_vec()).iter().map(ToString::to_string).collect();
        assert_eq!(
            starts,
            ["2026-11-15T10:00:00.000Z", "2026-11-15T15:00:00.000Z", "2026-11-15T23:00:00.000Z"]
        );
    }
}
