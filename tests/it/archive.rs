//! `archive`: copies that outlive the logs, read like the logs and together with them.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use ccstat::internal::{
    input::{self, Bytes, LEAN_MAGIC, Limits, Roots, Source, Stop},
    measure::Prices,
    report::REPORTS,
    scan::{Options, Progress, scan},
};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    formats::words,
    support::{ccstat, gzip, printed_json, printed_rows, recording, run, run_with, testdata},
};

/// Reports that exist to show or search content.
const SHOWN: &[&str] = &["questions", "permissions", "suggestions", "contents", "search"];

/// A folder for logs, and one for their archive.
struct Folders {
    _root: TempDir,
    logs: PathBuf,
    archive: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (logs, archive) = (root.path().join("logs"), root.path().join("archive"));
        fs::create_dir(&logs).unwrap();
        Self { _root: root, logs, archive }
    }

    fn log(&self) -> PathBuf {
        self.logs.join("a.jsonl")
    }

    /// The n-th file of the log in the archive.
    fn file(&self, name: &str) -> PathBuf {
        self.archive.join("m/logs").join(name)
    }

    fn append(&self, bytes: impl AsRef<[u8]>) {
        let mut log = File::options().append(true).create(true).open(self.log()).unwrap();
        log.write_all(bytes.as_ref()).unwrap();
    }

    /// Archives the logs and returns the number of files by outcome.
    fn archive(&self, options: &[&str]) -> Vec<(String, u64)> {
        let [logs, to] = [&self.logs, &self.archive].map(|path| path.to_str().unwrap());
        let words = [&["archive", "--to", to, "--machine", "m", logs], options].concat();
        let outcome =
            |row: &Value| (row["outcome"].as_str().unwrap().to_owned(), row["files"].as_u64().unwrap());
        printed_rows(&words).iter().map(outcome).collect()
    }
}

fn one(outcome: &str) -> Vec<(String, u64)> {
    vec![(outcome.to_owned(), 1)]
}

/// The content of a file, decompressed.
fn content(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    match Bytes::open(&input::Origin::File(path.to_owned()), &Stop::default()).unwrap() {
        Bytes::File(mut file) => file.read_to_end(&mut bytes).unwrap(),
        Bytes::Stream(mut stream) => stream.read_to_end(&mut bytes).unwrap(),
        Bytes::Lean(mut stream) => {
            bytes.extend(LEAN_MAGIC);
            stream.read_to_end(&mut bytes).unwrap()
        }
    };
    bytes
}

fn record(number: u64) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{number}\",\"sessionId\":\"s\",\"message\":{{\"content\":\"number {number}\"}}}}\n"
    )
}

fn sources(path: &Path) -> Vec<String> {
    let search = input::find(&Roots::Paths(vec![path.to_owned()]));
    search.sources.iter().map(Source::name).collect()
}

/// A report as JSON, with numbers in place of the names of sources.
fn report(words: &[&str], paths: &[&Path], names: &[String]) -> (i32, String) {
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let (code, mut text, _) = run_with(&[words, &["--format", "json"], &paths].concat());
    let mut named: Vec<(usize, &String)> = names.iter().enumerate().collect();
    named.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    named.iter().for_each(|(index, name)| text = text.replace(&***name, &format!("log {index}")));
    // Only an archive knows machines.
    for machine in ["m", "other"] {
        text = text.replace(&format!("\"machine\": \"{machine}\""), "\"machine\": null");
    }
    // Notes suggest commands that name the logs.
    paths.iter().for_each(|path| text = text.replace(path, "LOGS"));
    while text.contains("LOGS LOGS") {
        text = text.replace("LOGS LOGS", "LOGS");
    }
    (code, text)
}

