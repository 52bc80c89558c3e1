//! `overview`, and a bare `ccstat`.

use crate::{
    html::own_part,
    support::{log, printed_json, run_with},
};

const WEEK: [&str; 4] = ["overview", "logs/week", "--until", "2026-11-12"];

#[test]
fn the_periods_of_an_overview_add_up() {
    let json = printed_json(&WEEK);
    let cost = |key: &str| json[key]["cost_usd"].as_f64().unwrap();
    let daily = printed_json(&["daily", "logs/week"]);
    let total: f64 =
        daily["rows"].as_array().unwrap().iter().map(|row| row["cost_usd"].as_f64().unwrap()).sum();
    assert!((cost("period") - total).abs() < 1e-9, "{json}");
    assert!((cost("this_week") - total).abs() < 1e-9, "the week begins on Monday, the 9th");
    let days = json["days"].as_array().unwrap();
    assert_eq!(
        (days.len(), &days[0]["day"], &days[13]["day"]),
        (14, &"2026-10-30".into(), &"2026-11-12".into())
    );
    let sum: f64 = days.iter().filter_map(|day| day["cost_usd"].as_f64()).sum();
    assert!((sum - total).abs() < 1e-9, "{days:?}");
    assert_eq!((&json["today"]["sessions"], &json["today"]["denied"]), (&1.into(), &1.into()));
    assert_eq!(json["last_week"]["cost_usd"], serde_json::Value::Null);
    assert_eq!(json["sessions"].as_array().unwrap().len(), 4);
}

#[test]
fn a_chosen_period_is_compared_with_the_one_before() {
    let chosen = ["overview", "logs/week", "--since", "2026-11-10", "--until", "2026-11-10"];
    let json = printed_json(&chosen);
    let daily = printed_json(&["daily", "logs/week"]);
    let day = |day: &str| {
        let rows = daily["rows"].as_array().unwrap();
        rows.iter().find(|row| row["day"] == day).unwrap()["cost_usd"].clone()
    };
    assert_eq!(json["period"]["cost_usd"], day("2026-11-10"));
    assert_eq!(json["before"]["cost_usd"], day("2026-11-09"));
    let (code, stdout, _) = run_with(&chosen);
    assert!(code == 0 && stdout.starts_with("2026-11-10 00:00 to 2026-11-11 00:00: $0.0"), "{stdout}");
    assert!(stdout.contains("Cost by model") && stdout.contains("Most expensive sessions"), "{stdout}");
}

/// The page of an overview.
fn page(words: &[&str]) -> String {
    run_with(&[&["overview", "logs/week", "--timezone", "UTC", "-f", "html"], words].concat()).1
}

/// The values of a chart: the rows of the table below it.
fn chart(page: &str, title: &str) -> Vec<Vec<String>> {
    let text = own_part(page).replacen("<!DOCTYPE html>", "", 1);
    let tree = roxmltree::Document::parse(&text).unwrap();
    let figures = tree.descendants().filter(|node| node.has_tag_name("figure"));
    let titled = |node: &roxmltree::Node<'_, '_>| {
        node.descendants().any(|node| node.has_tag_name("h2") && node.text() == Some(title))
    };
    let figure = figures.into_iter().find(titled).unwrap_or_else(|| panic!("no {title}"));
    let rows = figure.descendants().filter(|node| node.has_tag_name("tr"));
    let cells = |row: roxmltree::Node<'_, '_>| {
        let cells = row.children().filter(roxmltree::Node::is_element);
        cells.map(|cell| cell.text().unwrap_or_default().to_owned()).collect()
    };
    rows.map(cells).collect()
}

#[test]
fn the_page_of_a_period_tells_its_story() {
    let words = ["--since", "2026-11-10", "--until", "2026-11-12"];
    let page = page(&words);
    let json = printed_json(&[&["overview", "logs/week", "--timezone", "UTC"][..], &words].concat());
    for title in ["Cost over time, by model", "Cost over time, by project"] {
        let rows = chart(&page, title);
        assert_eq!(
            rows.iter().map(|row| &*row[0]).collect::<Vec<_>>(),
            ["Bar", "2026-11-10", "2026-11-11", "2026-11-12"]
        );
        let amounts = rows[1..].iter().flat_map(|row| &row[1..]).filter_map(|cell| cell.strip_prefix('$'));
        let sum: f64 = amounts.map(|amount| amount.parse::<f64>().unwrap()).sum();
        let cost = json["period"]["cost_usd"].as_f64().unwrap();
        assert!((sum - cost).abs() < 0.0001, "{title}: {sum} instead of {cost}");
    }
    assert_eq!(chart(&page, "Cost by weekday and hour").len(), 4, "a heading and three hours");
    let hits = json["period"]["cache_hit_rate"].as_f64().unwrap();
    assert!(page.contains(&format!("{:.1} % in all", hits * 100.0)), "{hits}");
    assert_eq!(chart(&page, "Prompt tokens read from the cache").len(), 4);
    assert_eq!(chart(&page, "Failures and denials")[3], ["2026-11-12", "1"]);
    for table in [
        "Compared with the period before",
        "Most expensive sessions",
        "Most expensive prompts",
        "Failed and denied",
    ] {
        assert!(page.contains(&format!(">{table}</h2>")), "{table}");
    }
    insta::assert_snapshot!("overview-page", own_part(&page));
}

