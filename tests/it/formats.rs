//! Every report in every format, written by the sample command line of its spec.

use std::{
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

use ccstat::internal::{
    render::Format,
    report::{REPORTS, Reads, ReportSpec, Shape},
};
use clap::ValueEnum;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::{
    html, parquet, plain,
    support::{ccstat, log, run, run_with},
};

/// The logs of the snapshots.
const STORIES: &[&str] = &["logs/gateway.jsonl", "logs/nightly-denied.jsonl", "logs/week"];

/// Returns the formats that a report has and that are text.
pub(crate) fn formats(report: &str) -> Vec<String> {
    formats_that(|format| format.fits(report) && !format.is_binary())
}

/// Returns the names of some formats.
fn formats_that(are: impl Fn(&Format) -> bool) -> Vec<String> {
    let name = |format: &Format| format.to_possible_value().unwrap().get_name().to_owned();
    Format::value_variants().iter().filter(|format| are(format)).map(name).collect()
}

/// Returns the command line that writes a report of these logs. Two sides are the first and the last of them.
pub(crate) fn words<'a>(spec: &'static ReportSpec, logs: &[&'a str]) -> Vec<&'a str> {
    match (spec.reads, logs.first().zip(logs.last())) {
        _ if spec.name == "archive" => archive_words(),
        (Reads::Nothing, _) => spec.sample().to_vec(),
        (Reads::TwoSides, Some((first, last))) => [spec.sample(), &[*first, *last]].concat(),
        (Reads::Logs | Reads::TwoSides, _) => [spec.sample(), logs].concat(),
    }
}

/// Returns the command line that archives logs to a new folder.
fn archive_words() -> Vec<&'static str> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = format!("{}/archive-{process}-{number}", env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_dir_all(&folder); // of an earlier process with the same id
    vec!["archive", "--to", folder.leak(), "--machine", "build-7", "logs/week"]
}

/// Logs for reports without rows in `STORIES`.
const OTHER_STORIES: &[(&str, &[&str])] = &[
    ("hooks", &["logs/older-hooks.jsonl", "recordings/2.1.325/transcript/41-hooks"]),
    ("limits", &["logs/limits.jsonl"]),
    ("forecast", &["logs/forecast.jsonl"]),
    ("cache", &["logs/cache"]),
    ("cache_causes", &["logs/cache"]),
    ("questions", &["logs/questions"]),
    ("control", &["logs/host", "logs/bridge"]),
];

/// Returns the logs of the snapshots of a report.
pub(crate) fn stories(report: &str) -> &'static [&'static str] {
    OTHER_STORIES.iter().find(|(name, _)| *name == report).map_or(STORIES, |(_, stories)| stories)
}

/// Defines a test for each report, so that one failure does not hide another.
macro_rules! snapshots {
    ($($report:ident)*) => {
        mod snapshots {
            $(
                #[test]
                fn $report() {
                    super::assert_snapshots(stringify!($report));
                }
            )*
        }

        const TESTED: &[&str] = &[$(stringify!($report)),*];
    };
}

snapshots! {
    summary overview sessions prompts time search show context check turns tools calls denials errors kinds agents cache cache_causes permissions suggestions verdicts hooks mcp tasks limits forecast
    questions commands control cost daily weekly monthly blocks prices responses charges failures records contents explain diff archive doctor
}

#[test]
fn every_report_has_a_snapshot_test() {
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(TESTED.to_vec()), sorted(REPORTS.iter().map(|spec| spec.name).collect()));
}

/// Compares a report in every format with its snapshots. Each must have at least one row.
fn assert_snapshots(report: &str) {
    let spec = ReportSpec::named(report).unwrap();
    let words = words(spec, stories(report));
    let files = files(report, &words);
    assert_eq!((files.code, &*files.stderr), (0, ""), "{report}");
    assert!(
        !files.text("jsonl").is_empty(),
        "{report}: these logs give no row, name others in `OTHER_STORIES`"
    );
    for format in formats(report) {
        let text = files.text(&format);
        let text = if format == "html" { html::own_part(&text) } else { text };
        let text = text.replace(concat!("ccstat ", env!("CARGO_PKG_VERSION")), "ccstat VERSION");
        insta::assert_snapshot!(format!("{report}-{format}"), text);
    }
    for width in [80, 140] {
        assert_screen(report, &words, width);
    }
}