#[test]
fn every_report_of_an_archive_is_that_of_the_logs() {
    for path in [
        "recordings/2.1.325/stream",
        "recordings/2.1.325/transcript",
        "recordings/2.1.50",
        "logs",
        "bad",
        "kinds",
    ] {
        let old = testdata(path);
        for lean in [&[][..], &["--lean"]] {
            let folder = tempfile::tempdir().unwrap();
            let to = folder.path().to_str().unwrap();
            // The second run takes unfinished last lines too.
            for _ in 0..2 {
                let words =
                    [&["archive", "--to", to, "--machine", "m", old.to_str().unwrap()], lean].concat();
                assert_eq!(run_with(&words).0, 0, "{path}");
            }
            let new = folder.path().join("m").join(old.file_name().unwrap());
            let (old_names, new_names) = (sources(&old), sources(&new));
            assert!(!old_names.is_empty());
            let reports = REPORTS.iter().filter(|spec| spec.reads_logs() && !SHOWN.contains(&spec.name));
            // The size on disk is another one.
            for spec in reports.filter(|spec| spec.name != "doctor") {
                let words: Vec<&str> =
                    words(spec, &["LOGS"]).into_iter().filter(|word| *word != "LOGS").collect();
                let sides = if spec.name == "diff" { 2 } else { 1 };
                assert_eq!(
                    report(&words, &vec![&*old; sides], &old_names),
                    report(&words, &vec![&*new; sides], &new_names),
                    "{path} {} {lean:?}",
                    spec.name
                );
            }
        }
    }
}

#[test]
fn logs_their_archive_and_a_copy_from_another_machine_count_once() {
    let folders = Folders::new();
    let copy = folders.logs.with_file_name("copy").join("logs");
    fs::create_dir_all(&copy).unwrap();
    let mut stories =
        fs::read_dir(testdata("logs")).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    stories.retain(|path| path.is_file());
    stories.sort();
    // A turn without a uuid: nothing but its place tells two of them apart.
    let nameless = folders.logs.join("nameless.jsonl");
    fs::write(
        &nameless,
        "{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"s\",\"total_cost_usd\":1}\n",
    )
    .unwrap();
    stories.push(nameless);
    for (at, story) in stories.iter().enumerate() {
        let name = story.file_name().unwrap();
        if story.parent() != Some(&folders.logs) {
            fs::copy(story, folders.logs.join(name)).unwrap();
        }
        if at % 2 == 0 {
            fs::copy(story, copy.join(name)).unwrap();
        }
    }
    folders.archive(&[]);
    let lean = folders.archive.with_file_name("lean");
    for to in [&folders.archive, &lean] {
        let to = to.to_str().unwrap();
        let options = if to.ends_with("lean") { &["--lean"][..] } else { &[] };
        let words =
            [&["archive", "--machine", "other", "--to", to, copy.to_str().unwrap()], options].concat();
        assert_eq!(run_with(&words).0, 0);
    }
    let names = sources(&folders.logs);
    for words in [
        &["summarize"][..],
        &["sessions"],
        &["cost", "--by", "session,model"],
        &["calls"],
        &["turns"],
        &["tools"],
    ] {
        let alone = report(words, &[&folders.logs], &names);
        assert_eq!(report(words, &[&folders.logs, &folders.archive, &lean], &names), alone, "{words:?}");
    }
    // Without the logs, the copies in the archives are the same again.
    let figures = |paths: &[&Path]| {
        let (_, text) = report(&["summarize"], paths, &[]);
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["input"] = Value::Null;
        value["unknown"] = Value::Null;
        value
    };
    assert_eq!(figures(&[&folders.archive, &lean]), figures(&[&folders.logs]));
}

/// A turn of a run that wrote no uuids: nothing but its place tells it from another one.
fn nameless(number: u64) -> String {
    let session = format!("\"session_id\":\"s{}\"", number % 3);
    let turn = format!("\"num_turns\":{number},\"total_cost_usd\":{number}");
    format!("{{\"type\":\"result\",\"subtype\":\"success\",{session},{turn}}}\n")
}

