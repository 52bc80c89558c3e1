//! Logs that are broken: every bad record is counted with its place, and no good one is lost.

use std::fs;

use ccstat::internal::{event, facts::Account, input::Limits};

use crate::support::{account, account_of, invalid_lines, log, read, recording, testdata};

/// The expected account of a file in `testdata/bad`.
struct Story {
    file: &'static str,
    records: u64,
    invalid_lines: &'static [u64],
    truncated: u64,
    blank: u64,
}

/// Recording 34 has ten records. Those that `records` lacks are themselves broken.
const STORIES: [Story; 15] = [
    story("five-broken-lines.jsonl", 10, &[1, 4, 5, 10, 15]),
    story("glued-with-garbage.jsonl", 9, &[1, 3]),
    story("without-type.jsonl", 10, &[3, 4, 5, 6]),
    story("not-utf8.jsonl", 10, &[2, 3]),
    story("lone-surrogates.jsonl", 12, &[]),
    story("nul-inside-a-record.jsonl", 9, &[5]),
    Story { blank: 2, ..story("nuls-after-a-crash.jsonl", 10, &[]) },
    story("torn-in-the-middle.jsonl", 9, &[4]),
    Story { truncated: 1, ..story("torn-last-line.jsonl", 9, &[]) },
    Story { truncated: 1, ..story("torn-document.json", 9, &[]) },
    story("array-with-strangers.json", 3, &[3, 4, 5, 7, 8]),
    story("broken-in-a-document.json", 9, &[249]),
    story("broken-in-an-array.json", 9, &[250]),
    Story { blank: 1, ..story("plain-text.txt", 0, &[1, 3]) },
    Story { blank: 6, ..story("page-that-quotes-a-run.md", 2, &[1, 3, 5, 7, 9, 11, 13, 15, 17]) },
];

const fn story(file: &'static str, records: u64, invalid_lines: &'static [u64]) -> Story {
    Story { file, records, invalid_lines, truncated: 0, blank: 0 }
}

fn check(story: &Story, account: &Account) {
    let input = &account.input;
    assert_eq!(invalid_lines(account), story.invalid_lines, "{}", story.file);
    assert_eq!(
        (input.records, input.invalid, input.truncated, input.blank),
        (story.records, story.invalid_lines.len() as u64, story.truncated, story.blank),
        "{}",
        story.file
    );
}

#[test]
fn every_broken_line_is_located_and_no_good_record_is_lost() {
    for story in &STORIES {
        check(story, &account(&[testdata("bad").join(story.file)]));
    }
}

#[test]
fn every_broken_log_has_an_expectation() {
    let mut files: Vec<String> = fs::read_dir(testdata("bad"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "README.md")
        .collect();
    let mut found: Vec<&str> = STORIES.iter().map(|story| story.file).collect();
    files.sort();
    found.sort_unstable();
    assert_eq!(files, found);
}

#[test]
fn a_broken_log_reads_the_same_in_small_units() {
    for story in &STORIES {
        for block in [16, 61, 1024] {
            for unit in [300, 4096] {
                let limits = Limits { block, unit, ..Limits::default() };
                check(story, &read(&[testdata("bad").join(story.file)], limits).0);
            }
        }
    }
}

#[test]
fn the_offset_of_a_broken_line_leads_to_it() {
    let path = testdata("bad/five-broken-lines.jsonl");
    let bytes = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    for place in account(&[path]).input.invalid_places {
        let (offset, line) = (usize::try_from(place.offset).unwrap(), usize::try_from(place.line).unwrap());
        assert!(bytes[offset..].starts_with(lines[line - 1]), "{place:?}");
    }
}

#[test]
fn broken_lines_change_nothing_about_the_good_ones() {
    let mut broken = account(&[testdata("bad/five-broken-lines.jsonl")]);
    let mut whole = account(&[recording("stream/34-permission-denied-bash.jsonl")]);
    (broken.input, whole.input) = Default::default();
    assert_eq!(broken, whole);
}

/// The verdict on one odd line among good ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// One record.
    Valid,
    /// Not a record.
    Invalid,
    /// One record, followed by something unreadable.
    ValidThenInvalid,
}

