//! The fast decoder must agree with the obvious one on recorded lines, on plausible variations of them, and
//! on invalid input. The checks are in `fuzz/checks.rs`, and fuzzing runs them too.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may unwrap, and clippy exempts only functions with a test attribute"
)]

#[path = "../fuzz/checks.rs"]
mod checks;

use std::{fs, path::Path, sync::LazyLock};

use ccstat::internal::event;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use serde_json::Value;

/// Returns the lines of all `.jsonl` files below a folder of `testdata/`.
fn lines(folder: &str) -> Vec<String> {
    fn collect(folder: &Path, lines: &mut Vec<String>) {
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                collect(&path, lines);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                lines.extend(fs::read_to_string(path).unwrap().lines().map(str::to_owned));
            }
        }
    }
    let mut lines = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder), &mut lines);
    lines
}

// Recorded lines.

#[test]
fn the_fast_path_decodes_every_recorded_line_and_agrees() {
    for (folder, at_least, others) in [("recordings", 1000, 4), ("kinds", 70, 0)] {
        let lines = lines(folder);
        assert!(lines.len() >= at_least, "{folder} has {} lines", lines.len());
        lines.iter().for_each(|line| checks::twins(line.as_bytes()));
        // Two processes were killed while they wrote a line, and two wrote one array.
        let left: Vec<&String> = lines.iter().filter(|line| event::skim(line, 0).is_none()).collect();
        assert_eq!(left.len(), others, "not decoded by the fast path: {left:#?}");
    }
}

/// A record reuses the memory of the one before it.
#[test]
fn no_field_of_a_record_or_of_a_truncated_one_leaks_into_the_next() {
    let mut lines = lines("kinds");
    // Fields that a sample has and the next may lack, in every nested object that the walk reads.
    lines.extend(
        [
            r#"{"type":"user"}"#,
            r#"{"type":"assistant","message":{}}"#,
            r#"{"type":"assistant","message":{"content":[]}}"#,
            r#"{"type":"assistant","message":{"content":"text","usage":{}}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]},"tool_result_meta":[{"id":"t","non_execution_kind":"x"}]}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
            r#"{"type":"result","usage":{"server_tool_use":{"web_search_requests":3}}}"#,
            r#"{"type":"result"}"#,
            r#"{"type":"result","usage":{},"modelUsage":{},"model_usage_since_last_result":{}}"#,
            r#"{"type":"result","modelUsage":{"m":{}}}"#,
            r#"{"type":"cost-state","totalCostUSD":1}"#,
            r#"{"type":"attachment","attachment":{}}"#,
            r#"{"type":"attachment"}"#,
            r#"{"type":"stream_event"}"#,
            r#"{"type":"stream_event","event":{}}"#,
            r#"{"type":"stream_event","event":{"type":"message_start"}}"#,
            r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}"#,
            r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","usage":{"cache_creation":{},"server_tool_use":{}}}}}"#,
            r#"{"type":"stream_event","event":{"type":"message_delta"}}"#,
            r#"{"type":"stream_event","event":{"type":"message_delta","delta":{},"usage":{}}}"#,
        ]
        .map(str::to_owned),
    );
    for first in &lines {
        let half = first.floor_char_boundary(first.len() / 2);
        let long = first.floor_char_boundary(first.len() - 1);
        for next in &lines {
            checks::in_turn(&format!(
                "{first}\n{next}\n{}\n{next}\n{}\n{next}",
                &first[..half],
                &first[..long]
            ));
        }
    }
}

#[test]
fn the_decoders_agree_on_a_record_cut_at_any_byte() {
    for line in lines("kinds") {
        for end in 0..line.len() {
            checks::twins(&line.as_bytes()[..end]);
        }
    }
}