#[test]
fn copies_of_other_lengths_and_names_count_once() {
    let folders = Folders::new();
    let logs: Vec<String> =
        (0..6).map(|log| (0..5).map(|line| nameless(10 * log + line)).collect()).collect();
    let write = |folder: &Path, name: &str, text: &str| {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(name), text).unwrap();
    };
    for (at, log) in logs.iter().enumerate() {
        write(&folders.logs, &format!("{at}.jsonl"), log);
    }
    let alone = printed_json(&["summarize", folders.logs.to_str().unwrap()]);
    assert_eq!(alone["turns"]["total"], 30);
    // The other machine has three of the logs: one as it is, one under another name, and the beginning of one.
    let other = folders.logs.with_file_name("other");
    let beginning = |log: &str| log.split_inclusive('\n').take(2).collect::<String>();
    write(&other, "0.jsonl", &logs[0]);
    write(&other, "renamed.jsonl", &logs[1]);
    write(&other, "2.jsonl", &beginning(&logs[2]));
    write(&other, "renamed-too.jsonl", &beginning(&logs[3]));
    for lean in [&[][..], &["--lean"]] {
        let to = folders.archive.join(format!("to{}", lean.len()));
        let archive = |machine: &str, from: &Path| {
            let words =
                ["archive", "--to", to.to_str().unwrap(), "--machine", machine, from.to_str().unwrap()];
            assert_eq!(run_with(&[&words[..], lean].concat()).0, 0);
        };
        archive("first", &folders.logs);
        archive("second", &other);
        let read = |paths: &[&Path]| {
            let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
            printed_json(&[&["summarize"], &paths[..]].concat())
        };
        assert_eq!(read(&[&folders.logs, &to]), alone, "logs and archive {lean:?}");
        assert_eq!(read(&[&to]), alone, "archive {lean:?}");
        assert_eq!(read(&[&folders.logs, &to, &other]), alone, "logs, archive and copies {lean:?}");
        assert_eq!(read(&[&to, &other]), alone, "archive and copies {lean:?}");
        // The shorter copy grows beyond the other one, and is the one that counts.
        write(&other, "2.jsonl", &(logs[2].clone() + &nameless(99)));
        archive("second", &other);
        assert_eq!(read(&[&folders.logs, &to])["turns"]["total"], 31, "{lean:?}");
        assert_eq!(read(&[&to])["turns"]["total"], 31, "{lean:?}");
        // A log that only begins like another one is not a copy.
        write(&other, "2.jsonl", &(beginning(&logs[2]) + &nameless(98)));
        archive("second", &other);
        assert_eq!(read(&[&folders.logs, &to])["input"]["records"], 31 + 3, "{lean:?}");
        write(&other, "2.jsonl", &beginning(&logs[2]));
    }
}

#[test]
fn reports_of_content_say_that_a_lean_archive_has_none() {
    let folders = Folders::new();
    for story in ["stream/34-permission-denied-bash.jsonl", "stream/77-askuserquestion-host.jsonl"] {
        let log = recording(story);
        fs::copy(&log, folders.logs.join(log.file_name().unwrap())).unwrap();
    }
    let logs = folders.logs.to_str().unwrap();
    let settings = folders.archive.with_file_name("settings.json");
    fs::write(&settings, "{\"permissions\":{\"allow\":[\"Bash(ls)\"]}}").unwrap();
    folders.archive(&["--lean"]);
    let to = folders.archive.to_str().unwrap();
    for words in [
        &["questions"][..],
        &["permissions"],
        &["permissions", "--suggest"],
        &["permissions", "--settings", settings.to_str().unwrap()],
        &["search", "denied"],
    ] {
        let (code, text, _) = run_with(&[words, &["--format", "table", to]].concat());
        let says = text.contains("keeps no content") || text.contains("keeps no input");
        assert!(code == 0 && says, "{words:?} {code} {text}");
        let (_, original, _) = run_with(&[words, &["--format", "table", logs]].concat());
        assert!(!original.contains("keeps no"), "{words:?} {original}");
    }
    assert_eq!(printed_rows(&["questions", to]), Vec::<Value>::new());
    assert_eq!(printed_rows(&["questions", logs]).len(), 1);
    let rows = printed_rows(&["permissions", to]);
    assert!(
        rows.len() > 2 && rows.iter().all(|row| row["sort"] == "mode" || row["what"].is_null()),
        "{rows:?}"
    );
    let rows = printed_rows(&["permissions", "--suggest", to]);
    assert!(rows.iter().all(|row| row["rule"].is_null() && row["what"].is_null()), "{rows:?}");
}