/// Compares a report on a terminal of this width, with colours and texts, with its snapshot.
fn assert_screen(report: &str, words: &[&str], width: usize) {
    let content = if words.contains(&"--content") { &[][..] } else { &["--content"] };
    let words = [words, content, &["--format", "table", "--color", "always"]].concat();
    let (code, screen, stderr) = run(ccstat(&words).env("COLUMNS", width.to_string()));
    assert_eq!((code, &*stderr), (0, ""), "{report}");
    let plain = anstream::adapter::strip_str(&screen).to_string();
    for line in plain.lines().filter(|line| !is_pasted(line)) {
        assert!(line.width() <= width, "{report}: wider than {width}: {line}");
    }
    insta::assert_snapshot!(format!("{report}-screen-{width}"), tagged(&screen));
}

/// Replaces escape sequences by tags that can be read.
fn tagged(screen: &str) -> String {
    const TAGS: &[(&str, &str)] =
        &[("0", "</>"), ("1", "<b>"), ("2", "<dim>"), ("31", "<red>"), ("32", "<green>"), ("33", "<yellow>")];
    let tagged =
        TAGS.iter().fold(screen.to_owned(), |text, (code, tag)| text.replace(&format!("\x1b[{code}m"), tag));
    assert!(!tagged.contains('\x1b'), "a colour without a tag: {tagged:?}");
    tagged
}

/// Whether a line is a command or a rule, which are never wrapped, so that they can be pasted.
fn is_pasted(line: &str) -> bool {
    ["ccstat ", "{\"permissions\"", "--allowed-tools"].iter().any(|head| line.starts_with(head))
}

/// A report in every format, written by one run.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    code: i32,
    stderr: String,
}

impl Files {
    pub(crate) fn text(&self, format: &str) -> String {
        let path = self.folder.path().join(format);
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{format}: {error}: {}", self.stderr))
    }

    /// The rows that were read back, if the report has rows.
    fn parquet(&self) -> Option<parquet::File> {
        std::fs::read(self.folder.path().join("parquet")).ok().map(parquet::File::read)
    }
}

pub(crate) fn files(report: &str, words: &[&str]) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let target = |format: &String| format!("{format}={}", folder.path().join(format).display());
    let targets: Vec<String> = formats_that(|format| format.fits(report)).iter().map(target).collect();
    let mut command = ccstat(words);
    command.arg("-q").args(targets.iter().flat_map(|target| ["-o", target]));
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(stdout, "", "quiet is quiet");
    Files { folder, code, stderr }
}

/// The output of one run in all formats, in their order.
pub(crate) struct Written {
    pub(crate) table: String,
    json: Value,
    jsonl: Vec<Value>,
    pub(crate) csv: Vec<csv::StringRecord>,
    tsv: Vec<csv::StringRecord>,
    pub(crate) markdown: String,
    parquet: Option<parquet::File>,
}

/// Runs the program once with a file for each format.
pub(crate) fn written(report: &str, words: &[&str]) -> (i32, Written) {
    let files = files(report, words);
    let text = |format: &str| files.text(format);
    let parsed =
        |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"));
    let records = |builder: &csv::ReaderBuilder, text: String| {
        let mut reader = builder.from_reader(text.as_bytes());
        reader.records().map(|record| record.unwrap_or_else(|error| panic!("{words:?}: {error}"))).collect()
    };
    let mut csv = csv::ReaderBuilder::new();
    csv.has_headers(false);
    let csv_records = records(&csv, text("csv"));
    csv.delimiter(b'\t').quoting(false);
    let written = Written {
        table: text("table"),
        json: parsed(&text("json")),
        jsonl: text("jsonl").lines().map(parsed).collect(),
        csv: csv_records,
        tsv: records(&csv, text("tsv")),
        markdown: text("markdown"),
        parquet: files.parquet(),
    };
    (files.code, written)
}