#[test]
fn the_decoders_agree_at_any_depth() {
    const PLACES: [(&str, &str); 9] = [
        (r#"{"type":"a","x":"#, "}"),
        (r#"{"type":"user","message":"#, r#","uuid":"u"}"#),
        (r#"{"type":"user","message":{"role":"user","content":"#, "}}"),
        (r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"#, "}]}}"),
        (r#"{"type":"assistant","message":{"id":"m","usage":"#, "}}"),
        (r#"{"type":"user","message":{"content":[]},"tool_result_meta":"#, "}"),
        (r#"{"type":"stream_event","event":"#, "}"),
        (r#"{"type":"result","permission_denials":"#, r#","num_turns":1}"#),
        (r#"{"type":"progress","data":{"message":"#, "}}"),
    ];
    for depth in (52..70).chain([127, 128, 1000, 20_000]) {
        for (open, close) in
            [("[", "]"), ("{\"type\":", "}"), ("[{\"message\":", "}]"), ("[[{\"x\":[", "]}]]")]
        {
            let nest = |closed: usize| format!("{}1{}", open.repeat(depth), close.repeat(closed));
            for (before, after) in PLACES {
                checks::twins(format!("{before}{}{after}", nest(depth)).as_bytes());
            }
            let (before, after) = PLACES[0];
            for closed in [depth - 1, depth + 1] {
                checks::twins(format!("{before}{}{after}", nest(closed)).as_bytes());
            }
        }
    }
}

// Plausible variations.

/// Keys, with their quotes, and values.
type Fields = Vec<(String, Tree)>;

/// JSON as text, since a parser would normalise unusual spellings.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(String),
    Array(Vec<Tree>),
    Object(Fields),
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(all) => Self::Array(all.into_iter().map(Self::from).collect()),
            Value::Object(all) => Self::Object(
                all.into_iter().map(|(key, value)| (Value::from(key).to_string(), value.into())).collect(),
            ),
            leaf => Self::Leaf(leaf.to_string()),
        }
    }
}

impl Tree {
    fn parse(text: &str) -> Self {
        serde_json::from_str::<Value>(text).map_or_else(|_| Self::Leaf(text.to_owned()), Self::from)
    }

    fn children(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Leaf(_) => Vec::new(),
            Self::Array(all) => all.iter_mut().collect(),
            Self::Object(all) => all.iter_mut().map(|(_, value)| value).collect(),
        }
    }

    /// Calls `act` with this tree and everything below it.
    fn each(&mut self, act: &mut dyn FnMut(&mut Self)) {
        act(self);
        self.children().into_iter().for_each(|child| child.each(act));
    }

    /// Calls `act` with one of the matching trees, chosen by `at`.
    fn one(&mut self, at: Index, fits: fn(&Self) -> bool, mut act: impl FnMut(&mut Self)) {
        let mut count = 0;
        self.each(&mut |tree| count += usize::from(fits(tree)));
        if count == 0 {
            return;
        }
        let (wanted, mut number) = (at.index(count), 0);
        self.each(&mut |tree| {
            if fits(tree) {
                number += 1;
                if number == wanted + 1 {
                    act(tree);
                }
            }
        });
    }

    fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Writes the tree as JSON, with whitespace from `blanks` between the tokens.
    fn write(&self, blanks: &mut dyn Iterator<Item = &'static str>, text: &mut String) {
        let mut token = |text: &mut String, token: &str| {
            text.push_str(token);
            text.push_str(blanks.next().unwrap_or_default());
        };
        match self {
            Self::Leaf(leaf) => token(text, leaf),
            Self::Array(all) => {
                token(text, "[");
                for (number, value) in all.iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                    }
                    value.write(blanks, text);
                }
                text.push(']');
            }
            Self::Object(all) => {
                token(text, "{");
                for (number, (key, value)) in all.iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                        text.push_str(blanks.next().unwrap_or_default());
                    }
                    text.push_str(key);
                    text.push_str(blanks.next().unwrap_or_default());
                    text.push(':');
                    text.push_str(blanks.next().unwrap_or_default());
                    value.write(blanks, text);
                }
                text.push('}');
                text.push_str(blanks.next().unwrap_or_default());
            }
        }
    }
}