#[test]
fn a_decompressed_lean_log_is_read_as_a_whole() {
    let folders = Folders::new();
    folders.append((0..2000).map(record).collect::<String>());
    let alone = printed_json(&["summarize", folders.log().to_str().unwrap()]);
    folders.archive(&["--lean"]);
    let plain = folders.archive.with_file_name("plain.jsonl");
    fs::write(&plain, content(&folders.file("a.jsonl.zst"))).unwrap();
    // As if it were larger than a unit.
    let limits = Limits { unit: 4096, block: 1000, ..Limits::default() };
    let options = Options { limits, threads: 2, ..Options::default() };
    let search = input::find(&Roots::Paths(vec![plain]));
    let account = scan(&search.sources, &options, &Progress::default()).facts.settle(&Prices::built_in());
    let input = &account.input;
    let [bytes, lines, records] =
        ["bytes", "lines", "records"].map(|key| alone["input"][key].as_u64().unwrap());
    assert_eq!((input.bytes, input.lines, input.records), (bytes, lines, records));
    assert_eq!(account.prompts, 2000);
}

#[test]
fn a_lean_log_is_neither_archived_again_nor_read_in_another_form() {
    let folders = Folders::new();
    folders.append((0..9).map(record).collect::<String>());
    folders.archive(&["--lean"]);
    let file = folders.file("a.jsonl.zst");
    let again = folders.archive.with_file_name("again");
    for lean in [&[][..], &["--lean"]] {
        let words = ["archive", "--to", again.to_str().unwrap(), file.to_str().unwrap()];
        let (code, _, stderr) = run_with(&[&words[..], lean].concat());
        assert!(code == 3 && stderr.contains("is a lean log of another archive"), "{code} {stderr}");
        fs::remove_dir_all(&again).unwrap();
    }
    let (code, _, stderr) = run_with(&["redact", file.to_str().unwrap()]);
    assert!(code != 0 && stderr.contains("is a lean log of an archive"), "{code} {stderr}");
    // The first form, which was JSON, would be read as a log of short records.
    let old = "{\"~\":\"lean\",\"format\":1}\n{\"~\":[900],\"type\":\"user\",\"uuid\":\"1\"}\n";
    let mut newer = content(&file);
    newer[3] += 1;
    for text in [old.as_bytes(), &newer] {
        for bytes in [text.to_vec(), zstd::encode_all(text, 1).unwrap()] {
            let log = folders.logs.with_file_name("old.jsonl.zst");
            fs::write(&log, bytes).unwrap();
            let (code, _, stderr) = run_with(&["summarize", log.to_str().unwrap()]);
            assert!(code == 3 && stderr.contains("in a form of another version"), "{code} {stderr}");
        }
    }
}

