//! Checks of the parsers of rules, commands, settings, prices and times: no text makes them panic, and a
//! parsed value can be written and parsed again. The fuzz targets and `tests/replay.rs` share this file.

use ccstat::internal::{
    measure::{
        Prices, Terms, Time, Tokens,
        calendar::{self, Zone},
    },
    permission::{
        Behaviour, Breadth, Call, Context, Decision, Mode, Rule, Scope, Settings, Word, check, danger, split,
        suggest, unmatched_rules,
    },
};
use serde_json::json;

/// Separates a rule from the text that it is matched against.
const SPLIT: char = '\0';

/// Checks a rule with a text, separated by NUL: a parsed rule can be written and parsed again, a deny rule
/// wins, and a call is allowed by the suggested rule if it needs only one.
pub(crate) fn rule(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (written, tried) = text.split_once(SPLIT).unwrap_or((text, text));
    let halves = ["Bash", "Edit", "WebFetch"].map(|tool| Rule::new(tool, Some(written)));
    let parsed = [Rule::parse(written), Rule::parse(&format!("Bash({written})"))];
    let input = json!({"command": tried, "file_path": tried, "url": tried, "pattern": tried});
    for rule in parsed.iter().chain(&halves).flatten() {
        assert_eq!(Rule::parse(&rule.to_string()).as_ref(), Ok(rule), "{text:?}");
        let mut context = Context::new(Mode::Default);
        context.add(Behaviour::Deny, Scope::Project, rule.clone());
        for tool in ["Bash", "Edit", "Read", "WebFetch", &rule.tool] {
            let call = Call { tool, input: &input, cwd: Some("/home/dev/project") };
            let denied = check(&context, &call).decision == Decision::Deny;
            assert!(denied || !rule.matches(&call), "{rule} matches and does not deny {tool} in {text:?}");
            assert_eq!(unmatched_rules(&context, [call]).is_empty(), denied, "{text:?}");
        }
    }
    let call = Call { tool: "Bash", input: &input, cwd: None };
    let mut context = Context::new(Mode::Default);
    // Some commands need more than one rule, and no rule can allow others.
    let needed = suggest(&[call], Breadth::Exact, None).rules;
    if let [only] = &needed[..] {
        context.add(Behaviour::Allow, Scope::Session, only.rule.clone());
        assert_eq!(check(&context, &call).decision, Decision::Allow, "{text:?}");
    }
}

/// Checks a command: its parts occur in it, in order and without overlap, each is a single part by itself,
/// and the suggested rules allow it.
pub(crate) fn shell(bytes: &[u8]) {
    let Ok(command) = std::str::from_utf8(bytes) else { return };
    if let Ok(parts) = split(command) {
        // A continued line is joined to the next one, so its part differs from the source text.
        let (mut from, joined) = (0, command.contains("\\\n"));
        for part in &parts {
            let at = if joined { Some(0) } else { command[from..].find(&part.text) };
            assert!(at.is_some(), "{:?} is not in {command:?} from {from}", part.text);
            from += at.filter(|_| !joined).map_or(0, |at| at + part.text.len());
            // These characters end no word, but are not part of a command's text either.
            if !command.contains(['\r', '\x0c']) {
                let alone =
                    split(&part.text).unwrap_or_else(|why| panic!("{:?}, {why}: {command:?}", part.text));
                assert_eq!(alone.len(), 1, "{:?} of {command:?}", part.text);
                // A line continuation is not in the text of a part.
                let plain = |words: &[Word]| -> Vec<Word> {
                    words.iter().map(|word| Word { continued: false, ..word.clone() }).collect()
                };
                assert_eq!(plain(&alone[0].words), plain(&part.words), "{command:?}");
                assert_eq!(alone[0].redirects.len(), part.redirects.len(), "{command:?}");
            }
            assert!(
                part.core().len() <= part.words.len() && part.bare().len() <= command.len(),
                "{command:?}"
            );
        }
    }
    let input = json!({ "command": command });
    let call = Call { tool: "Bash", input: &input, cwd: Some("/home/dev/project") };
    let _ = danger(&call, call.cwd);
    for breadth in [Breadth::Exact, Breadth::Prefix, Breadth::Tool] {
        let suggested = suggest(&[call], breadth, call.cwd);
        let mut context = Context::new(Mode::Default);
        for one in &suggested.rules {
            context.add(Behaviour::Allow, Scope::Session, one.rule.clone());
        }
        let covered = suggested.rules.iter().any(|one| one.covers.contains(&0));
        assert_ne!(
            covered,
            suggested.refused.iter().any(|one| one.call == 0),
            "covered or refused: {command:?}"
        );
        if covered {
            assert_eq!(check(&context, &call).decision, Decision::Allow, "{command:?}");
        }
    }
}