use Verdict::{Invalid, Valid, ValidThenInvalid};

/// Lines with the verdict of the JSON grammar and of our one rule: an object with a string `type`.
const ODD_LINES: &[(&[u8], Verdict)] = &[
    // Our rule.
    (br#"{"type":"a"}"#, Valid),
    (br#"{"type":""}"#, Valid),
    (br#"{"x":{"type":1},"type":"a"}"#, Valid),
    (br#"{"\u0074ype":"a"}"#, Valid),
    (br#"{"type":"us\u0065r"}"#, Valid),
    (br#"{}"#, Invalid),
    (br#"{"x":{"type":"a"}}"#, Invalid),
    (br#"{"Type":"a"}"#, Invalid),
    (br#"{"type":1}"#, Invalid),
    (br#"{"type":null}"#, Invalid),
    (br#"{"type":["a"]}"#, Invalid),
    (br#"{"type":{"type":"a"}}"#, Invalid),
    (br#"null"#, Invalid),
    (br#"true"#, Invalid),
    (br#"42"#, Invalid),
    (br#""type""#, Invalid),
    (br#"[1,2]"#, Invalid),
    (br#"["type","a"]"#, Invalid),
    // The last of duplicate keys wins.
    (br#"{"type":1,"type":"a"}"#, Valid),
    (br#"{"type":"a","type":1}"#, Invalid),
    (br#"{"type":"a","x":1,"x":2}"#, Valid),
    (br#"{"type":"a","\u0074ype":1}"#, Invalid),
    (br#"{"type":1,"\u0074ype":"a"}"#, Valid),
    (br#"{"type":"user","message":1,"message":{"role":"user","role":1,"content":[],"content":"x"}}"#, Valid),
    (br#"{"type":"user","message":{"content":[{"type":"text","type":1}]},"message":[]}"#, Valid),
    // Structure.
    (br#"{"type":"a",}"#, Invalid),
    (br#"{,"type":"a"}"#, Invalid),
    (br#"{"type":"a",,"x":1}"#, Invalid),
    (br#"{"type":"a" "x":1}"#, Invalid),
    (br#"{"type" "a"}"#, Invalid),
    (br#"{"type":"a","x"}"#, Invalid),
    (br#"{"type":"a","x":}"#, Invalid),
    (br#"{"type":"a","x":[1,]}"#, Invalid),
    (br#"{"type":"a","x":[,1]}"#, Invalid),
    (br#"{"type":"a","x":[1 2]}"#, Invalid),
    (br#"{"type":"a","x":[}"#, Invalid),
    (br#"{"type":"a","x":{]}"#, Invalid),
    (br#"{"type":"a","x":[{}]"#, Invalid),
    (br#"{"type":"a""#, Invalid),
    (br#"{"type":"a"#, Invalid),
    (br#"{"type":"a\"}"#, Invalid),
    (br#"{"#, Invalid),
    (br#"}"#, Invalid),
    (br#"["#, Invalid),
    (br#"]"#, Invalid),
    (br#"{type:"a"}"#, Invalid),
    (br#"{'type':'a'}"#, Invalid),
    (br#"{1:2,"type":"a"}"#, Invalid),
    (br#"{"type":"a"/* why */}"#, Invalid),
    (br#"// {"type":"a"}"#, Invalid),
    (br#"{"type":"a","x":undefined}"#, Invalid),
    (br#"{"type":"a","x":nul}"#, Invalid),
    (br#"{"type":"a","x":nullx}"#, Invalid),
    (br#"{"type":"a","x":True}"#, Invalid),
    (br#"{"type":"a","x":[null,true,false,{},[]]}"#, Valid),
    // Numbers.
    (br#"{"type":"a","x":NaN}"#, Invalid),
    (br#"{"type":"a","x":Infinity}"#, Invalid),
    (br#"{"type":"a","x":-Infinity}"#, Invalid),
    (br#"{"type":"a","x":01}"#, Invalid),
    (br#"{"type":"a","x":-01}"#, Invalid),
    (br#"{"type":"a","x":+1}"#, Invalid),
    (br#"{"type":"a","x":-}"#, Invalid),
    (br#"{"type":"a","x":.5}"#, Invalid),
    (br#"{"type":"a","x":1.}"#, Invalid),
    (br#"{"type":"a","x":1.e5}"#, Invalid),
    (br#"{"type":"a","x":1e}"#, Invalid),
    (br#"{"type":"a","x":1e+}"#, Invalid),
    (br#"{"type":"a","x":0x10}"#, Invalid),
    (br#"{"type":"a","x":1_000}"#, Invalid),
    (br#"{"type":"a","x":[0,-0,0.0,-1.5e+5,1E5,1e-5]}"#, Valid),
    (br#"{"type":"a","x":123456789012345678901234567890123456789012345678901234567890}"#, Valid),
    (br#"{"type":"a","x":1e400}"#, Valid),
    (br#"{"type":"a","x":-1e-400}"#, Valid),
    (br#"{"type":"result","total_cost_usd":1e999,"num_turns":99999999999999999999}"#, Valid),
    // Strings.
    (br#"{"type":"a","x":"\"\\\/\b\f\n\r\t\u00e9\u0000"}"#, Valid),
    (br#"{"type":"a","x":"\ud83d\ude00"}"#, Valid),
    (br#"{"type":"a","x":"\ud83d"}"#, Valid),
    (br#"{"type":"a","x":"\ude00"}"#, Valid),
    (br#"{"type":"a","x":"\ud83d\ud83d"}"#, Valid),
    (br#"{"type":"a","x":"\ud83d\n"}"#, Valid),
    (br#"{"type":"\ud800"}"#, Valid),
    (br#"{"type":"a","\udfff":1}"#, Valid),
    (br#"{"type":"a","x":"\x41"}"#, Invalid),
    (br#"{"type":"a","x":"\'"}"#, Invalid),
    (br#"{"type":"a","x":"\u12"}"#, Invalid),
    (br#"{"type":"a","x":"\u12g4"}"#, Invalid),
    (br#"{"type":"a","x":"\ud83d\u12"}"#, Invalid),
    (br#"{"type":"a","x":"\U0041"}"#, Invalid),
    (b"{\"type\":\"a\",\"x\":\"\t\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\r\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\0\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\x1b[31m\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\x1f\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\x7f\"}", Valid),
    ("{\"type\":\"a\",\"x\":\"\u{2028}\u{feff}\u{10ffff}\u{85}\"}".as_bytes(), Valid),
    // UTF-8.
    (b"{\"type\":\"a\",\"x\":\"\xff\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\x80\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xc0\x80\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xc1\xbf\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xe0\x80\xaf\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xf0\x80\x80\xaf\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xf4\x90\x80\x80\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xe2\x82\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xed\xa0\x80\"}", Invalid),
    (b"{\"type\":\"a\",\"x\":\"\xf5\x80\x80\x80\"}", Invalid),
    (b"{\"type\":\"a\",\"\xff\":1}", Invalid),
    // Whitespace: only that of JSON.
    (b" \t{ \"type\"\t:\r\"a\" } \t\r", Valid),
    (b"{\x0b\"type\":\"a\"}", Invalid),
    (b"{\x0c\"type\":\"a\"}", Invalid),
    ("{\u{a0}\"type\":\"a\"}".as_bytes(), Invalid),
    ("\u{feff}{\"type\":\"a\"}".as_bytes(), Invalid),
    (b"\x0c{\"type\":\"a\"}", Invalid),
    // Text beside a record.
    (br#"{"type":"a"}}"#, ValidThenInvalid),
    (br#"{"type":"a"},"#, ValidThenInvalid),
    (br#"{"type":"a"} x"#, ValidThenInvalid),
    (br#"{"type":"a"}]"#, ValidThenInvalid),
    (br#"{"type":"a"}{"type":1}"#, ValidThenInvalid),
    (br#"{"type":"a"}{"type":"b","x":}"#, ValidThenInvalid),
    (b"{\"type\":\"a\"}\x0c", ValidThenInvalid),
    (b"{\"type\":\"a\"}\xff", ValidThenInvalid),
    (br#"x {"type":"a"}"#, Invalid),
    (br#"data: {"type":"a"}"#, Invalid),
    (br#"[DEBUG] {"type":"a"}"#, Invalid),
    (br#"2026-11-16T06:41:00Z {"type":"a"} {"type":"b"}"#, Invalid),
];

/// Returns the table and the lines that are too long for it: nested about as deep as the fast path goes, and
/// a million levels deep, complete and not.
fn odd_lines() -> Vec<(Vec<u8>, Verdict)> {
    let deep = |open: &str, close: &str, opened: usize, closed: usize| {
        format!(r#"{{"type":"a","x":{}1{}}}"#, open.repeat(opened), close.repeat(closed)).into_bytes()
    };
    let mut lines: Vec<_> = ODD_LINES.iter().map(|&(line, verdict)| (line.to_vec(), verdict)).collect();
    lines.push((deep("[", "]", 1_000_000, 1_000_000), Valid));
    lines.push((deep("[", "]", 1_000_000, 999_999), Invalid));
    for depth in [61, 62, 63, 64, 65, 10_000] {
        for (open, close) in [("[", "]"), (r#"{"x":"#, "}")] {
            lines.push((deep(open, close, depth, depth), Valid));
            lines.push((deep(open, close, depth, depth - 1), Invalid));
        }
        lines.push((deep("[", "]", depth, depth + 1), Invalid));
        lines.push((deep("[", "}", depth, depth), Invalid));
    }
    lines
}

/// Returns enough of a line to identify it.
fn beginning(line: &[u8]) -> String {
    line[..line.len().min(200)].escape_ascii().to_string()
}

#[test]
fn both_decoders_judge_an_odd_line_by_the_json_grammar() {
    assert!(ODD_LINES.len() >= 60);
    for (line, verdict) in odd_lines() {
        let block = [b"{\"type\":\"good\"}\n", &*line, b"\n{\"type\":\"good\"}\n"].concat();
        let skimmed = std::str::from_utf8(&block).ok().and_then(|text| event::skim(text, 16));
        let judged = event::obvious(&line);
        assert_eq!(judged.is_ok(), verdict == Valid, "{}: {judged:?}", beginning(&line));
        assert_eq!(event::decode(&line), judged, "{}", beginning(&line));
        if let Some((event, end)) = skimmed {
            assert_eq!((Ok(event), end), (judged, 16 + line.len()), "{}", beginning(&line));
        }
    }
}

#[test]
fn most_odd_lines_that_are_records_take_the_fast_path() {
    let valid = || ODD_LINES.iter().filter(|(_, verdict)| *verdict == Valid);
    let skimmed = |line: &[u8]| std::str::from_utf8(line).is_ok_and(|text| event::skim(text, 0).is_some());
    let left: Vec<String> =
        valid().filter(|(line, _)| !skimmed(line)).map(|(line, _)| beginning(line)).collect();
    // Only lines that spell a key of the record with an escape.
    assert!(left.iter().all(|line| line.contains(r#"\\u0074ype"#) || line.contains(r"\\udfff")), "{left:#?}");
    assert_eq!(left.len(), 3);
}

#[test]
fn an_odd_line_among_good_ones_is_judged_the_same_and_located() {
    const GOOD: &[u8] = b"{\"type\":\"good\"}\n";
    for (line, verdict) in odd_lines() {
        let (records, wrong): (u64, &[u64]) = match verdict {
            Valid => (4, &[]),
            Invalid => (3, &[3]),
            ValidThenInvalid => (4, &[3]),
        };
        let judge = |block: Vec<u8>, other: &[u64]| {
            let account = account_of(block);
            assert_eq!(account.kinds.get("good"), Some(&3), "{}", beginning(&line));
            assert_eq!(account.input.records, records, "{}", beginning(&line));
            assert_eq!(invalid_lines(&account), [wrong, other].concat(), "{}", beginning(&line));
            assert_eq!(account.input.truncated, 0, "{}", beginning(&line));
        };
        judge([GOOD, GOOD, &*line, b"\n", GOOD].concat(), &[]);
        // A line that is not UTF-8 disables the walk over blocks for all lines of its block.
        judge([GOOD, GOOD, &*line, b"\n", GOOD, b"\xff\n"].concat(), &[5]);
    }
}

#[test]
fn only_an_unfinished_object_at_the_end_is_truncated() {
    let end = |text: &str| {
        let input = account_of(format!("{{\"type\":\"a\"}}\n{text}")).input;
        (input.truncated, input.invalid)
    };
    assert_eq!(end(r#"{"type":"b","x":"#), (1, 0));
    assert_eq!(end("{\"type\":\"b\",\"x\":\n\n \0\n"), (1, 0), "blank lines may follow");
    assert_eq!(end(r#"{"type":"b"}{"type":"c"#), (1, 0), "joined to a good one");
    assert_eq!(end(r#"{"type":"b","x":oops"#), (0, 1), "broken before it ends");
    assert_eq!(end("oops"), (0, 1));
    assert_eq!(end("{\"type\":\"b\",\"x\":\n{\"type\":\"c\"}"), (0, 1), "not the last line");
}

#[test]
fn a_log_cut_at_any_byte_loses_only_its_last_record() {
    let last = r#"{"type":"b","é":"\ud83d\n€","x":[true,null,-1.5e+7,{}]}"#;
    let pretty = format!("{:#}", serde_json::json!({"type": "b", "é": "\n€", "x": [true, null, -1.5, {}]}));
    for (first, last) in [("{\"type\":\"a\"}\n", last), ("{\n  \"type\": \"a\"\n}\n", &*pretty)] {
        for cut in 1..last.len() {
            let torn = [first.as_bytes(), &last.as_bytes()[..cut]].concat();
            let input = account_of(&torn).input;
            let found = (input.records, input.invalid, input.truncated);
            assert_eq!(found, (1, 0, 1), "{}", torn.escape_ascii());
        }
        assert_eq!(account_of([first, last].concat()).input.records, 2);
    }
}

#[test]
fn an_array_on_one_of_many_lines_contains_records() {
    let account = account_of("{\"type\":\"a\"}\n[{\"type\":\"b\"},{\"type\":\"c\"},7]\n{\"type\":\"d\"}\n");
    assert_eq!(account.kinds.keys().map(|kind| &**kind).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    assert_eq!(invalid_lines(&account), [2]);
}

#[test]
fn a_record_a_million_levels_deep_is_a_record() {
    const DEPTH: usize = 1_000_000;
    let deep = format!(r#"{{"type":"deep","x":{}{}}}"#, "[".repeat(DEPTH), "]".repeat(DEPTH));
    assert!(event::decode(deep.as_bytes()).is_ok());
    let lines = account_of(format!("{{\"type\":\"a\"}}\n{deep}\n{{\"type\":\"b\"}}\n"));
    assert_eq!((lines.input.records, lines.input.invalid), (3, 0));
    let array = account_of(format!("[{{\"type\":\"a\"}},\n{deep}]"));
    assert_eq!((array.input.records, array.input.invalid), (2, 0));
    let open = account_of(format!("{{\"type\":\"a\"}}\n{}", &deep[..DEPTH]));
    assert_eq!((open.input.records, open.input.truncated), (1, 1));
}

#[test]
fn the_last_of_duplicate_keys_counts() {
    let account = account_of(
        r#"{"type":"result","subtype":"error_max_turns","subtype":"success","num_turns":5,"num_turns":2,"session_id":"s"}"#,
    );
    assert_eq!(account.kinds.keys().collect::<Vec<_>>(), ["result/success"]);
    assert_eq!(account.turns.num_turns, 2);
}

#[test]
fn an_impossible_number_is_missing_but_its_record_counts() {
    let absurd = account_of(
        r#"{"type":"result","subtype":"success","session_id":"s","num_turns":1e300,"duration_ms":-1e400,"total_cost_usd":1e18,"usage":{"input_tokens":99999999999999999999999}}"#,
    );
    assert_eq!((absurd.input.records, absurd.input.invalid, absurd.turns.ok), (1, 0, 1));
    assert_eq!((absurd.turns.num_turns, absurd.cost.total, absurd.duration.wall), (0, None, None));
}

#[test]
fn a_sum_above_the_maximum_does_not_wrap() {
    let result = |session: usize| {
        format!(
            r#"{{"type":"result","subtype":"success","session_id":"{session}","num_turns":900000000000000000,"total_cost_usd":900000000000000000,"model_usage_since_last_result":{{"m":{{"inputTokens":900000000000000000,"costUSD":900000000000000000}}}}}}"#
        ) + "\n"
    };
    let account = account_of((0..30).map(result).collect::<String>());
    assert_eq!((account.turns.num_turns, account.tokens.input), (u64::MAX, u64::MAX));
    assert!(account.cost.total.unwrap().nanos() > 26 * 10_i128.pow(27), "{:?}", account.cost.total);
}

#[test]
fn a_record_above_the_limit_is_one_invalid_record() {
    let (good, large) = (r#"{"type":"a"}"#, format!(r#"{{"type":"large","x":"{}"}}"#, "x".repeat(5000)));
    let pretty = large.replace(',', ",\n  ");
    for (shape, text, line, good_ones) in [
        ("a line", format!("{good}\n{large}\n{good}\n"), 2, 2),
        ("the first line", format!("{large}\n{good}\n{good}\n"), 1, 2),
        ("glued", format!("{good}\n{good}{large}{good}\n"), 2, 3),
        ("in an array", format!("[{good},\n{large},\n{good}]"), 2, 2),
        ("pretty", format!("{{\n\"type\":\"a\"\n}}\n{pretty}\n{good}\n"), 4, 2),
    ] {
        for block in [64, 6000, 256 << 10] {
            let limits = Limits { max_record: 1000, block, ..Limits::default() };
            let account = read(&[log(&text).path()], limits).0;
            let shape = format!("{shape}, read {block} bytes at once");
            assert_eq!(invalid_lines(&account), [line], "{shape}");
            assert!(account.input.invalid_places[0].reason.contains("--max-record"), "{shape}");
            assert_eq!(account.kinds.get("a"), Some(&good_ones), "{shape}");
            assert_eq!(account.input.records, good_ones, "{shape}");
        }
    }
}

#[test]
fn a_record_as_large_as_the_limit_is_a_record() {
    let record = |length: usize| format!(r#"{{"type":"a","x":"{}"}}"#, "x".repeat(length - 19));
    assert_eq!(record(100).len(), 100);
    for block in [16, 256 << 10] {
        let limits = Limits { max_record: 100, block, ..Limits::default() };
        let judge = |text: String| {
            let input = read(&[log(text).path()], limits).0.input;
            (input.records, input.invalid)
        };
        assert_eq!(judge(record(100) + "\n"), (1, 0));
        assert_eq!(judge(format!(" \t{}  \n", record(100))), (1, 0), "whitespace is not part of it");
        assert_eq!(judge(record(100) + &record(100)), (2, 0), "nor is a joined record");
        assert_eq!(judge(format!("[{},\n{}]", record(100), record(101))), (1, 1));
        assert_eq!(judge(record(101) + "\n"), (0, 1));
    }
}

#[test]
fn the_first_hundred_broken_lines_are_kept_and_all_are_counted() {
    let account = account_of("oops\n".repeat(250) + "{\"type\":\"a\"}\n");
    assert_eq!((account.input.invalid, account.input.records), (250, 1));
    assert_eq!(invalid_lines(&account), (1..=100).collect::<Vec<u64>>());
}