#[test]
fn a_log_that_grows_gets_a_frame_of_whole_lines() {
    let folders = Folders::new();
    folders.append(record(1) + "{\"type\":");
    assert_eq!(folders.archive(&[]), one("new"));
    let file = folders.file("a.jsonl.zst");
    assert_eq!(content(&file), record(1).as_bytes(), "the unfinished line waits");
    let size = fs::metadata(&file).unwrap().len();
    folders.append(&record(2)[8..]);
    assert_eq!(folders.archive(&[]), one("grown"));
    assert_eq!(content(&file), fs::read(folders.log()).unwrap());
    assert!(fs::metadata(&file).unwrap().len() > size, "the frames before it stay");
    let archived = fs::read(&file).unwrap();
    assert_eq!(folders.archive(&[]), one("unchanged"));
    assert_eq!(fs::read(&file).unwrap(), archived, "a run without news changes nothing");
    // A line that nobody finishes is archived by the next run, and may still be continued.
    folders.append("{\"type\":\"us");
    assert_eq!(folders.archive(&[]), one("unchanged"));
    assert_eq!(folders.archive(&[]), one("grown"));
    assert_eq!(content(&file), fs::read(folders.log()).unwrap());
    folders.append("er\"}\n");
    assert_eq!(folders.archive(&[]), one("grown"));
    assert_eq!(content(&file), fs::read(folders.log()).unwrap());
    // A last record that only lacks its line end is whole.
    folders.append("{\"type\":\"user\"}");
    assert_eq!(folders.archive(&[]), one("grown"));
    assert_eq!(content(&file), fs::read(folders.log()).unwrap());
}

#[test]
fn a_rewritten_log_is_archived_beside_the_old_one() {
    let folders = Folders::new();
    folders.append(record(1) + &record(2));
    folders.archive(&[]);
    let first = fs::read(folders.file("a.jsonl.zst")).unwrap();
    fs::write(folders.log(), record(3)).unwrap();
    assert_eq!(folders.archive(&[]), one("rewritten"));
    assert_eq!(folders.archive(&[]), one("unchanged"));
    folders.append(record(4));
    assert_eq!(folders.archive(&[]), one("grown"));
    assert_eq!(fs::read(folders.file("a.jsonl.zst")).unwrap(), first);
    assert_eq!(content(&folders.file("a.2.jsonl.zst")), (record(3) + &record(4)).as_bytes());
    // The log is deleted, as Claude Code does after 30 days: the archive stays.
    fs::remove_file(folders.log()).unwrap();
    fs::write(folders.logs.join("b.jsonl"), record(5)).unwrap();
    assert_eq!(folders.archive(&[]), one("new"));
    let summary = printed_json(&["summarize", folders.archive.to_str().unwrap()]);
    assert_eq!((&summary["input"]["records"], &summary["prompts"]), (&5.into(), &5.into()));
}

#[test]
fn compressed_logs_and_documents_are_archived_as_a_whole() {
    for lean in [&[][..], &["--lean"]] {
        let folders = Folders::new();
        let array = "[\n {\"type\":\"user\",\"uuid\":\"1\"},\n {\"type\":\"user\",\"uuid\":\"2\"}\n]";
        fs::write(folders.logs.join("array.json"), array).unwrap();
        fs::write(folders.logs.join("packed.jsonl.gz"), gzip((record(3) + &record(4)).as_bytes())).unwrap();
        fs::write(folders.logs.join("settings.json"), "{}").unwrap();
        assert_eq!(folders.archive(lean), [("new".to_owned(), 2), ("empty".to_owned(), 1)]);
        let summary = |path: &Path| {
            let mut summary = printed_json(&["summarize", path.to_str().unwrap()]);
            summary["input"]["sources"] = Value::Null;
            summary
        };
        assert_eq!(summary(&folders.archive), summary(&folders.logs));
        let more = record(3) + &record(4) + &record(5);
        fs::write(
            folders.logs.join("packed.jsonl.gz"),
            [gzip((record(3) + &record(4)).as_bytes()), gzip(record(5).as_bytes())].concat(),
        )
        .unwrap();
        assert_eq!(
            folders.archive(lean),
            [("grown".to_owned(), 1), ("unchanged".to_owned(), 1), ("empty".to_owned(), 1)]
        );
        if lean.is_empty() {
            assert_eq!(content(&folders.file("packed.jsonl.zst")), more.as_bytes());
        }
        assert_eq!(summary(&folders.archive), summary(&folders.logs));
    }
}