/// Checks a settings file: parsed settings can be written and parsed again, and the context has the same
/// rules.
pub(crate) fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = match Settings::read(".claude/settings.json", text, None) {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(read.scope, Scope::Project);
    let rules = |wanted: Behaviour| -> Vec<String> {
        let of = read.rules.iter().filter(|(behaviour, _)| *behaviour == wanted);
        of.map(|(_, rule)| rule.to_string()).collect()
    };
    let again = json!({"permissions": {
        "allow": rules(Behaviour::Allow), "deny": rules(Behaviour::Deny), "ask": rules(Behaviour::Ask),
        "defaultMode": read.mode.map(Mode::name), "additionalDirectories": read.directories,
    }});
    let again = Settings::read(".claude/settings.json", &again.to_string(), None).expect("what was read");
    // Invalid rules and rules without effect are not written again.
    let counts = Settings { broken: Vec::new(), ignored_mode: None, ..read.clone() };
    assert_eq!(again, counts, "{text:?}");
    let context = Context::from_settings([&read]);
    assert_eq!(context.mode, read.mode.unwrap_or(Mode::Default));
    let known =
        |(behaviour, rule): &(Behaviour, Rule)| context.rules(*behaviour).any(|placed| placed.rule == rule);
    assert!(read.rules.iter().all(known), "{text:?}");
    let _ = Settings::scope_of(text, Some(text));
}

/// Checks a pricing file: every model in it has a price that no number of tokens overflows, and an error is
/// one line without control characters.
pub(crate) fn pricing(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let prices = match Prices::built_in().with_file("p.json", text) {
        Ok(prices) => prices,
        Err(error) => {
            let told = error.to_string();
            return assert!(!told.is_empty() && !told.contains(char::is_control), "{told:?}");
        }
    };
    let rows: Vec<_> = prices.rows().filter(|row| row.source == "p.json").collect();
    assert!(!rows.is_empty(), "{text:?}");
    let most = u64::from(u32::MAX) << 16;
    for row in rows {
        assert_eq!(prices.find(&row.model).map(|found| &found.model), Some(&row.model), "{text:?}");
        for tokens in [[0; 6], [1; 6], [most; 6]].map(Tokens::from_fields) {
            let [plain, fast] = [false, true].map(|on| {
                let terms = Terms { fast: on, us_inference: on, surcharged: on };
                prices.cost(&row.model, &tokens, terms)
            });
            assert!(plain.is_some_and(|cost| cost.nanos() >= 0) && fast.is_some(), "{text:?}");
        }
    }
    let same = Prices::built_in().with_file("p.json", text).expect("as before");
    assert!(same.rows().eq(prices.rows()), "{text:?}");
}

/// Zones for times: with and without summer time, and off the hour.
const ZONES: &[&str] = &["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "+14:00", "-00:30"];

/// The current time in these checks.
const NOW: &str = "2026-11-16T09:00:00Z";

/// Checks a time as people write it, or a zone: written in full it is the same instant, a date ends after it
/// begins, and every instant has a day, a week and an hour.
pub(crate) fn time(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let now = Time::parse(NOW).expect("a time");
    let zones = ZONES.iter().map(|name| Zone::named(name).expect("a zone")).chain(Zone::named(text).ok());
    let mut moments: Vec<Time> = Time::parse(text).into_iter().collect();
    for zone in zones {
        let (since, until) = (zone.parse_time(text, now, false), zone.parse_time(text, now, true));
        if let (Ok(since), Ok(until)) = (&since, &until) {
            assert!(since <= until, "{text:?}");
            let same = zone.parse_time(&since.to_string(), now, false).map(|time| time.to_string());
            assert_eq!(same, Ok(since.to_string()), "{text:?}");
        }
        moments.extend(since.into_iter().chain(until));
        for &time in &moments {
            let told =
                [zone.day(time), zone.week(time), zone.month(time), zone.hour(time), zone.minute(time)];
            let [day, _, month, hour, minute] = told.map(Option::unwrap_or_default);
            // Years before 1 are written with a different number of digits.
            assert!(
                day.starts_with('-')
                    || day.starts_with(&month) && hour.starts_with(&day) && minute.starts_with(&day),
                "{text:?}"
            );
            assert_eq!(zone.clock(time).map(|clock| clock.len()), (!day.is_empty()).then_some(8), "{text:?}");
        }
    }
    let starts = calendar::window_starts(moments.clone());
    assert!(starts.is_sorted() && starts.len() <= moments.len(), "{text:?}");
    assert!(moments.iter().all(|time| starts.iter().any(|start| start <= time)), "{text:?}");
}