/// Asserts that all formats have the same keys, rows and numbers.
pub(crate) fn agree(report: &str, written: &Written) {
    let Written { table, json, jsonl, csv, tsv, markdown, parquet } = written;
    assert_eq!(json["report"], report);
    let spec = ReportSpec::named(report).unwrap();
    let rows: Vec<Value> = match spec.shape {
        Shape::Tree(_) => vec![json.clone()],
        Shape::Rows(_) => json["rows"].as_array().unwrap().clone(),
    };
    assert_eq!(jsonl, &rows, "{report}");
    assert_eq!((csv.len(), tsv.len()), (rows.len() + 1, rows.len() + 1), "{report}");
    assert_eq!(csv[0].len(), tsv[0].len());
    assert_eq!(parquet.is_some(), matches!(spec.shape, Shape::Rows(_)), "{report}");
    if let Some(parquet) = parquet {
        parquet::equals(report, parquet, csv, jsonl);
    }
    for (at, key) in csv[0].iter().enumerate() {
        for (row, cells) in rows.iter().zip(&csv[1..]) {
            let value = match spec.shape {
                Shape::Rows(_) => Some(&row[key]),
                // Names with dots are not paths, so they are not looked up.
                Shape::Tree(_) => {
                    row.pointer(&format!("/{}", key.replace('~', "~0").replace('/', "~1").replace('.', "/")))
                }
            };
            match value {
                None => {}
                Some(Value::Null) => assert_eq!(&cells[at], "", "{report}.{key}"),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                    let cell: Value = serde_json::from_str(&cells[at]).unwrap();
                    assert_eq!(&cell, value, "{report}.{key}");
                }
                Some(_) => {}
            }
        }
    }
    if let Shape::Rows(heads) = spec.shape {
        let found = |key: &str| csv[0].iter().any(|found| found == key);
        let heads = heads().into_iter().filter(|head| head.shown.is_for_programs());
        let keys: Vec<&str> =
            heads.filter(|head| !head.optional || found(head.key)).map(|head| head.key).collect();
        assert_eq!(csv[0].iter().collect::<Vec<_>>(), keys, "{report}");
    }
    for text in [table, markdown] {
        assert!(!text.is_empty() && text.ends_with('\n'), "{report}");
    }
    tables_are_whole(markdown);
}

/// Asserts that every row of a pipe table has as many cells as its head.
pub(crate) fn tables_are_whole(markdown: &str) {
    let cells = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let mut width = None;
    for line in markdown.lines() {
        width = line.starts_with('|').then(|| *width.get_or_insert(cells(line)));
        if let Some(width) = width {
            assert_eq!(cells(line), width, "{line}\n{markdown}");
        }
    }
}

#[test]
fn all_formats_of_all_recordings_agree() {
    for spec in REPORTS {
        let logs = if spec.reads_logs() {
            &["recordings", "recordings/2.1.325/stream", "recordings/2.1.50/transcript"][..]
        } else {
            &["-"]
        };
        for log in logs {
            let (code, written) = written(spec.name, &words(spec, &[log]));
            assert_eq!(code, 0, "{} {log}", spec.name);
            agree(spec.name, &written);
        }
    }
}

