//! Checks that the fast decoder agrees with the obvious one. The fuzz targets and `tests/twins.rs` share this
//! file: the same checks run for hours on nightly and for seconds on stable.

use std::{cell::RefCell, io::Write, path::Path, sync::LazyLock};

use ccstat::internal::{
    event::{self, DecodeError, Event, kernel::Portable},
    facts::{Account, Facts},
    input::{self, Limits, Origin, Place, Source, SourceId},
    measure::Prices,
    scan::{self, Options, Progress},
};
use tempfile::NamedTempFile;

/// Nesting depth above which the fast decoder may reject a line.
const DEEP: usize = 60;

/// Text before and after a line in a block. The lengths put the line at different offsets within 64 bytes.
const AROUND: &[(&str, &str)] = &[
    ("", "\n"),
    ("", ""),
    ("{\"type\":\"x\"}\n", "\n{\"type\":\"y\"}\n"),
    ("\n", "\n\"}]}\n"),
    ("é\n{\"type\":\"a\",\"x\":\"0123456789012345678901234567890123456\"}\n", "\n\\\"\\u0041\""),
    ("\"\\\n", "\n0041\"}"),
];

/// Valid records with a gap to fill.
const HOLES: &[(&str, &str)] = &[
    (
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":""#,
        r#""}]}}"#,
    ),
    (r#"{"type":"user","uuid":"u","message":{"role":"user","content":"#, r#"},"session_id":"s"}"#),
    (r#"{"type":"assistant","message":{"id":"m","model":"claude-opus-4-1","usage":"#, r#","content":[]}}"#),
    (
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":"#,
        r#"}]}}"#,
    ),
    (r#"{"type":"result","subtype":"success","modelUsage":{"m":{"inputTokens":"#, r#"}},"num_turns":2}"#),
    (r#"{"type":"stream_event","event":{"type":"message_start","message":"#, r#"},"session_id":"s"}"#),
    (r#"{"type":""#, r#"","subtype":"init"}"#),
    (r#"{"type":"system",""#, r#"":1}"#),
    (r#"{"type":"a","x":["#, r#"],"message":{}}"#),
    (r#"{"type":"progress","data":{"message":{"type":"assistant","message":"#, r#"}}}"#),
    (r#"{"type":"user","#, r#"}"#),
    ("", r#"{"type":"a"}"#),
    (r#"{"type":"a"}"#, ""),
];

/// Checks that both decoders agree on these bytes, alone and, if they have no line feed, within every block.
pub(crate) fn twins(bytes: &[u8]) {
    let line = std::str::from_utf8(bytes).ok().filter(|line| !line.contains('\n'));
    let around = if line.is_some() { AROUND } else { &[] };
    let block = |(before, after): &(&str, &str)| [before, line.unwrap_or_default(), after].concat();
    // The blocks are built first, since the compared events must have the same lifetime.
    let blocks: Vec<String> = around.iter().map(block).collect();
    let judged = event::obvious(bytes);
    assert_eq!(event::decode(bytes), judged, "{}", bytes.escape_ascii());
    if std::str::from_utf8(bytes).is_err() {
        assert_eq!(judged, Err(DecodeError::NotUtf8), "{}", bytes.escape_ascii());
    }
    for ((before, _), block) in around.iter().zip(&blocks) {
        skimmed(block, before.len(), bytes.len(), &judged);
        in_turn(block);
    }
    if let Some(line) = line {
        in_turn(&format!("{line}\n{line}\n{{\"type\":\"x\"}}\n{line}\n{line}"));
    }
}

/// A cheaper version of [`twins`] for very many inputs: the bytes alone, and between one pair of neighbours.
pub(crate) fn skim(bytes: &[u8]) {
    let line = std::str::from_utf8(bytes).ok().filter(|line| !line.contains('\n'));
    let (before, after) = AROUND[bytes.len() % AROUND.len()];
    let block = [before, line.unwrap_or_default(), after].concat();
    let judged = event::obvious(bytes);
    assert_eq!(event::decode(bytes), judged, "{}", bytes.escape_ascii());
    if line.is_some() {
        skimmed(&block, before.len(), bytes.len(), &judged);
        in_turn(&block);
    }
}

/// Checks that state kept between lines changes nothing: neither the string index of a block nor the key
/// predictor, which learns from good and bad lines of earlier blocks. The portable kernel, which only few
/// processors select, must agree as well.
pub(crate) fn in_turn(block: &str) {
    thread_local!(static PREDICTORS: RefCell<[event::KeyPredictor; 2]> = RefCell::default());
    PREDICTORS.with_borrow_mut(|[best, portable]| {
        let (mut best, mut portable) =
            (event::Skimmer::new(block, best), event::Skimmer::new(block, portable));
        let mut from = 0;
        while from < block.len() {
            let alone = event::skim(block, from);
            let read = best.read(from).map(|(event, end)| (event.clone(), end));
            assert_eq!(read, alone, "at {from} of {block:?}");
            let read = portable.read_with(Portable, from).map(|(event, end)| (event.clone(), end));
            assert_eq!(read, alone, "with the portable kernel at {from} of {block:?}");
            from = block[from..].find('\n').map_or(block.len(), |end| from + end + 1);
        }
    });
}

/// Runs [`twins`] with the bytes put into the gaps of valid records.
pub(crate) fn spliced(bytes: &[u8]) {
    for (before, after) in HOLES {
        twins(&[before.as_bytes(), bytes, after.as_bytes()].concat());
    }
    repeated(bytes);
}

/// A line that is repeated, so that the key predictor learns it.
const REPEATED: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"words"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","share":-1.5,"list":[true,"a",2]}"#;

/// Parts of the repeated line that are replaced.
const CHANGES: &[&str] = &[
    "words",
    r#""words""#,
    "0",
    "-1.5",
    "null",
    r#""s""#,
    r#""u""#,
    r#""uuid""#,
    r#""text":"#,
    "content_block_delta",
    "stream_event",
    "true",
    "2",
    "}}",
    "]}",
    r#"{"type":"stream_event","#,
];

/// Checks that a line decodes as it does alone after similar lines, with the bytes in place of each part.
fn repeated(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for change in CHANGES.iter().filter(|_| !text.contains('\n')) {
        let other = REPEATED.replacen(change, text, 1);
        in_turn(&format!(
            "{REPEATED}\n{REPEATED}\n{other}\n{REPEATED}\n{other}\n{other}\n{other}\n{REPEATED}"
        ));
    }
}

fn skimmed<'a>(block: &'a str, from: usize, length: usize, judged: &Result<Event<'a>, DecodeError>) {
    match event::skim(block, from) {
        Some((event, end)) => {
            assert_eq!(Ok(&event), judged.as_ref(), "at {from} of {block:?}");
            assert_eq!(end, from + length, "at {from} of {block:?}");
        }
        None => {
            let must = judged.is_ok() && is_plain(&block[from..from + length]);
            assert!(!must, "left to the obvious path: at {from} of {block:?}");
        }
    }
}

/// Returns whether the fast decoder must accept this valid line.
fn is_plain(line: &str) -> bool {
    let bytes = line.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = closing_quote(bytes, at + 1);
                let follows = line[end + 1..].trim_start_matches([' ', '\t', '\r']);
                if follows.starts_with(':') && line[at..end].contains('\\') {
                    return false;
                }
                at = end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth > DEEP {
            return false;
        }
        at += 1;
    }
    line.starts_with('{')
}

fn closing_quote(bytes: &[u8], mut at: usize) -> usize {
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Checks that reading these bytes as a source never panics, that sizes of blocks and units and the number of
/// threads do not change the account, and that the obvious decoder gets the same account if each line has at
/// most one value. Returns the account, or `None` for compressed bytes.
pub(crate) fn scan(bytes: &[u8], block: usize, unit: u64) -> Option<Account> {
    if bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        return None; // decompression is not fuzzed
    }
    let file = file_with(bytes);
    let account = account(file.path(), Limits::default(), 1);
    let shared = self::account(file.path(), Limits { block, unit, ..Limits::default() }, 2);
    assert_eq!(shared, account, "blocks of {block}, units of {unit}: {}", bytes.escape_ascii());
    if let Some(lines) = things(bytes) {
        line_by_line(&lines, &account);
    }
    Some(account)
}

/// The account of a file, read with this number of threads.
fn account(path: &Path, limits: Limits, threads: usize) -> Account {
    let source = Source { origin: Origin::File(path.to_owned()), unverified: false, machine: None };
    let bulk = (threads > 1).then(|| Source {
        origin: Origin::File(BULK.path().to_owned()),
        unverified: true,
        machine: None,
    });
    let sources: Vec<Source> = [source].into_iter().chain(bulk).collect();
    let options = Options { limits, threads, ..Options::default() };
    let scan = scan::scan(&sources, &options, &Progress::default());
    assert!(scan.unread.is_empty(), "{:?}", scan.unread);
    scan.facts.settle(&Prices::built_in())
}

/// A large sparse file that is not a log. Threads are started only for a megabyte or more. It begins as a
/// document, which is not split into units.
static BULK: LazyLock<NamedTempFile> = LazyLock::new(|| {
    let file = file_with(b"[{}]");
    file.as_file().set_len(2 << 20).expect("a sparse file");
    file
});

fn file_with(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a few bytes");
    file
}

/// The trimmed lines with their offsets, or `None` if a line may have more than one value.
pub(crate) fn things(bytes: &[u8]) -> Option<Vec<(usize, &[u8])>> {
    let begin = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut lines = Vec::new();
    let (mut offset, mut objects) = (begin, 0);
    for line in bytes[begin..].split_inclusive(|&byte| byte == b'\n') {
        let skipped = line.iter().take_while(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\r')).count();
        let kept = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        let thing = line.get(skipped..kept.map_or(0, |last| last + 1)).unwrap_or_default();
        match thing.first() {
            Some(b'[') => return None,
            Some(b'{') => {
                objects += 1;
                let goes_on = input::first_value(&bytes[offset + skipped..])
                    .is_some_and(|value| value.contains(&b'\n'));
                if objects == 1 && goes_on || input::first_value(thing).is_some_and(|value| value != thing) {
                    return None;
                }
            }
            _ => {}
        }
        lines.push((offset + skipped, thing));
        offset += line.len();
    }
    Some(lines)
}

/// Checks that every line is blank, a record, invalid, or truncated at the end, and that the records give the
/// same account.
fn line_by_line(lines: &[(usize, &[u8])], account: &Account) {
    let mut facts = Facts::default();
    facts.unit(SourceId(0), 0, 0, lines.len() as u64);
    let (mut blank, mut wrong) = (0, Vec::new());
    for (&(offset, thing), line) in lines.iter().zip(0..) {
        let place = Place { source: SourceId(0), offset: offset as u64, unit: 0, line };
        match event::obvious(thing) {
            _ if thing.is_empty() => blank += 1,
            Ok(event) => facts.absorb(place, &event),
            Err(_) => wrong.push(line + 1),
        }
    }
    let input = &account.input;
    assert_eq!(input.lines, lines.len() as u64);
    assert_eq!(input.lines, input.blank + input.invalid + input.truncated + input.records);
    assert_eq!((input.blank, input.invalid + input.truncated), (blank, wrong.len() as u64));
    let last = lines.iter().rposition(|(_, thing)| !thing.is_empty()).map(|at| at as u64 + 1);
    if input.truncated == 1 {
        assert_eq!(wrong.pop(), last, "only the last line is truncated");
    }
    let named: Vec<u64> = input.invalid_places.iter().map(|place| place.line).collect();
    assert_eq!(named, wrong[..wrong.len().min(100)]);
    let mut told = facts.settle(&Prices::built_in());
    assert_eq!((told.input.records, &told.input.dialects), (input.records, &input.dialects));
    told.input = input.clone();
    assert_eq!(told, *account);
}
