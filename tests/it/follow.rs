//! Following: files that grow, are cut, replaced and rewritten, and folders where sessions appear and vanish.
//! After each step the state equals that of an ordinary read of the same files.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};
#[cfg(unix)]
use std::{
    io::Read,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Instant,
};

use ccstat::internal::{
    facts::Detail,
    input::{self, Limits, Roots},
    measure::Prices,
    scan::{
        self, Options, Progress, Scan,
        follow::{Check, Follower, Update},
    },
};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::{ccstat, gzip, recording, run, testdata};
#[cfg(unix)]
use crate::support::{run_with, wait_for_handler};

/// A followed folder, with all details kept, in small units.
struct Story {
    folder: TempDir,
    followed: Follower,
    options: Options,
}

impl Story {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let limits = Limits { unit: 700, block: 64, ..Limits::default() };
        let options =
            Options { threads: 1, limits, detail: Detail::ROWS | Detail::RECORDS, ..Options::default() };
        let followed = Follower::start(wanted(folder.path()), options.clone(), &Progress::default());
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

    /// Checks that an update is found, and that the state then equals a fresh read.
    #[track_caller]
    fn changes(&mut self, when: &str) {
        assert_eq!(self.followed.check(Check::Full), Update::Content, "{when}");
        self.check(when);
    }

    #[track_caller]
    fn check(&mut self, when: &str) {
        let search = input::find(&wanted(self.folder.path()));
        assert_eq!(self.followed.sources(), search.sources, "{when}");
        let fresh = scan::scan(&search.sources, &self.options, &Progress::default());
        assert_eq!(contents(&self.followed.snapshot()), contents(&fresh), "{when}");
    }
}

fn wanted(path: &Path) -> Roots {
    Roots::Paths(vec![path.to_owned()])
}