#[test]
fn a_file_that_was_torn_at_any_byte_is_readable_and_completed() {
    let folders = Folders::new();
    folders.append((0..3).map(record).collect::<String>());
    folders.archive(&[]);
    let file = folders.file("a.jsonl.zst");
    let before = fs::read(&file).unwrap();
    let old = content(&file);
    folders.append((3..9).map(record).collect::<String>());
    folders.archive(&[]);
    let after = fs::read(&file).unwrap();
    let new = fs::read(folders.log()).unwrap();
    assert_eq!(content(&file), new);
    for length in before.len()..=after.len() {
        fs::write(&file, &after[..length]).unwrap();
        assert_eq!(content(&file), if length < after.len() { &*old } else { &*new }, "{length}");
        if length % 7 == 0 {
            folders.archive(&[]);
            assert_eq!(content(&file), new, "{length}");
            assert_eq!(fs::read(&file).unwrap(), after, "{length}");
        }
    }
    // Blocks that never reached the disk read as zeros.
    let mut zeros = before.clone();
    zeros.resize(before.len() + 300_000, 0);
    fs::write(&file, &zeros).unwrap();
    assert_eq!(content(&file), old);
    folders.archive(&[]);
    assert_eq!(fs::read(&file).unwrap(), after);
}

/// Kills runs at random moments while the log grows. `CCSTAT_KILLS` is the number of kills; scripts/soak sets it.
#[cfg(unix)]
#[test]
fn a_run_may_be_killed_at_any_moment() {
    #[expect(clippy::disallowed_methods, reason = "tests have no other input")]
    let kills: u64 = std::env::var("CCSTAT_KILLS").map_or(20, |kills| kills.parse().unwrap());
    for lean in [&[][..], &["--lean"]] {
        let folders = Folders::new();
        let [logs, to] = [&folders.logs, &folders.archive].map(|path| path.to_str().unwrap().to_owned());
        let (mut next, mut random) = ((0..).map(record), 1u64);
        let mut grow = |file: &str, records: usize| {
            let mut log = File::options().append(true).create(true).open(folders.logs.join(file)).unwrap();
            next.by_ref().take(records).for_each(|record| log.write_all(record.as_bytes()).unwrap());
        };
        // Half of the runs should end before they are killed, however fast the machine is.
        let (mut died, mut round, mut longest) = (0, 0, 30_000);
        while died < kills {
            round += 1;
            assert!(round < kills * 20, "{died} runs were killed");
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            grow(&format!("{}.jsonl", round % 5), 500);
            let words = [&["archive", "--to", &to, "--machine", "m", &logs], lean].concat();
            let mut child = std::process::Command::new(crate::support::program())
                .args(words)
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_micros((random >> 33) % longest));
            child.kill().unwrap();
            if child.wait().unwrap().code().is_none() {
                died += 1;
                longest += longest / 20;
            } else {
                longest = (longest - longest / 20).max(500);
            }
            // Whatever is archived can be read, and is a part of the logs.
            let (code, stdout, stderr) = run_with(&["summarize", "--json", &to]);
            assert!(code == 0 || code == 3, "round {round}: {code} {stderr}");
            let found: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(
                (&found["input"]["invalid"], &found["input"]["copies"]),
                (&0.into(), &0.into()),
                "{round}"
            );
        }
        let words = [&["archive", "--to", &to, "--machine", "m", &logs], lean].concat();
        assert_eq!(run_with(&words).0, 0);
        let summary = |path: &str| printed_json(&["summarize", path]);
        assert_eq!(summary(&to), summary(&logs), "{lean:?}");
    }
}