/// Records of every kind, and some of the shorter recorded lines.
static TEMPLATES: LazyLock<Vec<Tree>> = LazyLock::new(|| {
    let recorded = lines("recordings").into_iter().filter(|line| line.len() < 1500).step_by(7);
    lines("kinds").into_iter().chain(recorded).map(|line| Tree::parse(&line)).collect()
});

/// All keys of the templates, with their quotes.
static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    for tree in &*TEMPLATES {
        tree.clone().each(&mut |tree| {
            if let Tree::Object(all) = tree {
                keys.extend(all.iter().map(|(key, _)| key.clone()));
            }
        });
    }
    keys.sort();
    keys.dedup();
    assert!(keys.len() > 100, "{keys:?}");
    keys
});

/// Values of every type, unusual ones, and those that decide the meaning of a record.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "1.9",
    "1e3",
    "1E-5",
    "-1e-400",
    "1e400",
    "-1e400",
    "1e18",
    "999999999999999999",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "1e-7",
    "123456789012345678901234567890123456789012345678901234567890",
    "-0.0e+0",
    "429",
    "529.5",
    "{}",
    "[]",
    "[[]]",
    "[{}]",
    "[null]",
    "{\"\":{}}",
    "\"\"",
    "\"a\"",
    "\"é€😀\"",
    "\"\\ud800\"",
    "\"\\udc00x\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"us\\u0065r\"",
    "\"user\"",
    "\"assistant\"",
    "\"system\"",
    "\"result\"",
    "\"progress\"",
    "\"stream_event\"",
    "\"tool_use\"",
    "\"tool_result\"",
    "\"text\"",
    "\"success\"",
    "\"message_start\"",
    "\"message_delta\"",
    "\"permission_denied\"",
    "\"api_retry\"",
    "\"<synthetic>\"",
    "\"human\"",
    "\"reject\"",
    "\"fast\"",
    "\"API Error: 529\"",
    "\"<command-name>\"",
    "\"2026-11-16T06:41:00.123Z\"",
    "[{\"type\":\"text\",\"text\":\"API Error\"}]",
    "[1,\"a\",{\"type\":\"tool_result\",\"is_error\":true}]",
    "{\"type\":\"a\"}",
    "{\"type\":1}",
    "{\"type\":\"user\",\"message\":{\"content\":\"x\"}}",
];

fn value() -> impl Strategy<Value = Tree> {
    prop_oneof![
        4 => select(VALUES).prop_map(Tree::parse),
        // Unparsed: a parser would keep neither `1e400` nor a lone surrogate.
        4 => select(VALUES).prop_map(|text| Tree::Leaf(text.to_owned())),
        1 => "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?".prop_map(Tree::Leaf),
        2 => r#""([ -!#-\[\]-~é€😀]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){0,90}""#.prop_map(Tree::Leaf),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(template, at)| {
            let (mut template, mut found) = (template.get(&TEMPLATES).clone(), Tree::Array(Vec::new()));
            template.one(at, |_| true, |tree| found = tree.clone());
            found
        }),
    ]
}

/// A change to a record that keeps it valid JSON.
#[derive(Clone, Debug)]
enum Change {
    /// Replaces a value, possibly by one of another type.
    Replace(Index, Tree),
    /// Inserts a key, which may be a duplicate, at any position.
    Add(Index, Index, Index, Tree),
    /// Adds a second value for a key of the object.
    Repeat(Index, Index, Tree),
    /// Writes one character of a key as an escape.
    Escape(Index, Index),
    Remove(Index, Index),
    Rotate(Index, Index),
    /// Nests a value in that many arrays or objects.
    Wrap(Index, usize, bool),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), value()).prop_map(|(at, value)| Change::Replace(at, value)),
        3 => (at(), at(), at(), value()).prop_map(|(at, key, place, value)| Change::Add(at, key, place, value)),
        3 => (at(), at(), value()).prop_map(|(at, key, value)| Change::Repeat(at, key, value)),
        1 => (at(), at()).prop_map(|(at, key)| Change::Escape(at, key)),
        2 => (at(), at()).prop_map(|(at, key)| Change::Remove(at, key)),
        3 => (at(), at()).prop_map(|(at, by)| Change::Rotate(at, by)),
        1 => (at(), prop_oneof![1usize..4, 50usize..70, 200usize..3000], any::<bool>())
            .prop_map(|(at, depth, object)| Change::Wrap(at, depth, object)),
    ]
}

