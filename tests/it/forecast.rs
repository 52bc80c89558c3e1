//! `limits --forecast`: which rate limit is reached first, from figures that were counted by hand.

use serde_json::Value;

use crate::support::run_with;

const LOG: &str = "logs/forecast.jsonl";

fn forecast(arguments: &[&str]) -> Value {
    let words = [&["limits", "--forecast", "--json", "--timezone", "UTC"], arguments].concat();
    let (code, stdout, stderr) = run_with(&words);
    assert_eq!((code, &*stderr), (0, ""), "{arguments:?}");
    serde_json::from_str(&stdout).unwrap()
}

fn row<'a>(report: &'a Value, limit: &str) -> &'a Value {
    report["rows"].as_array().unwrap().iter().find(|row| row["limit"] == limit).unwrap()
}

fn assert_share(value: &Value, expected: f64) {
    assert!((value.as_f64().unwrap() - expected).abs() < 1e-9, "{value} {expected}");
}

/// From 20 % at 10:30 to 50 % at 12:00 are 20 % per hour: the other half takes two and a half hours. With shares that are wrong
/// by half a percent each, it is between 49.5 % at 31 % in 90 minutes and 50.5 % at 29 %.
#[test]
fn the_limit_that_is_used_up_first_is_named_with_its_range() {
    let report = forecast(&["--until", "2026-11-16T12:30Z", LOG]);
    let names: Vec<&Value> = report["rows"].as_array().unwrap().iter().map(|row| &row["limit"]).collect();
    assert_eq!(names, ["five_hour", "seven_day", "seven_day_opus"]);
    let five = row(&report, "five_hour");
    assert_eq!((&five["forecast"], &five["is_first"]), (&"before_reset".into(), &true.into()));
    assert_eq!(
        (&five["figures"], &five["used"]),
        (&2.into(), &0.5.into()),
        "the window before is another one"
    );
    assert_eq!(five["seen"], "2026-11-16T12:00:00.000Z", "that of the response before the record");
    assert_eq!(five["resets"], "2026-11-16T15:00:00.000Z");
    assert_share(&five["estimated_per_hour"], 0.2);
    assert_share(&five["estimated_at_reset"], 1.1);
    assert_eq!(five["estimated_reached"], "2026-11-16T14:30:00.000Z");
    let second = |key: &str| five[key].as_str().unwrap()[..19].to_owned();
    assert_eq!(second("estimated_earliest"), "2026-11-16T14:23:42");
    assert_eq!(second("estimated_latest"), "2026-11-16T14:36:43");
    let week = row(&report, "seven_day");
    assert_eq!((&week["forecast"], &week["is_first"]), (&"before_reset".into(), &false.into()));
    assert_eq!(week["estimated_reached"], "2026-11-17T21:30:00.000Z", "2 % per hour");
    assert_eq!(week["estimated_earliest"], "2026-11-17T12:56:15.000Z");
    assert_eq!(week["estimated_latest"], "2026-11-18T14:37:30.000Z");
    let opus = row(&report, "seven_day_opus");
    assert_eq!((&opus["forecast"], &opus["estimated_reached"]), (&"unknown".into(), &Value::Null));
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("five_hour binds first: about 2026-11-16 14:30"), "{note}");
    assert!(note.ends_with("(an estimate from 2 figures)"), "{note}");
}

#[test]
fn one_figure_of_a_window_gives_no_forecast() {
    let report = forecast(&["--until", "2026-11-16T11:00Z", LOG]);
    assert_eq!(row(&report, "five_hour")["forecast"], "unknown");
    assert_eq!(report["notes"][0], "no forecast: the logs have fewer than two used shares of one window");
    // Figures before the beginning do not count either.
    let report = forecast(&["--since", "2026-11-16T11:00Z", "--until", "2026-11-16T12:30Z", LOG]);
    assert_eq!(row(&report, "five_hour")["figures"], 1);
}

#[test]
fn limits_that_were_reset_are_over() {
    let report = forecast(&["--until", "2026-11-25", LOG]);
    assert_eq!(report["rows"].as_array().unwrap().len(), 0);
    let note = report["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("no forecast: no rate limit is running; the last one was reset at 2026-11-20 00:00"),
        "{note}"
    );
    let report = forecast(&["recordings/2.1.325/transcript/02-single-bash"]);
    assert!(report["notes"][0].as_str().unwrap().contains("no record of a rate limit"), "{report}");
}

#[test]
fn a_rejected_request_means_that_the_limit_is_used_up() {
    let report = forecast(&["--until", "2026-11-16T00:30Z", "logs/limits.jsonl"]);
    let five = row(&report, "five_hour");
    assert_eq!(
        (&five["forecast"], &five["used"], &five["is_first"]),
        (&"reached".into(), &0.92.into(), &true.into())
    );
    assert!(
        report["notes"][0].as_str().unwrap().starts_with("five_hour is used up; it resets at"),
        "{report}"
    );
}

#[test]
fn a_forecast_says_in_every_format_that_it_is_an_estimate() {
    for format in ["table", "csv", "markdown", "html", "json"] {
        let words = ["limits", "--forecast", "--until", "2026-11-16T12:30Z", "--format", format, LOG];
        let (code, stdout, _) = run_with(&words);
        assert_eq!(code, 0, "{format}");
        assert!(stdout.contains("stimate"), "{format}: {stdout}");
    }
}