#[test]
fn empty_input_and_one_record_are_reports_too() {
    let (empty, one) = (log(""), log(r#"{"type":"result","subtype":"success","session_id":"s"}"#));
    for spec in REPORTS {
        for (log, expected) in [(&empty, 3), (&one, 0)] {
            let (code, written) = written(spec.name, &words(spec, &[log.path().to_str().unwrap()]));
            assert_eq!(code, if spec.reads_logs() { expected } else { 0 }, "{}", spec.name);
            agree(spec.name, &written);
        }
    }
}

#[test]
fn nothing_is_wider_than_a_narrow_screen() {
    for spec in REPORTS {
        for folder in ["recordings/2.1.325/stream", "recordings/2.1.50/transcript"] {
            for columns in ["60", "80"] {
                let words = [&words(spec, &[folder])[..], &["--format", "table"]].concat();
                let stdout = run(ccstat(&words).env("COLUMNS", columns)).1;
                let lines = stdout.lines().filter(|line| !is_pasted(line));
                let widest = lines.map(UnicodeWidthStr::width).max().unwrap_or(0);
                assert!(
                    widest <= columns.parse().unwrap(),
                    "{} of {folder} in {columns}:\n{stdout}",
                    spec.name
                );
            }
        }
    }
}

#[test]
fn sort_limit_and_columns_apply_to_every_format() {
    let words = ["prices", "--sort", "output:asc", "--limit", "2", "--columns", "output,model,source"];
    for format in formats("prices") {
        let stdout = run_with(&[&words[..], &["-f", &format]].concat()).1;
        assert!(stdout.contains("haiku-5-5") && !stdout.contains("opus"), "{format}: {stdout}");
    }
    let csv = run_with(&[&words[..], &["-f", "csv"]].concat()).1;
    assert!(csv.starts_with("output,model,source\n") && csv.lines().count() == 3, "{csv}");
}

#[test]
fn an_unknown_column_is_a_usage_error_that_names_the_nearest() {
    for words in [&["prices", "--sort", "outptu"][..], &["prices", "--columns", "model,outptu"]] {
        let (code, stdout, stderr) = run_with(words);
        assert_eq!((code, &*stdout), (2, ""));
        assert!(
            stderr
                .starts_with("ccstat: unknown column `outptu` (did you mean `output`?); available: model, "),
            "{stderr}"
        );
    }
    assert_eq!(run_with(&["prices", "--sort", "output:up"]).0, 2);
    assert_eq!(run_with(&["summarize", "--sort", "x", STORIES[0]]).0, 2, "the summary has no rows");
}

fn names(folder: &Path) -> Vec<String> {
    plain::listing(folder).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn files_are_written_in_addition_to_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (code, stdout, stderr) =
        run_with(&["summarize", STORIES[1], "-o", &path("a.json"), "-o", &format!("md={}", path("a.x"))]);
    assert_eq!((code, &*stderr), (0, ""));
    assert_eq!(stdout, run_with(&["summarize", STORIES[1]]).1);
    assert_eq!(
        std::fs::read_to_string(path("a.json")).unwrap(),
        run_with(&["summarize", "-j", STORIES[1]]).1
    );
    assert_eq!(
        std::fs::read_to_string(path("a.x")).unwrap(),
        run_with(&["summarize", "-f", "md", STORIES[1]]).1
    );
    assert_eq!(names(folder.path()), ["a.json", "a.x"]);
}

#[test]
fn a_file_that_cannot_be_written_is_reported_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("a.json"), folder.path().join("no/a.json"));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let (code, stdout, stderr) = run_with(&["summarize", STORIES[1], "-o", bad, "-o", good]);
    assert_eq!(code, 4);
    assert!(
        stderr.starts_with(&format!("ccstat: cannot write `{bad}`: ")) && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(!stdout.is_empty() && Path::new(good).exists());
    assert_eq!(run_with(&["summarize", "no-such-file.jsonl", "-q", "-o", bad]).0, 3, "3 goes before 4");
    let directory = folder.path().join("b.json");
    std::fs::create_dir(&directory).unwrap();
    assert_eq!(run_with(&["prices", "-q", "-o", directory.to_str().unwrap()]).0, 4);
    assert_eq!(names(folder.path()), ["a.json", "b.json"], "no temporary files are left");
}

#[test]
fn a_file_without_a_format_is_a_usage_error_that_lists_the_formats() {
    let (code, _, stderr) = run_with(&["summarize", STORIES[1], "-o", "report.pdf"]);
    assert_eq!(code, 2);
    for format in formats("summary") {
        assert!(stderr.contains(&format), "{stderr}");
    }
}

#[test]
fn a_report_never_overwrites_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, r#"{"type":"user"}"#).unwrap();
    let (path, folder) = (path.to_str().unwrap(), folder.path().to_str().unwrap());
    for log in [path, folder] {
        let (code, stdout, stderr) = run_with(&["summarize", log, "-o", path]);
        assert_eq!((code, &*stdout), (2, ""));
        assert!(stderr.contains("take the place of a log") && stderr.contains(path), "{stderr}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), r#"{"type":"user"}"#);
    }
}

#[cfg(unix)]
#[test]
fn a_report_can_be_written_to_a_fifo() {
    let (code, stdout, stderr) = run_with(&["prices", "-q", "-o", "csv=/dev/stdout"]);
    assert_eq!((code, &*stderr), (0, ""));
    assert!(stdout.starts_with("model,"), "{stdout}");
}

#[cfg(unix)]
#[test]
fn writing_through_a_link_keeps_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("a.csv"), folder.path().join("link.csv"));
    std::fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(run_with(&["prices", "-q", "-o", link.to_str().unwrap()]).0, 0);
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("model,"));
}