/// Returns everything that a read yields: sums, rows, and read errors.
fn contents(scan: &Scan) -> [String; 3] {
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

#[test]
fn a_file_that_grows_in_odd_pieces_is_up_to_date_at_every_step() {
    for log in logs() {
        let mut story = Story::new(&[("a.jsonl", b"")]);
        for piece in log.chunks(389) {
            story.append("a.jsonl", piece);
            story.changes("a piece more");
        }
        for look in [Check::Full, Check::Recent] {
            assert_eq!(story.followed.check(look), Update::Nothing);
        }
    }
}

#[test]
fn a_first_record_may_arrive_byte_by_byte() {
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
fn a_check_of_recent_files_sees_their_growth() {
    let [log, _] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    story.append("a.jsonl", &log);
    assert_eq!(story.followed.check(Check::Recent), Update::Content);
    story.check("grown");
    assert_eq!(story.followed.check(Check::Recent), Update::Nothing);
    std::thread::sleep(Duration::from_millis(20)); // longer than the resolution of file times
    story.write("b.jsonl", &log);
    assert_eq!(
        story.followed.check(Check::Recent),
        Update::Folder,
        "a new file is noticed, but not read yet"
    );
    assert_eq!(story.followed.check(Check::Full), Update::Content);
    story.check("one more");
}

#[test]
fn a_truncated_file_is_read_again() {
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
fn a_replaced_file_is_read_again_even_if_the_new_one_is_longer() {
    let [log, other] = logs();
    let mut story = Story::new(&[("a.jsonl", &log)]);
    story.replace("a.jsonl", [&log[..], &other].concat());
    story.changes("longer, with the same beginning");
    story.replace("a.jsonl", &other);
    story.changes("another");
}

#[test]
fn a_file_rewritten_in_place_is_read_again() {
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
fn a_rotated_log_becomes_two_files() {
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
fn archives_and_documents_are_read_again_when_they_change() {
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
fn an_unreadable_file_is_read_once_its_permission_is_given() {
    use std::os::unix::fs::PermissionsExt;
    let mut story =
        Story::new(&[("a.jsonl", b"{\"type\":\"user\"}\n"), ("b.jsonl", b"{\"type\":\"user\"}\n")]);
    for mode in [0o000, 0o600] {
        fs::set_permissions(story.path("b.jsonl"), fs::Permissions::from_mode(mode)).unwrap();
        story.changes("other permissions");
    }
}

/// The program in `--follow`, with its standard output captured.
#[cfg(unix)]
struct Child(std::process::Child);

#[cfg(unix)]
impl Child {
    fn start(arguments: &[&str]) -> Self {
        Self::begin(std::process::Command::new(crate::support::program()), arguments)
    }

    /// Starts it within this many MB of address space.
    fn start_within(megabytes: u64, arguments: &[&str]) -> Self {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {}; exec \"$@\"", megabytes * 1000), "sh"]);
        shell.arg(crate::support::program());
        Self::begin(shell, arguments)
    }

    fn begin(mut command: std::process::Command, arguments: &[&str]) -> Self {
        command.args(arguments).env("TZ", "UTC").stdin(Stdio::null());
        let child = Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        wait_for_handler(child.0.id());
        child
    }

    /// Returns the processor time that it has used.
    #[cfg(target_os = "linux")]
    fn busy(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<u64> =
            stat.rsplit_once(')').unwrap().1.split(' ').filter_map(|field| field.parse().ok()).collect();
        // Fields 14 and 15 in ticks of 10 ms; the first of these is the 4th, as the 3rd is a letter.
        Duration::from_millis(10 * (fields[14 - 4] + fields[15 - 4]))
    }

    /// Sends a signal and returns exit code and output. If one signal does not end it within a minute, it is
    /// killed, and has no exit code.
    fn end(self, signal: &str) -> (Option<i32>, String, String) {
        let kill = std::process::Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let id = self.0.id().to_string();
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let guard = std::thread::spawn(move || {
            if end.recv_timeout(Duration::from_secs(60)).is_err() {
                let _ = std::process::Command::new("kill").args(["-KILL", &id]).status();
            }
        });
        let output = self.0.wait_with_output().unwrap();
        let _ = ended.send(()); // it may have waited too long already
        guard.join().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

#[cfg(unix)]
#[test]
fn the_last_report_shows_the_final_state_of_the_files() {
    let [log, other] = logs();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let named = folder.path().to_str().unwrap();
    for (signal, code, command) in
        [("-INT", 130, "summarize"), ("-TERM", 143, "sessions"), ("-HUP", 129, "tools")]
    {
        fs::write(path("b.jsonl"), &log[..log.len() / 2]).unwrap();
        let child = Child::start(&[command, "--follow", "--format", "json", named]);
        std::thread::sleep(Duration::from_millis(400));
        fs::write(path("b.jsonl"), &log).unwrap();
        fs::write(path("a.jsonl"), &other).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        fs::write(path("c.jsonl"), &other[..other.len() / 3]).unwrap(); // just before the end
        let (ended, report, said) = child.end(signal);
        assert_eq!((ended, &*said), (Some(code), ""), "{command}");
        assert_eq!(report, run_with(&[command, "--format", "json", named]).1, "{command}");
        fs::remove_file(path("a.jsonl")).unwrap();
        fs::remove_file(path("c.jsonl")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_named_file_that_does_not_exist_yet_is_awaited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later.jsonl");
    let out = folder.path().join("report.json");
    let child =
        Child::start(&["summarize", "--follow", path.to_str().unwrap(), "-q", "-o", out.to_str().unwrap()]);
    std::thread::sleep(Duration::from_millis(400));
    fs::write(&path, "{\"type\":\"user\"}\n{\"type\":").unwrap();
    std::thread::sleep(Duration::from_millis(400));
    assert!(!out.exists(), "files are written at the end");
    let (code, stdout, stderr) = child.end("-INT");
    assert_eq!((code, &*stdout), (Some(130), ""));
    let waiting = "No such file or directory (os error 2); waiting for it\n";
    assert!(stderr.starts_with("ccstat: cannot read `") && stderr.ends_with(waiting), "{stderr}");
    let (_, report, _) = run_with(&["summarize", "--json", path.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(out).unwrap(), report);
}

/// Follows a log within 512 MB of address space, replaces it by something else, and interrupts once. Returns
/// the processor time used after the replacement, the exit code and the output.
#[cfg(target_os = "linux")]
fn replaced(other: impl Fn(&Path)) -> (Duration, (Option<i32>, String, String)) {
    let [log, _] = logs();
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("a.jsonl"), folder.path().join("new"));
    fs::write(&path, &log).unwrap();
    fs::write(folder.path().join("b.jsonl"), "{\"type\":\"user\"}\n").unwrap();
    let named = [&path, &folder.path().join("b.jsonl")].map(|path| path.to_str().unwrap().to_owned());
    let arguments = ["summarize", "--follow", "--json", &named[0], &named[1]];
    let child = Child::start_within(512, &arguments);
    std::thread::sleep(Duration::from_millis(400));
    other(&new);
    fs::rename(&new, &path).unwrap();
    std::thread::sleep(Duration::from_millis(1500)); // several checks
    let before = child.busy();
    std::thread::sleep(Duration::from_secs(2));
    let busy = child.busy() - before;
    let (code, stdout, stderr) = child.end("-INT");
    (busy, (code, stdout, stderr.replace(folder.path().to_str().unwrap(), "")))
}

#[cfg(target_os = "linux")]
#[test]
fn a_followed_file_that_becomes_a_fifo_or_a_device_is_not_opened() {
    let fifo = |path: &Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let zero = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    for (busy, (code, stdout, stderr)) in [replaced(fifo), replaced(zero)] {
        assert!(busy < Duration::from_millis(100), "{busy:?} of 2 s");
        assert_eq!(stderr, "ccstat: cannot read `/a.jsonl`: is not a regular file\n");
        assert_eq!(code, Some(130));
        let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(report["input"]["records"], 1, "the other log is counted");
    }
}

#[cfg(unix)]
#[test]
fn a_followed_file_that_was_a_fifo_for_a_while_is_read_again() {
    let [log, other] = logs();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, &log).unwrap();
    let mut followed = Follower::start(wanted(&path), Options::default(), &Progress::default());
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(followed.check(Check::Full), Update::Content);
    let scan = followed.snapshot();
    assert_eq!((scan.facts.records(), scan.unread.len()), (0, 1));
    assert_eq!(scan.unread[0].error.to_string(), "is not a regular file");
    fs::remove_file(&path).unwrap();
    fs::write(&path, &other).unwrap();
    assert_eq!(followed.check(Check::Full), Update::Content);
    let fresh = scan::scan(followed.sources(), &Options::default(), &Progress::default());
    assert_eq!(contents(&followed.snapshot()), contents(&fresh));
}

#[cfg(target_os = "linux")]
#[test]
fn waiting_takes_almost_no_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    for name in 0..500 {
        fs::write(folder.path().join(format!("{name}.jsonl")), "{\"type\":\"user\"}\n").unwrap();
    }
    let child = Child::start(&["summarize", "--follow", folder.path().to_str().unwrap()]);
    let mut before;
    // Until the first read has ended.
    loop {
        before = child.busy();
        std::thread::sleep(Duration::from_secs(1));
        if child.busy() - before <= Duration::from_millis(20) {
            break;
        }
    }
    std::thread::sleep(Duration::from_secs(4));
    let busy = child.busy() - before;
    assert!(busy < Duration::from_millis(80), "{busy:?} of 4 s"); // 40 ms are 1 %, a tick is 10 ms
    assert_eq!(child.end("-INT").0, Some(130));
}

/// Returns what a terminal of this size shows of `--follow`: before, during and after an action. The action happens
/// when the first text is on the screen, and the program is interrupted when the second is.
#[cfg(unix)]
fn followed(arguments: &[&str], size: (u16, u16), texts: [&str; 2], happens: impl FnOnce()) -> [String; 3] {
    let (drawn, mut seen) = crate::terminal::open(size.0, size.1);
    let mut command = std::process::Command::new(crate::support::program());
    command.args(arguments).arg("--follow").env("TERM", "xterm").env_remove("COLUMNS").env("TZ", "UTC");
    let child = command.stdin(Stdio::null()).stdout(drawn).stderr(Stdio::piped()).spawn().unwrap();
    drop(command); // it holds the terminal too
    let screen = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&screen);
    let reader = std::thread::spawn(move || {
        let mut block = [0; 4096];
        // A terminal without an open writer ends with an error.
        while let Ok(count @ 1..) = seen.read(&mut block) {
            shared.lock().unwrap().extend_from_slice(&block[..count]);
        }
    });
    let wait_for = |text: &str| {
        let begun = Instant::now();
        while !String::from_utf8_lossy(&screen.lock().unwrap()).contains(text) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{text:?} is not on the screen");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(100)); // for the rest of the screen
    };
    wait_for(texts[0]);
    happens();
    wait_for(texts[1]);
    assert_eq!(Child(child).end("-INT").0, Some(130));
    reader.join().unwrap();
    let all = String::from_utf8(screen.lock().unwrap().clone()).unwrap();
    let (before, live) = all.split_once("\x1b[?1049h").unwrap();
    let (live, after) = live.split_once("\x1b[?1049l").unwrap();
    [before, live, after].map(str::to_owned)
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_changes_and_is_restored_at_the_end() {
    let [log, _] = logs();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, "").unwrap();
    let arguments = ["--color", "never", "tools", path.to_str().unwrap()];
    let texts = ["no change yet", "last change"];
    let [before, live, after] = followed(&arguments, (80, 4), texts, || fs::write(&path, &log).unwrap());
    assert_eq!(before, "");
    for text in [
        "nothing to report yet",
        "no change yet",
        "Error rate",
        "2 more lines",
        "last change",
        "following 1 file",
    ] {
        assert!(live.contains(text), "{text}: {live:?}");
    }
    assert!(live.contains("\x1b[?25l") && live.ends_with("\x1b[?7h\x1b[?25h"), "the cursor is shown again");
    let plain = run(ccstat(&arguments).env("COLUMNS", "80")).1;
    assert_eq!(after.replace("\r\n", "\n"), plain);
}

/// The timeline has 40 events and grows. A screen of 24 rows shows about 12: the newest must be visible.
#[cfg(target_os = "linux")]
#[test]
fn a_followed_timeline_shows_its_newest_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let call = |at: usize| {
        format!(
            "{{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{{\"id\":\"m{at}\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{at}\",\
             \"name\":\"Tool{at:03}\"}}]}}}}\n"
        )
    };
    let lines = |many: usize| (0..many).map(call).collect::<String>();
    fs::write(&path, lines(20)).unwrap();
    let arguments = ["--color", "never", "show", "latest", path.to_str().unwrap()];
    let texts = ["Tool019", "Tool029"];
    let [_, live, after] = followed(&arguments, (80, 24), texts, || fs::write(&path, lines(30)).unwrap());
    assert!(live.contains("Tool019") && live.contains("Tool029"), "{live:?}");
    assert!(!live.contains("Tool000") && live.contains("earlier rows"), "{live:?}");
    assert!(live.contains("session s") && !live.contains("more lines"), "it has room: {live:?}");
    assert!(
        after.contains("Tool000") && after.contains("Tool029"),
        "the last report has all events: {after:?}"
    );
}

#[test]
fn a_pipe_cannot_be_followed() {
    for arguments in [&["summarize", "--follow"][..], &["tools", "--follow", "-"]] {
        let (code, stdout, stderr) = run(ccstat(arguments).write_stdin("{\"type\":\"user\"}\n"));
        assert_eq!((code, &*stdout), (2, ""));
        assert!(
            stderr.starts_with("ccstat: cannot follow standard input: name a file or a folder"),
            "{stderr}"
        );
    }
}

/// A change to a file.
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

/// Pieces of logs: whole lines, parts of lines, documents, noise, and archives.
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
    fn after_any_change_to_files_a_snapshot_equals_a_fresh_read(steps in prop::collection::vec(step(), 1..24)) {
        let mut story = Story::new(&[]);
        for step in steps {
            step.happen(&story);
            story.followed.check(Check::Full);
            story.check(&format!("{step:?}"));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_goes_on_is_shown_as_running() {
    let log = fs::read(recording("stream/02-single-bash.jsonl")).unwrap();
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    let is_answer = |line: &&[u8]| line.windows(13).any(|part| part == b"\"tool_result\"");
    let until = lines.iter().position(is_answer).unwrap();
    let file = crate::support::log(lines[..until].concat());
    let child = Child::start(&["summarize", "--follow", file.path().to_str().unwrap()]);
    std::thread::sleep(Duration::from_millis(500));
    let (code, report, _) = child.end("-INT");
    assert_eq!(code, Some(130));
    assert!(report.starts_with("… Running · step 1 · Bash "), "{report}");
    assert!(report.lines().next().unwrap().contains(" · at least $0.0"), "{report}");
    assert!(!report.contains('✗'), "{report}");
}
