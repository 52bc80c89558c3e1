//! Following: files that grow, are cut, replaced and written anew, and folders where sessions appear and vanish. After
//! each step what is known equals what an ordinary read of the same files gives.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use ccstat::{
    facts::Detail,
    input::{self, Limits, Wanted},
    measure::Prices,
    scan::{
        self, Options, Progress, Scan,
        follow::{Followed, Look},
    },
};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::{recording, testdata};

/// A folder that is followed, with all details kept, in small units.
struct Story {
    folder: TempDir,
    followed: Followed,
    options: Options,
}

impl Story {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let limits = Limits { unit: 700, block: 64, ..Limits::default() };
        let options = Options { threads: 1, limits, detail: Detail::Records, ..Options::default() };
        let followed = Followed::begin(wanted(folder.path()), options.clone(), &Progress::default());
        let mut story = Self { folder, followed, options };
        story.check("at first");
        story
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn append(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }

    fn truncate(&self, name: &str, length: u64) {
        let file = fs::OpenOptions::new().write(true).open(self.path(name)).unwrap();
        file.set_len(length).unwrap();
    }

    fn replace(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.write("new.tmp", bytes);
        fs::rename(self.path("new.tmp"), self.path(name)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// A look finds news, and after it everything is as if it were read for the first time.
    #[track_caller]
    fn changes(&mut self, when: &str) {
        assert!(self.followed.look(Look::Sweep), "{when}: no change was seen");
        self.check(when);
    }

    #[track_caller]
    fn check(&mut self, when: &str) {
        let search = input::find(&wanted(self.folder.path()));
        assert_eq!(self.followed.sources(), search.sources, "{when}");
        let fresh = scan::scan(&search.sources, &self.options, &Progress::default());
        assert_eq!(told(&self.followed.snapshot()), told(&fresh), "{when}");
    }
}

fn wanted(path: &Path) -> Wanted {
    Wanted::Paths(vec![path.to_owned()])
}

/// Everything that reading tells: sums, rows, and what could not be read.
fn told(scan: &Scan) -> [String; 3] {
    let Scan { facts, unread } = scan;
    let account = facts.clone().settle(&Prices::built_in());
    let ledger = facts.clone().ledger(&Prices::built_in());
    let unread =
        unread.iter().map(|unread| format!("{:?} {:?} {}\n", unread.source, unread.offset, unread.error));
    [format!("{account:#?}"), format!("{ledger:#?}"), unread.collect()]
}

/// A saved session with subagents, and a stream.
fn logs() -> [Vec<u8>; 2] {
    let session = "logs/week/-home-dev-shop/8be20d17-2f64-4a0c-8e13-71d2a9c00002.jsonl";
    [testdata(session), recording("stream/03-two-sequential-bash.jsonl")].map(|path| fs::read(path).unwrap())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn a_file_that_grows_in_odd_pieces_is_known_at_every_step() {
    for log in logs() {
        let mut story = Story::new(&[("a.jsonl", b"")]);
        for piece in log.chunks(389) {
            story.append("a.jsonl", piece);
            story.changes("a piece more");
        }
        assert!(!story.followed.look(Look::Sweep) && !story.followed.look(Look::Glance), "nothing happened");
    }
}

#[test]
fn each_byte_of_a_first_record_may_be_the_last_so_far() {
    let starts =
        [&b"\xef\xbb\xbf {\"type\":\"user\"}\n{\"type\":"[..], b"noise\n[\n{\"type\":\"a\"}]", b"{\n}{}\n"];
    for bytes in starts {
        let mut story = Story::new(&[("a.jsonl", b""), ("b.jsonl", b"{\"type\":\"user\"}\n")]);
        for byte in bytes {
            story.append("a.jsonl", [*byte]);
            story.changes("a byte more");
        }
    }
}

#[test]
fn a_glance_sees_what_is_written_to_a_file_that_is_known() {
    let [log, _] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    story.append("a.jsonl", &log);
    assert!(story.followed.look(Look::Glance));
    story.check("grown");
    story.write("b.jsonl", &log);
    assert!(!story.followed.look(Look::Glance), "others are not looked for");
    assert!(story.followed.look(Look::Sweep));
}

#[test]
fn a_file_that_is_cut_is_read_again() {
    let [log, _] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    story.truncate("a.jsonl", log.len() as u64 - 10);
    story.changes("a torn line");
    story.truncate("a.jsonl", 0);
    story.changes("nothing left");
    story.append("a.jsonl", &log);
    story.changes("from the start");
}

#[test]
fn a_file_that_is_replaced_is_read_again_even_if_the_new_one_is_longer() {
    let [log, other] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    story.replace("a.jsonl", [&log[..], &other].concat());
    story.changes("longer, with the same beginning");
    story.replace("a.jsonl", &other);
    story.changes("another");
}

#[test]
fn a_file_that_is_written_anew_in_place_is_read_again() {
    let [log, other] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    let mut same_length = log.clone();
    let digit = log.iter().position(u8::is_ascii_digit).unwrap();
    same_length[digit] = if log[digit] == b'1' { b'2' } else { b'1' };
    story.write("a.jsonl", &same_length);
    story.changes("as long as before");
    story.write("a.jsonl", [&other[..], &log, &other].concat());
    story.changes("longer than before");
}

#[test]
fn a_log_that_is_rotated_is_two_files_then() {
    let [log, other] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    fs::rename(story.path("a.jsonl"), story.path("a.1.jsonl")).unwrap();
    story.changes("moved");
    story.append("a.jsonl", &other);
    story.changes("and begun again");
    story.write("a.2.jsonl.gz", gzip(&log));
    story.remove("a.1.jsonl");
    story.changes("and packed");
}

#[test]
fn sessions_appear_and_vanish_in_any_order_of_names() {
    let [log, other] = logs();
    let mut story = Story::new(&[("m.jsonl", &log)]);
    story.write("z.jsonl", &other);
    story.changes("after the others");
    story.write("b.jsonl", &other[..other.len() / 2]);
    story.changes("before the others");
    story.append("b.jsonl", &other[other.len() / 2..]);
    story.changes("grown");
    fs::create_dir(story.path("deep")).unwrap();
    story.write("deep/c.jsonl", &log);
    story.changes("in a folder of its own");
    story.remove("m.jsonl");
    story.changes("one less");
    fs::remove_dir_all(story.path("deep")).unwrap();
    story.remove("b.jsonl");
    story.remove("z.jsonl");
    story.changes("none left");
    story.write("a.jsonl", &log);
    story.changes("and one again");
}

#[test]
fn what_is_packed_or_a_document_is_read_again_when_it_changes() {
    let [log, other] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    let packed = gzip(&other);
    story.write("z.jsonl.gz", &packed[..packed.len() / 2]);
    story.changes("half of a packed file");
    story.write("z.jsonl.gz", &packed);
    story.changes("all of it");
    story.write("zz.json", "[{\"type\":\"user\"},\n");
    story.changes("half of a document");
    story.append("zz.json", "{\"type\":\"assistant\"}]");
    story.changes("all of it");
}

#[test]
fn other_json_becomes_a_log_when_it_begins_with_a_record() {
    let mut story = Story::new(&[("a.jsonl", b"{\"type\":\"user\"}\n"), ("b.json", b"{\"name\":1}\n")]);
    story.write("b.json", "{\"type\":\"us");
    story.changes("half of a record");
    story.append("b.json", "er\"}\n");
    story.changes("a record");
    story.append("b.json", "{\"type\":\"user\"}\n");
    story.changes("two");
    story.write("b.json", "{\"name\":1}\n");
    story.changes("no log any more");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_read_when_it_may() {
    use std::os::unix::fs::PermissionsExt;
    let mut story =
        Story::new(&[("a.jsonl", b"{\"type\":\"user\"}\n"), ("b.jsonl", b"{\"type\":\"user\"}\n")]);
    for mode in [0o000, 0o600] {
        fs::set_permissions(story.path("b.jsonl"), fs::Permissions::from_mode(mode)).unwrap();
        story.changes("other permissions");
    }
}

/// What may happen to a file.
#[derive(Clone, Debug)]
enum Step {
    Append(usize, Vec<u8>),
    Truncate(usize, usize),
    Rewrite(usize, Vec<u8>),
    Replace(usize, Vec<u8>),
    Remove(usize),
}

const NAMES: [&str; 4] = ["b.jsonl", "d.json", "a.ndjson", "c.jsonl.gz"];

impl Step {
    fn happen(&self, story: &Story) {
        match self {
            Self::Append(at, bytes) => story.append(NAMES[*at], bytes),
            Self::Rewrite(at, bytes) => story.write(NAMES[*at], bytes),
            Self::Replace(at, bytes) => story.replace(NAMES[*at], bytes),
            Self::Truncate(at, part) => {
                if let Ok(about) = story.path(NAMES[*at]).metadata() {
                    story.truncate(NAMES[*at], about.len() * *part as u64 / 100);
                }
            }
            Self::Remove(at) => drop(fs::remove_file(story.path(NAMES[*at]))),
        }
    }
}

/// Pieces of logs: whole lines, parts of lines, documents, noise, and packed ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let [log, stream] = logs();
    let both = [log, stream].concat();
    let cut = both.clone();
    let lines: Vec<Vec<u8>> = both.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let odd: [&[u8]; 9] = [
        b"\n",
        b"{",
        b"{\n",
        b"}\n",
        b"[",
        b"]",
        b"noise\n",
        b"{\"type\":\"user\"}{\"type\":\"user\"}\n",
        b"",
    ];
    prop_oneof![
        4 => prop::sample::select(lines),
        3 => (0..cut.len(), 1..1500_usize).prop_map(move |(from, length)| cut[from..cut.len().min(from + length)].to_vec()),
        2 => prop::sample::select(odd.map(<[u8]>::to_vec).to_vec()),
        1 => (0..2000_usize).prop_map(move |length| gzip(&both[..length])),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let file = 0..NAMES.len();
    prop_oneof![
        6 => (file.clone(), piece()).prop_map(|(at, bytes)| Step::Append(at, bytes)),
        1 => (file.clone(), 0..100_usize).prop_map(|(at, part)| Step::Truncate(at, part)),
        1 => (file.clone(), piece()).prop_map(|(at, bytes)| Step::Rewrite(at, bytes)),
        1 => (file.clone(), piece()).prop_map(|(at, bytes)| Step::Replace(at, bytes)),
        1 => file.prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_files_a_snapshot_is_what_reading_them_gives(steps in prop::collection::vec(step(), 1..24)) {
        let mut story = Story::new(&[]);
        for step in steps {
            step.happen(&story);
            story.followed.look(Look::Sweep);
            story.check(&format!("{step:?}"));
        }
    }
}
