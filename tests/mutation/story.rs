//! The stories that are mutated: every log of `testdata/`, line by line.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
};

use ccstat::internal::{
    event,
    facts::{Account, Facts},
    input::{Place, SourceId},
    measure::Prices,
};

/// The folders of the stories.
const FOLDERS: &[&str] = &["kinds", "logs", "bad", "recordings"];

/// All stories.
pub(crate) struct Stories {
    /// Every line, each once.
    pub(crate) lines: Vec<Line>,
    /// The lines that are records.
    pub(crate) records: Vec<usize>,
    /// One line of each kind, by number.
    pub(crate) kinds: Vec<usize>,
    /// Every file with one value per line.
    pub(crate) files: Vec<File>,
    /// Every other file: documents, and lines with several values.
    pub(crate) documents: Vec<Vec<u8>>,
}

/// One line.
pub(crate) struct Line {
    pub(crate) bytes: Vec<u8>,
    /// Its kind, if it is a record.
    kinds: BTreeMap<String, u64>,
}

impl Line {
    pub(crate) fn is_record(&self) -> bool {
        !self.kinds.is_empty()
    }
}

/// One file of lines.
pub(crate) struct File {
    pub(crate) name: String,
    /// Its lines, by number.
    pub(crate) lines: Vec<usize>,
}

impl Stories {
    /// Reads all stories, sorted by name.
    pub(crate) fn read() -> Self {
        let mut stories = Self {
            lines: Vec::new(),
            records: Vec::new(),
            kinds: Vec::new(),
            files: Vec::new(),
            documents: Vec::new(),
        };
        let (mut numbers, mut kinds) = (HashMap::new(), BTreeSet::new());
        for (name, bytes) in logs() {
            if !matches!(super::checks::things(&bytes), Some(lines) if lines.len() > 1 || lines.iter().all(|(_, line)| event::obvious(line).is_ok()))
            {
                stories.documents.push(bytes);
                continue;
            }
            let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            let lines = lines
                .map(|line| *numbers.entry(line.to_vec()).or_insert_with(|| stories.take(line, &mut kinds)));
            let lines = lines.collect();
            stories.files.push(File { name, lines });
        }
        assert!(stories.files.len() > 200 && stories.documents.len() >= 4 && stories.kinds.len() > 60);
        stories
    }

    fn take(&mut self, line: &[u8], known: &mut BTreeSet<String>) -> usize {
        let number = self.lines.len();
        let kinds = event::obvious(line).map(|event| {
            let mut facts = Facts::default();
            facts.absorb(Place { source: SourceId(0), offset: 0, unit: 0, line: 0 }, &event);
            facts.settle(&Prices::built_in()).kinds
        });
        let kinds = kinds.unwrap_or_default();
        if !kinds.is_empty() {
            self.records.push(number);
        }
        if kinds.keys().any(|kind| known.insert(kind.clone())) {
            self.kinds.push(number);
        }
        self.lines.push(Line { bytes: line.to_vec(), kinds });
        number
    }

    /// A line with its end.
    pub(crate) fn with_end(&self, line: usize) -> impl Iterator<Item = u8> {
        self.lines[line].bytes.iter().copied().chain([b'\n'])
    }

    /// Asserts that the records among these lines are counted, kind by kind.
    pub(crate) fn still_counted(&self, lines: impl Iterator<Item = usize>, account: &Account, log: &[u8]) {
        let (mut wanted, mut records) = (BTreeMap::<&str, u64>::new(), 0);
        for (kind, count) in lines.flat_map(|line| &self.lines[line].kinds) {
            *wanted.entry(kind).or_default() += count;
            records += count;
        }
        assert!(account.input.records >= records, "lost records in {}", log.escape_ascii());
        for (kind, count) in wanted {
            let counted = account.kinds.get(kind).copied().unwrap_or_default();
            assert!(counted >= count, "{counted} of {count} `{kind}` in {}", log.escape_ascii());
        }
    }
}

/// Returns all logs, by name.
fn logs() -> Vec<(String, Vec<u8>)> {
    let mut logs = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for folder in FOLDERS {
        collect(&root.join(folder), &mut logs);
    }
    logs
}

fn collect(folder: &Path, logs: &mut Vec<(String, Vec<u8>)>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let is_log = path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json");
        if path.is_dir() {
            collect(&path, logs);
        } else if is_log {
            logs.push((path.to_string_lossy().into_owned(), fs::read(path).unwrap()));
        }
    }
}
