//! Days, weeks, months and hours where the reader lives, and moments as people write them.

use jiff::{
    SignedDuration, Span, Timestamp, ToSpan, Zoned,
    civil::{Date, DateTime, Weekday},
    tz::TimeZone,
};

use super::Time;

/// A time zone: days are days there.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Zone {
    /// The zone of this machine, or what `TZ` says.
    pub fn system() -> Self {
        Self(TimeZone::system())
    }

    /// A zone by name, such as `Europe/Berlin` or `UTC`, or by offset, such as `+02:00`.
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

    /// `2026-11-15`.
    pub fn day(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.date().to_string())
    }

    /// The Monday on which its week began, `2026-11-09`.
    pub fn week(&self, time: Time) -> Option<String> {
        let date = self.zoned(time)?.date();
        let since = date.weekday().since(Weekday::Monday);
        Some(date.checked_sub(i64::from(since).days()).ok()?.to_string())
    }

    /// `2026-11`.
    pub fn month(&self, time: Time) -> Option<String> {
        let date = self.zoned(time)?.date();
        Some(format!("{:04}-{:02}", date.year(), date.month()))
    }

    /// `2026-10-25T02:00+02:00`: with the offset, since an hour comes twice when clocks are set back.
    pub fn hour(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%Y-%m-%dT%H:00%:z").to_string())
    }

    /// `2026-11-15 23:42`.
    pub fn minute(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%Y-%m-%d %H:%M").to_string())
    }

    /// `23:42:07`.
    pub fn clock(&self, time: Time) -> Option<String> {
        Some(self.zoned(time)?.strftime("%H:%M:%S").to_string())
    }

    /// The moment that people mean by a text: a date, a time, or how long ago. A date means its first moment, or the
    /// first moment after it where an end is meant.
    pub fn moment(&self, text: &str, now: Time, is_end: bool) -> Result<Time, String> {
        let wrong = || {
            format!(
                "not a time: `{text}`: use a date such as `2026-11-15`, a time such as `2026-11-15T08:00`, or how long ago such as `7d`, `12h` or `2 weeks ago`"
            )
        };
        let now = self.zoned(now).ok_or_else(wrong)?;
        let lower = text.trim().to_ascii_lowercase();
        let day = match &*lower {
            "now" => return Ok(of(&now)),
            "today" => Some(now.date()),
            "yesterday" => now.date().yesterday().ok(),
            _ => date(&lower),
        };
        if let Some(day) = day {
            let day = if is_end { day.tomorrow().map_err(|_| wrong())? } else { day };
            return day.to_zoned(self.0.clone()).map(|start| of(&start)).map_err(|_| wrong());
        }
        if let Ok(moment) = text.trim().parse::<Timestamp>() {
            return Ok(Time::of_micros(moment.as_microsecond()));
        }
        if let Ok(local) = text.trim().parse::<DateTime>() {
            return local.to_zoned(self.0.clone()).map(|moment| of(&moment)).map_err(|_| wrong());
        }
        let ago = ago(&lower).ok_or_else(wrong)?;
        now.checked_sub(ago).map(|moment| of(&moment)).map_err(|_| wrong())
    }
}

/// Now. Reports never ask; what is relative to now is resolved once, before anything is read.
pub fn now() -> Time {
    Time::of_micros(Timestamp::now().as_microsecond())
}

fn of(zoned: &Zoned) -> Time {
    Time::of_micros(zoned.timestamp().as_microsecond())
}

/// `2026-11-15`, or `20261115` as other tools want it; `2026-11` is its first day.
fn date(text: &str) -> Option<Date> {
    let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.len() {
        8 if digits => Date::strptime("%Y%m%d", text).ok(),
        10 => text.parse().ok(),
        7 => format!("{text}-01").parse().ok(),
        _ => None,
    }
}

/// `7d`, `12h`, `2 weeks ago`, `1 month`.
fn ago(text: &str) -> Option<Span> {
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

/// The windows of five hours in which subscriptions count: one begins with the full hour of its first response, and the
/// next with the first response after its end.
pub fn windows(mut times: Vec<Time>) -> Vec<Time> {
    times.sort_unstable();
    let mut starts: Vec<Time> = Vec::new();
    for time in times {
        if starts.last().is_none_or(|&start| time.micros() >= start.micros() + WINDOW.as_micros() as i64) {
            let moment = Timestamp::from_microsecond(time.micros()).unwrap_or(Timestamp::UNIX_EPOCH);
            let hour = moment.as_second().div_euclid(3600) * 3600;
            starts.push(Time::of_micros(hour.saturating_mul(1_000_000)));
        }
    }
    starts
}

/// How long a window is.
const WINDOW: SignedDuration = SignedDuration::from_hours(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        Time::parse(text).expect("a time")
    }

    #[test]
    fn a_day_is_a_day_where_the_reader_lives() {
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

    #[test]
    fn the_hour_that_comes_twice_is_two_hours() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        let hours = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"].map(|text| berlin.hour(time(text)));
        assert_eq!(hours[0].as_deref(), Some("2026-10-25T02:00+02:00"));
        assert_eq!(hours[1].as_deref(), Some("2026-10-25T02:00+01:00"));
    }

    #[test]
    fn people_write_times_in_many_ways() {
        let berlin = Zone::named("Europe/Berlin").expect("a zone");
        let now = time("2026-11-16T09:00:00Z");
        let since = |text| berlin.moment(text, now, false).map(|time| time.to_string());
        let until = |text| berlin.moment(text, now, true).map(|time| time.to_string());
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

    #[test]
    fn a_window_begins_with_the_hour_and_lasts_five() {
        let times =
            ["2026-11-15T10:50:00Z", "2026-11-15T14:59:00Z", "2026-11-15T15:00:00Z", "2026-11-15T23:10:00Z"];
        let starts: Vec<String> = windows(times.map(time).to_vec()).iter().map(ToString::to_string).collect();
        assert_eq!(
            starts,
            ["2026-11-15T10:00:00.000Z", "2026-11-15T15:00:00.000Z", "2026-11-15T23:00:00.000Z"]
        );
    }
}
