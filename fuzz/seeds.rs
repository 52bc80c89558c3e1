//! The seeds of every fuzz target, from `testdata/`: logs and their lines, the commands and rules in them,
//! price files, and a few texts that logs do not contain. `tests/replay.rs` runs them, and `fuzz/seed` writes
//! them to `fuzz/corpus/`.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

/// The targets.
pub(crate) const TARGETS: &[&str] = &[
    "skim", "twins", "kernel", "scan", "report", "rule", "shell", "settings", "pricing", "time", "config",
    "spool",
];

/// Times as people write them, and zones.
const TIMES: &[&str] = &[
    "now",
    "today",
    "yesterday",
    "2026-11-15",
    "20261115",
    "2026-11",
    "2026-11-15T08:00",
    "2026-11-15 08:00:30",
    "2026-11-15T08:00:00Z",
    "2026-11-15T08:00:00.123456+02:00",
    "2026-10-25T02:30",
    "2026-03-29T02:30",
    "7d",
    "12h",
    "30m",
    "90 s",
    "2 weeks ago",
    "1 month",
    "3 years ago",
    "9999-12-31",
    "0001-01",
    "-009999-01-01",
    "Europe/Berlin",
    "UTC",
    "local",
    "+02:00",
    "-01:30",
    "Pacific/Apia",
    "99999999999999999999d",
    "1e3d",
    "2011-12-30",
];

/// Rules, each with a text to try it on.
const RULES: &[&str] = &[
    "Bash\0ls",
    "Bash(npm:*)\0npm test && rm -rf /",
    "Bash(git status)\0git status",
    "Bash(echo \\(a\\))\0echo (a)",
    "Edit(src/**)\0/home/dev/project/src/a/b.rs",
    "Read(~/.ssh/*)\0/home/dev/.ssh/id",
    "Edit(//etc/**)\0/etc/passwd",
    "WebFetch(domain:example.com)\0https://example.com/a",
    "mcp__server__*\0x",
    "Agent(Explore)\0x",
    "Skill(greet)\0x",
    "Read, Edit(a,b) Bash(npm:*)\0a,b",
    "Bash(\0(",
    "Bash()\0",
    "Edit(**/*.{rs,toml})\0a/b.toml",
    "Edit(a[!b-d]?)\0ae1",
];

/// Commands that do not occur in the logs.
const COMMANDS: &[&str] = &[
    "A=b npm test | tee 'a;b' > /tmp/x 2>&1 &",
    "sudo -u dev timeout 5 env X=y rm -rf \"$HOME\"/x",
    "echo $(date) `id`",
    "cat <<EOF\na\nEOF",
    "if true; then ls; fi",
    "xargs -n 1 rm <<< x",
    "a&&b||c;d|e&f",
    "echo \\\n b # c",
    "diff <(a) >(b)",
    "git push --force origin main",
    "{ a; b; }",
    "(cd /; ls)",
    "echo ${x:-y} $'a'",
    "eval \"a b\"",
    "python3.12 -c 'x'",
];

/// Settings files.
const SETTINGS: &[&str] = &[
    r#"{"model":"opus","permissions":{"allow":["Bash(npm:*)","Edit(.claude)","Read"],"deny":["Bash(rm -rf:*)"],"ask":["Write(/etc/*)"],"defaultMode":"acceptEdits","additionalDirectories":["/path/to/extra"],"somethingNew":4}}"#,
    "\u{feff}{}",
    r#"{"permissions":{"allow":null,"defaultMode":"dontAsk"}}"#,
    r#"{"permissions":{"allow":["Bash(npm"]}}"#,
    r#"{"permissions":{"deny":["Read",4],"defaultMode":"acceptEdit"}}"#,
];

/// Price files beside those of `testdata/pricing`.
const PRICES: &[&str] = &[
    r#"{"models":{"claude-opus-5-5":{"input":1,"output":2.5,"cache_write_5m":3,"cache_write_1h":4e0,"cache_read":0.05,"fast":{"input":10,"output":20,"cache_read":7},"long":{"above":100000,"input":100,"output":200,"cache_write_5m":0},"web_search":0.02}}}"#,
    r#"{"models":{"vertex/claude-opus-5@1":{"input":1000000,"output":0.0001},"us.anthropic.claude-opus-5":{"input":22,"output":1}}}"#,
    r#"{"model":{"x":{"inptu":1}}}"#,
    r#"{"gpt-x":{"input_cost_per_token":2.5e-06,"output_cost_per_token":1e-05,"cache_creation_input_token_cost":null,"search_context_cost_per_query":{"search_context_size_medium":0.03}}}"#,
];

