//! Reports about failures and denials show reasons: on a terminal, and elsewhere with `--content`.

use serde_json::Value;

use crate::{
    support::{printed_rows, run_with},
    terminal::screen,
};

const FAILURES: &str = "logs/failures";
const SHOP: &str = "logs/failures/-home-dev-shop";
/// The error that two sessions share.
const FAILED_TEST: &str = "FAIL cart.test.ts: expected 3 items, got 2";

/// Returns what a terminal of this width shows of a successful command.
fn shown(columns: u16, arguments: &[&str]) -> String {
    let (code, screen) = screen(columns, arguments);
    assert_eq!(code, 0, "{screen}");
    screen
}

/// Returns the lines that contain a text.
fn lines<'a>(screen: &'a str, text: &str) -> Vec<&'a str> {
    screen.lines().filter(|line| line.contains(text)).collect()
}

/// Returns the last number in a line.
fn last_number(line: &str) -> u64 {
    line.split_whitespace().rev().find_map(|word| word.parse().ok()).unwrap()
}

fn keys(rows: &[Value]) -> Vec<String> {
    rows[0].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn errors_on_a_terminal_are_grouped_by_tool_and_message_over_all_sessions() {
    for columns in [80, 140] {
        let screen = shown(columns, &["errors", FAILURES]);
        let failed = lines(&screen, FAILED_TEST);
        assert_eq!(failed.len(), 1, "{screen}");
        assert!(failed[0].starts_with("Bash "), "{screen}");
        // The newest of three is in the other session.
        let input = lines(&screen, "npm test");
        assert_eq!(input.iter().map(|line| line.trim()).collect::<Vec<_>>(), ["npm test"], "{screen}");
        assert!(screen.contains("API: overloaded") && screen.contains("529 Overloaded"), "{screen}");
        assert_eq!(last_number(lines(&screen, "Total")[0]), 5, "{screen}");
        insta::assert_snapshot!(format!("errors-{columns}"), screen);
    }
}

#[test]
fn errors_without_content_are_grouped_by_tool_and_show_no_text() {
    for screen in [shown(100, &["errors", FAILURES, "--no-content"]), run_with(&["errors", FAILURES]).1] {
        assert_eq!(lines(&screen, "Bash").len(), 1, "{screen}");
        assert!(!screen.contains("FAIL") && !screen.contains("npm"), "{screen}");
        assert!(lines(&screen, "Bash")[0].contains(" 3 "), "{screen}");
    }
}

#[test]
fn programs_read_a_row_for_each_input_and_content_only_on_request() {
    let rows = printed_rows(&["errors", FAILURES]);
    assert_eq!(rows.len(), 5);
    let texts = ["message", "input"].map(str::to_owned);
    assert!(!keys(&rows).iter().any(|key| texts.contains(key)), "{rows:?}");
    let told = printed_rows(&["errors", FAILURES, "--content"]);
    assert_eq!(told.len(), 5);
    assert!(told.iter().any(|row| row["message"] == FAILED_TEST && row["input"] == "npm test"), "{told:?}");
    // Apart from the texts, nothing changes.
    for (row, told) in rows.iter().zip(told) {
        let mut told = told.as_object().unwrap().clone();
        told.retain(|key, _| !texts.contains(key));
        assert_eq!(row.as_object().unwrap(), &told);
    }
}

#[test]
fn denials_say_what_was_refused_by_whom_and_what_would_allow_it() {
    for columns in [80, 140] {
        let screen = shown(columns, &["denials", FAILURES]);
        let curl = lines(&screen, "curl");
        assert!(curl[0].contains("no allow rule") && curl[0].contains('3'), "{screen}");
        assert!(curl[1].contains("Bash(curl https://api.example/v1/status)"), "{screen}");
        assert!(lines(&screen, "rm -rf dist")[0].contains("a rule"), "{screen}");
        assert!(screen.contains("ccstat permissions --suggest"), "{screen}");
        insta::assert_snapshot!(format!("denials-{columns}"), screen);
    }
    let refused = shown(120, &["denials", "recordings/2.1.325"]);
    for by in ["a hook", "a person", "plan mode", "a rule", "no allow rule"] {
        assert!(refused.contains(by), "{by}: {refused}");
    }
}

#[test]
fn programs_read_denials_as_before_and_rules_on_request() {
    let rows = printed_rows(&["denials", FAILURES]);
    assert_eq!(keys(&rows).len(), 10, "{rows:?}");
    assert!(!rows.iter().any(|row| row.to_string().contains("curl")), "{rows:?}");
    let told = printed_rows(&["denials", FAILURES, "--content"]);
    assert_eq!(told[0]["allow_rules"], "Bash(curl https://api.example/v1/status)");
    assert_eq!(told[0]["input"], "curl https://api.example/v1/status");
}

#[test]
fn calls_show_their_command_and_failed_ones_their_error() {
    for columns in [80, 140] {
        let screen = shown(columns, &["calls", SHOP]);
        assert!(lines(&screen, "npm test -- cart --verbose")[0].starts_with("Bash"), "{screen}");
        assert_eq!(lines(&screen, FAILED_TEST).len(), 2, "{screen}");
        insta::assert_snapshot!(format!("calls-{columns}"), screen);
    }
    let rows = printed_rows(&["calls", SHOP, "--content"]);
    assert!(rows.iter().any(|row| row["input"] == "npm test -- cart" && row["message"] == FAILED_TEST));
    assert!(!run_with(&["calls", SHOP]).1.contains("npm"));
}

#[test]
fn a_timeline_shows_prompts_what_was_said_commands_and_errors() {
    for columns in [80, 140] {
        let screen = shown(columns, &["show", "5a0b1c2d", FAILURES]);
        assert!(lines(&screen, "› prompt")[0].contains("Make the cart tests pass. …"), "{screen}");
        assert!(lines(&screen, "● step")[0].contains("I run the tests first."), "{screen}");
        assert!(lines(&screen, "  Edit")[0].contains("/home/dev/shop/src/cart.ts"), "{screen}");
        assert_eq!(lines(&screen, "✗ FAIL cart.test.ts").len(), 2, "{screen}");
        assert!(!screen.contains("Do not touch the checkout"), "{screen}");
        insta::assert_snapshot!(format!("show-{columns}"), screen);
    }
    let (code, piped, _) = run_with(&["show", "5a0b1c2d", FAILURES]);
    assert_eq!(code, 0);
    assert!(!piped.contains("cart") && !piped.contains("FAIL"), "{piped}");
}

#[test]
fn a_full_timeline_shows_texts_to_their_end() {
    let screen = shown(80, &["show", "5a0b1c2d", FAILURES, "--full"]);
    for line in ["Do not touch the checkout.", "I correct it there.", "  at cart.test.ts:14"] {
        assert!(lines(&screen, line)[0].starts_with("          "), "{line}: {screen}");
    }
    insta::assert_snapshot!("show-full-80", screen);
    let rows = printed_rows(&["show", "5a0b1c2d", FAILURES, "--full", "--content"]);
    assert_eq!(rows[0]["text"], "Make the cart tests pass.\nDo not touch the checkout.");
    let (code, stdout, stderr) = run_with(&["show", "5a0b1c2d", FAILURES, "--full"]);
    assert_eq!((code, &*stdout), (2, ""));
    assert!(stderr.contains("add --content"), "{stderr}");
}

#[test]
fn a_filter_leaves_out_the_texts_of_other_sessions() {
    for report in ["errors", "denials", "calls"] {
        let all = shown(140, &[report, FAILURES]);
        let some = shown(140, &[report, FAILURES, "--project", "/home/dev/api"]);
        assert!(all.contains("rm -rf dist") || all.contains("File has not been read"), "{all}");
        for text in ["rm -rf dist", "File has not been read", "cart --verbose", "529"] {
            assert!(!some.contains(text), "{report} {text}: {some}");
        }
        let none = shown(140, &[report, FAILURES, "--tool", "Edit"]);

        assert!(!none.contains("npm") && !none.contains("curl"), "{report}: {none}");
    }
    let show = shown(140, &["show", "5a0b1c2d", FAILURES, "--full", "--tool", "Edit"]);
    assert!(show.contains("cart.ts") && !show.contains("npm") && !show.contains("529"), "{show}");
}

#[test]
fn permissions_on_a_screen_begin_with_denials_and_end_with_modes() {
    let screen =
        shown(140, &["permissions", FAILURES, "recordings/2.1.325/transcript/34-permission-denied-bash"]);
    let rows: Vec<&str> = screen.lines().skip(3).take_while(|line| !line.is_empty()).collect();
    let first_other = rows.iter().position(|row| !row.contains(" denied ")).unwrap();
    assert!(first_other > 3 && !rows[first_other..].iter().any(|row| row.contains(" denied ")), "{screen}");
    let rank = |row: &&str| row.contains("the mode from here on");
    assert!(rows.iter().any(rank) && rows.is_sorted_by_key(rank), "{screen}");
    // Programs read the log in order.
    let lines = printed_rows(&["permissions", SHOP]);
    assert!(lines.iter().map(|row| row["line"].as_u64()).is_sorted(), "{lines:?}");
}

#[test]
fn an_explanation_is_a_calculation_with_the_newest_session_first() {
    let screen = shown(80, &["explain", "cost", "logs/week"]);
    let sessions: Vec<&str> =
        screen.lines().filter_map(|line| line.split_once(": computed").map(|(id, _)| id)).collect();
    assert_eq!(sessions, ["e9077c34", "c41d90aa", "8be20d17", "5f3a1c20"], "{screen}");
    let amount = |line: &str| line.rsplit_once('$').unwrap().1.trim().parse::<f64>().unwrap();
    let costs: f64 = lines(&screen, "cost of the session").into_iter().map(amount).sum();
    let total = amount(lines(&screen, "Total")[0]);
    assert!((costs - total).abs() < 0.001 && total > 0.3, "{screen}");
    insta::assert_snapshot!("explain-80", screen);
    let rows = printed_rows(&["explain", "cost", "logs/week"]);
    assert!(rows[0]["session"].as_str().unwrap().starts_with("5f3a1c20"), "the order of data stays");
}

#[test]
fn a_check_of_many_runs_begins_with_the_verdict_and_gives_advice_once() {
    let words = ["check", "logs/week", FAILURES, "--max-cost", "0.01", "--fail-on", "denial,no-result"];
    let (code, screen) = screen(80, &words);
    assert_eq!(code, 1);
    assert!(screen.starts_with("✗ 6 runs: 0 passed, 6 failed\n"), "{screen}");
    for gate in
        ["✗ max-cost failed for 4 of 6 runs", "✗ denial failed for 3 of 6 runs", "✓ no-result held for 6"]
    {
        assert_eq!(lines(&screen, gate).len(), 1, "{gate}: {screen}");
    }
    assert_eq!(screen.matches("to allow it").count(), 1, "{screen}");
    insta::assert_snapshot!("check-80", screen);
    let (code, _, stderr) = run_with(&[&words[..], &["--json"]].concat());
    assert_eq!((code, stderr.lines().count()), (1, 2), "one line per failed gate: {stderr}");
}

#[test]
fn questions_are_cards_whose_texts_are_not_cut() {
    let screen = shown(44, &["questions", "logs/questions", "--limit", "3"]);
    assert!(screen.contains("\n  Question  ") && screen.contains("\n  Options   "), "{screen}");
    assert!(!screen.contains('…'), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 44 || line.contains("--limit")), "{screen}");
    insta::assert_snapshot!("questions-44", screen);
    let markdown = run_with(&["questions", "logs/questions", "--format", "markdown"]).1;
    assert!(markdown.contains("\n- **Question:** ") && !markdown.contains("| "), "{markdown}");
}

#[test]
fn printed_text_is_wrapped_at_the_width_of_the_terminal_and_whole_in_a_pipe() {
    let words = ["summarize", "--print", "text", "-q", SHOP];
    let text = "API Error: 529 Overloaded. The API is at capacity; try again later.";
    let wrapped = shown(50, &words);
    assert!(wrapped.lines().all(|line| line.chars().count() <= 50), "{wrapped}");
    assert!(
        wrapped.contains("API Error: 529 Overloaded. The API is at capacity;\ntry again later."),
        "{wrapped}"
    );
    assert!(run_with(&words).1.contains(text));
}

#[test]
fn a_file_beside_the_terminal_has_no_text_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    for report in [&["errors"][..], &["denials"], &["calls"], &["show", "5a0b1c2d"]] {
        let file = folder.path().join("report.txt");
        let words = [report, &[FAILURES, "-o", file.to_str().unwrap()]].concat();
        assert!(["cart", "curl"].iter().any(|text| shown(120, &words).contains(text)), "{words:?}");
        let written = std::fs::read_to_string(&file).unwrap();
        for text in ["cart", "npm", "curl", "FAIL ", "529"] {
            assert!(!written.contains(text), "{words:?} {text}: {written}");
        }
    }
}