impl Change {
    fn apply(&self, record: &mut Tree) {
        let fields = |at: Index, record: &mut Tree, act: &mut dyn FnMut(&mut Fields)| {
            record.one(at, Tree::is_object, |tree| {
                if let Tree::Object(all) = tree {
                    act(all);
                }
            });
        };
        let some = |at: &Index, all: &[(String, Tree)]| (!all.is_empty()).then(|| at.index(all.len().max(1)));
        match self {
            Self::Replace(at, value) => record.one(*at, |_| true, |tree| tree.clone_from(value)),
            Self::Add(at, key, place, value) => fields(*at, record, &mut |all| {
                all.insert(place.index(all.len() + 1), (key.get(&KEYS).clone(), value.clone()));
            }),
            Self::Repeat(at, key, value) => fields(*at, record, &mut |all| {
                if let Some(key) = some(key, all) {
                    all.push((all[key].0.clone(), value.clone()));
                }
            }),
            Self::Escape(at, key) => fields(*at, record, &mut |all| {
                if let Some(key) = some(key, all) {
                    let (quote, rest) = all[key].0.split_at(1);
                    let Some(letter) = rest.chars().next().filter(|letter| !"\"\\".contains(*letter)) else {
                        return;
                    };
                    let escaped =
                        format!("{quote}\\u{:04x}{}", u32::from(letter) & 0xffff, &rest[letter.len_utf8()..]);
                    all[key].0 = escaped;
                }
            }),
            Self::Remove(at, key) => fields(*at, record, &mut |all| {
                if let Some(key) = some(key, all) {
                    all.remove(key);
                }
            }),
            Self::Rotate(at, by) => fields(*at, record, &mut |all| {
                if let Some(by) = some(by, all) {
                    all.rotate_left(by);
                }
            }),
            Self::Wrap(at, depth, object) => {
                let (open, close) = if *object { ("{\"type\":", "}") } else { ("[", "]") };
                record.one(
                    *at,
                    |_| true,
                    |tree| {
                        let mut text = open.repeat(*depth);
                        tree.write(&mut std::iter::empty(), &mut text);
                        *tree = Tree::Leaf(text + &close.repeat(*depth));
                    },
                );
            }
        }
    }
}

/// A record that some version of Claude Code, or a similar program, could have written.
fn plausible() -> impl Strategy<Value = String> {
    let blanks = prop_oneof![
        2 => Just(vec![""]),
        1 => vec(prop_oneof![3 => Just(""), 1 => select(&[" ", "\t", "\r", " \t  "][..])], 1..20),
    ];
    (any::<Index>(), vec(change(), 0..6), blanks).prop_map(|(template, changes, blanks)| {
        let mut record = template.get(&TEMPLATES).clone();
        changes.iter().for_each(|change| change.apply(&mut record));
        let mut text = String::new();
        record.write(&mut blanks.into_iter().cycle(), &mut text);
        text
    })
}

// Invalid input.

/// Text that is invalid in most places of JSON.
const INVALID: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\x",
    b"\\u12",
    b"\\u",
    b"\\'",
    b"\\U0041",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"'",
    b"0",
    b"01",
    b"-",
    b"+1",
    b".5",
    b"1.",
    b"1e",
    b"NaN",
    b"Infinity",
    b"undefined",
    b"nul",
    b"True",
    b"//",
    b"/**/",
    b"#",
    b"\0",
    b"\x01",
    b"\x1f",
    b"\x7f",
    b"\t",
    b"\r",
    b"\x0b",
    b"\x0c",
    b" ",
    b"\x80",
    b"\xff",
    b"\xc0\x80",
    b"\xc3",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\xef\xbb\xbf",
    "\u{a0}".as_bytes(),
    "\u{2028}".as_bytes(),
    "é".as_bytes(),
    b"{}",
    b"{\"type\":\"b\"}",
    b"\"\"",
];