/// Files of defaults.
const CONFIGS: &[&str] = &[
    "format = \"csv\"\n[tools]\nformat = \"tsv\"\n",
    "max_record = 1_000\nfail-on = [\"denial\", \"error\"]\nstrict = true\n[prices.\"claude-x\"]\ninput = 4\noutput = 20.5\n",
    "a.b = 1\n[[summarize]]\nx = 2026-11-16T07:32:00Z\n",
    "x = '''\n'''\ny = \"\"\"\\u00e9\"\"\"\nz = {a = inf, b = [-1, +0x_f]}\n",
    "[summarize]\nlimit = 3\n[summarize]\n",
];

/// The seeds of a target with their names: inputs that fuzzing found, then the others.
pub(crate) fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut seeds = files(&format!("fuzz/{target}"), usize::MAX);
    let made: Vec<Vec<u8>> = match target {
        "skim" | "twins" => lines(3000),
        "kernel" => lines(3000)
            .iter()
            .map(|line| line.splitn(2, |&byte| byte == b'"').last().unwrap_or(line).to_vec())
            .collect(),
        // Blocks of 64 bytes and units of 512.
        "scan" => logs(20_000).iter().map(|log| [b"\x40\x00\x02", &**log].concat()).collect(),
        // The first byte selects the format.
        "report" => (0..).zip(logs(6000)).map(|(format, log)| [&[format], &*log].concat()).collect(),
        "rule" => texts(RULES).into_iter().chain(recorded("rule").map(String::into_bytes)).collect(),
        "shell" => texts(COMMANDS).into_iter().chain(recorded("command").map(String::into_bytes)).collect(),
        "settings" => texts(SETTINGS),
        "pricing" => {
            files("pricing", 20_000).into_iter().map(|(_, file)| file).chain(texts(PRICES)).collect()
        }
        "time" => {
            texts(TIMES).into_iter().chain(recorded("timestamp").take(20).map(String::into_bytes)).collect()
        }
        "config" => texts(CONFIGS),
        "spool" => {
            vec![(0..=255).collect(), vec![255; 40], [[254_u8, 255, 0].repeat(9), vec![0; 20]].concat()]
        }
        _ => Vec::new(),
    };
    let width = made.len().to_string().len();
    seeds.extend(made.into_iter().enumerate().map(|(at, seed)| (format!("seed-{at:0width$}"), seed)));
    seeds
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The files below a folder of `testdata/` up to a size, sorted by name.
fn files(folder: &str, most: usize) -> Vec<(String, Vec<u8>)> {
    fn collect(folder: &Path, most: usize, found: &mut Vec<(String, Vec<u8>)>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() {
                collect(&path, most, found);
            } else if name != "README.md" {
                let bytes = fs::read(&path).expect("a file");
                found.extend((bytes.len() <= most).then_some((name, bytes)));
            }
        }
    }
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder), most, &mut found);
    found
}

/// Logs up to a size: stories, broken logs, and a sample of each kind.
fn logs(most: usize) -> Vec<Vec<u8>> {
    ["logs", "bad", "kinds"].iter().flat_map(|folder| files(folder, most)).map(|(_, log)| log).collect()
}

/// Distinct lines up to a size: a sample of each kind, and lines of some recordings.
fn lines(most: usize) -> Vec<Vec<u8>> {
    let recordings = ["recordings/2.1.50/stream", "recordings/2.1.325/stream"];
    let files = ["kinds"].iter().chain(&recordings).flat_map(|folder| files(folder, 20_000));
    let (mut known, mut lines) = (BTreeSet::new(), Vec::new());
    for (_, file) in files {
        for line in file.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && line.len() < most) {
            if known.insert(line.to_vec()) && (known.len() < 120 || known.len().is_multiple_of(6)) {
                lines.push(line.to_vec());
            }
        }
    }
    lines
}

/// The distinct values of a key in the recordings: commands, rules, times.
fn recorded(key: &str) -> impl Iterator<Item = String> {
    fn collect(value: &Value, key: &str, values: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                values.extend(members.get(key).and_then(Value::as_str).map(str::to_owned));
                let content = members.get("ruleContent").and_then(Value::as_str);
                let tool = members.get("toolName").and_then(Value::as_str).filter(|_| key == "rule");
                values
                    .extend(tool.zip(content).map(|(tool, content)| format!("{tool}({content})\0{content}")));
                members.values().for_each(|value| collect(value, key, values));
            }
            Value::Array(elements) => elements.iter().for_each(|value| collect(value, key, values)),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    for (_, log) in files("recordings/2.1.325/stream", 60_000).iter().chain(&files("logs", 60_000)) {
        for line in log.split(|&byte| byte == b'\n') {
            serde_json::from_slice(line).iter().for_each(|value: &Value| collect(value, key, &mut all));
        }
    }
    all.into_iter()
}