#[test]
fn a_short_period_is_drawn_by_the_hour() {
    let page = page(&["--since", "2026-11-09", "--until", "2026-11-09"]);
    let rows = chart(&page, "Cost over time, by model");
    assert_eq!(
        (&*rows[1][0], rows.len()),
        ("2026-11-09 09:00", 16),
        "from the first hour to midnight: {rows:?}"
    );
}

#[test]
fn the_usual_overview_tells_more_on_a_page_than_on_a_terminal() {
    let words = ["--until", "2026-11-12"];
    let (_, table, _) = run_with(&WEEK);
    let (_, markdown, _) = run_with(&[&WEEK[..], &["-f", "markdown"]].concat());
    let page = page(&words);
    for title in ["Most expensive prompts", "Cost by project"] {
        assert!(page.contains(&format!(">{title}</h2>")), "{title}");
        assert!(!table.contains(title) && !markdown.contains(title), "{title}");
    }
}

#[test]
fn the_most_expensive_prompts_are_those_of_the_list_of_prompts() {
    let words = ["logs/week", "--since", "2026-11-09", "--until", "2026-11-12", "--timezone", "UTC"];
    let json = printed_json(&[&["overview"], &words[..]].concat());
    let list = printed_json(&[&["prompts", "--sort", "cost_usd"], &words[..]].concat());
    let (prompts, rows) = (json["prompts"].as_array().unwrap(), list["rows"].as_array().unwrap());
    assert!(prompts.len() == 4 && rows.len() == 4, "{prompts:?}");
    for (prompt, row) in prompts.iter().zip(rows) {
        for key in ["session", "number", "asked", "cost_usd", "project"] {
            assert_eq!(prompt[key], row[key], "{key}");
        }
    }
}

#[test]
fn a_model_or_project_of_the_period_before_is_compared() {
    let words =
        ["overview", "logs/week", "--since", "2026-11-11", "--until", "2026-11-12", "--timezone", "UTC"];
    let json = printed_json(&words);
    let daily = printed_json(&[
        "cost",
        "--by",
        "model",
        "logs/week",
        "--since",
        "2026-11-09",
        "--until",
        "2026-11-10",
        "--timezone",
        "UTC",
    ]);
    let models = json["models"].as_array().unwrap();
    assert_eq!(models.len(), 1, "models without cost in the period are for people only: {models:?}");
    let row =
        daily["rows"].as_array().unwrap().iter().find(|row| row["model"] == models[0]["model"]).unwrap();
    assert_eq!(models[0]["before_usd"], row["cost_usd"]);
    let (_, shown, _) = run_with(&words);
    assert!(shown.contains("opus-5-5") && shown.contains("-100.0 %"), "{shown}");
}

#[test]
fn texts_are_shown_on_request_and_only_those_of_the_period() {
    let line = |time: &str, text: &str| {
        format!(
            r#"{{"type":"user","sessionId":"5e55105e-0000","uuid":"{text}","parentUuid":null,"isSidechain":false,"timestamp":"{time}","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let both = log([line("2026-11-10T08:00:00Z", "EARLY"), line("2026-11-12T08:00:00Z", "LATE")].join("\n"));
    let path = both.path().to_str().unwrap();
    let shown = |words: &[&str]| run_with(&[&["overview", path][..], words].concat()).1;
    let until = ["--until", "2026-11-12"];
    assert!(!shown(&until).contains("EARLY") && !shown(&until).contains("LATE"));
    assert!(shown(&["--until", "2026-11-12", "--content"]).contains("EARLY"));
    for format in ["table", "json", "markdown"] {
        let text = shown(&["--since", "2026-11-12", "--until", "2026-11-12", "--content", "-f", format]);
        assert!(text.contains("LATE") && !text.contains("EARLY"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn without_saved_sessions_it_says_where_they_are_looked_for() {
    let (code, shown) = crate::terminal::screen(80, &["overview"]);
    assert_eq!(code, 3, "{shown}");
    assert!(
        shown.contains("/.claude/projects (does not exist)") && shown.contains("ccstat run -- claude"),
        "{shown}"
    );
    let (code, shown) = crate::terminal::screen(80, &["overview", "--json"]);
    assert!(code == 3 && shown.contains("\"sessions\": []"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_bare_ccstat_shows_the_overview_on_a_terminal_and_else_its_help() {
    let (code, shown) = crate::terminal::screen(80, &[]);
    assert!(code == 3 && shown.contains("There are no saved sessions yet"), "{shown}");
    let (code, shown) = crate::terminal::screen(80, &WEEK);
    assert!(code == 0 && shown.contains("Limit th"), "titles are shown: {shown}");
    insta::assert_snapshot!("overview-80", shown);
    insta::assert_snapshot!("overview-140", crate::terminal::screen(140, &WEEK).1);
    let (code, stdout, stderr) = run_with(&[]);
    assert!(code == 2 && stdout.is_empty() && stderr.contains("Usage: ccstat"), "{stderr}");
}