#[derive(Clone, Debug)]
enum Edit {
    Flip(Index, u8),
    Drop(Index),
    Cut(Index),
    Insert(Index, &'static [u8]),
    /// Replaces a bracket by another.
    Bracket(Index, u8),
    /// Swaps two bytes.
    Swap(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        2 => (at(), 0u8..8).prop_map(|(at, bit)| Edit::Flip(at, 1 << bit)),
        2 => at().prop_map(Edit::Drop),
        1 => at().prop_map(Edit::Cut),
        4 => (at(), select(INVALID)).prop_map(|(at, text)| Edit::Insert(at, text)),
        1 => (at(), select(&b"{}[]"[..])).prop_map(|(at, bracket)| Edit::Bracket(at, bracket)),
        1 => (at(), at()).prop_map(|(one, other)| Edit::Swap(one, other)),
    ]
}

impl Edit {
    fn apply(&self, line: &mut Vec<u8>) {
        if line.is_empty() {
            return;
        }
        let length = line.len();
        match self {
            Self::Flip(at, bit) => line[at.index(length)] ^= bit,
            Self::Drop(at) => drop(line.remove(at.index(length))),
            Self::Cut(at) => line.truncate(at.index(length)),
            Self::Insert(at, text) => {
                let at = at.index(length + 1);
                line.splice(at..at, text.iter().copied());
            }
            Self::Bracket(at, bracket) => {
                let brackets: Vec<usize> = (0..length).filter(|&at| b"{}[]".contains(&line[at])).collect();
                if !brackets.is_empty() {
                    line[*at.get(&brackets)] = *bracket;
                }
            }
            Self::Swap(one, other) => line.swap(one.index(length), other.index(length)),
        }
    }
}

/// A plausible record that was corrupted, on one line.
fn corrupt() -> impl Strategy<Value = Vec<u8>> {
    (plausible(), vec(edit(), 1..4)).prop_map(|(line, edits)| {
        let mut line = line.into_bytes();
        edits.iter().for_each(|edit| edit.apply(&mut line));
        line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        line
    })
}

/// A source of valid, corrupt, blank and joined lines.
fn source() -> impl Strategy<Value = Vec<u8>> {
    let special: &[&str] =
        &["", " \t", "\0\0", "oops", "42", "[1]", "{", "}", "{}", "{\"type\":\"a\"", "[{\"type\":\"a\"}]"];
    let line = prop_oneof![
        4 => plausible().prop_map(String::into_bytes),
        2 => corrupt(),
        1 => select(special).prop_map(|line| line.as_bytes().to_vec()),
        1 => (plausible(), plausible()).prop_map(|(one, other)| (one + &other).into_bytes()),
    ];
    (vec((line, select(&["\n", "\n", "\n", "\r\n", "\n\n"][..])), 0..6), any::<bool>()).prop_map(
        |(lines, ends)| {
            let mut source: Vec<u8> =
                lines.into_iter().flat_map(|(line, end)| [line, end.into()].concat()).collect();
            if !ends {
                source.pop();
            }
            source
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_decoders_agree_on_plausible_records(line in plausible()) {
        checks::twins(line.as_bytes());
    }

    #[test]
    fn the_decoders_agree_on_corrupt_records(line in corrupt()) {
        checks::skim(&line);
        checks::twins(&line);
    }

    #[test]
    fn the_decoders_agree_on_records_with_invalid_text_inside(parts in vec(select(INVALID), 0..5)) {
        checks::spliced(&parts.concat());
    }

    #[test]
    fn the_decoders_agree_on_any_value_in_any_field(value in value()) {
        let mut text = String::new();
        value.write(&mut std::iter::empty(), &mut text);
        checks::spliced(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_source_gives_the_same_account_in_any_units_and_line_by_line(source in source(), block in 0usize..300, unit in 20u64..3000) {
        let _ = checks::scan(&source, block, unit);
    }
}