#[test]
fn two_runs_at_once_write_one_archive() {
    let folders = Folders::new();
    for file in 0..20 {
        let records: String = (0..200).map(|number| record(file * 1000 + number)).collect();
        fs::write(folders.logs.join(format!("{file}.jsonl")), records).unwrap();
    }
    let [logs, to] = [&folders.logs, &folders.archive].map(|path| path.to_str().unwrap());
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| run(&mut ccstat(&["archive", "--to", to, "--machine", "m", logs]))))
            .collect();
        for run in runs {
            let (code, _, stderr) = run.join().unwrap();
            assert_eq!(code, 0, "{stderr}");
            assert!(stderr.is_empty() || stderr.contains("waiting for another run"), "{stderr}");
        }
    });
    let mut names = sources(&folders.archive.join("m"));
    names.retain(|name| name.ends_with(".2.jsonl.zst"));
    assert!(names.is_empty(), "{names:?}");
    assert_eq!(printed_json(&["summarize", to]), printed_json(&["summarize", logs]));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_an_archive() {
    use std::os::unix::fs::PermissionsExt;

    let folders = Folders::new();
    folders.append(record(1));
    folders.archive(&["--lean"]);
    for entry in walkdir::WalkDir::new(&folders.archive).into_iter().map(Result::unwrap) {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let wanted = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}", entry.path().display());
    }
}

#[test]
fn cost_is_divided_and_filtered_by_machine() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let [denied, bash] = ["stream/34-permission-denied-bash.jsonl", "stream/02-single-bash.jsonl"]
        .map(|name| recording(name).to_str().unwrap().to_owned());
    for (machine, log) in [("alpha", &denied), ("beta", &bash)] {
        assert_eq!(run_with(&["archive", "--to", to, "--machine", machine, log]).0, 0);
    }
    let other = recording("stream/03-two-sequential-bash.jsonl").to_str().unwrap().to_owned();
    let rows = printed_rows(&["cost", "--by", "machine", to, &other]);
    let mut machines: Vec<&Value> = rows.iter().map(|row| &row["machine"]).collect();
    machines.sort_by_key(ToString::to_string);
    assert_eq!(machines, [&Value::from("alpha"), &Value::from("beta"), &Value::Null]);
    let session = |words: &[&str]| printed_rows(&[&["sessions", to, &other], words].concat()).len();
    assert_eq!((session(&["--machine", "alpha"]), session(&["--machine", "*"]), session(&[])), (1, 2, 3));
    // A log that is read beside its archive has the machine of the archive.
    let rows = printed_rows(&["cost", "--by", "machine", to, &denied, &bash]);
    assert!(rows.iter().all(|row| row["machine"].is_string()), "{rows:?}");
}

#[test]
fn what_cannot_be_archived_is_said() {
    let folders = Folders::new();
    folders.append(record(1));
    let [logs, to] = [&folders.logs, &folders.archive].map(|path| path.to_str().unwrap());
    let (code, _, stderr) = run(ccstat(&["archive", "--to", to]).write_stdin("{}"));
    assert_eq!(code, 2);
    assert!(stderr.contains("standard input cannot be archived"), "{stderr}");
    let (code, _, stderr) = run_with(&["archive", "--to", to, logs, "no-such-log"]);
    assert_eq!(code, 4, "{stderr}");
    let (code, _, stderr) = run_with(&["archive", "--lean", "--to", to, logs]);
    assert_eq!(code, 2);
    assert!(stderr.contains("the archive keeps content"), "{stderr}");
    let (code, _, stderr) = run_with(&["archive", "--to", to, "--machine", "../up", logs]);
    assert_eq!(code, 2);
    assert!(stderr.contains("not a name of a machine"), "{stderr}");
    // An archive does not archive itself.
    let root = folders.logs.parent().unwrap().to_str().unwrap();
    run_with(&["archive", "--to", to, root]);
    assert!(
        sources(&folders.archive)
            .iter()
            .all(|name| !name.contains("zst.zst") && name.matches("archive").count() < 2)
    );
    let empty = tempfile::tempdir().unwrap();
    fs::write(empty.path().join("e.jsonl"), "").unwrap();
    let new = empty.path().join("to");
    assert_eq!(run_with(&["archive", "--to", new.to_str().unwrap(), empty.path().to_str().unwrap()]).0, 3);
}
