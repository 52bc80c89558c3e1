//! Logs that are large in one dimension: many names, levels or keys, long lines, long waits. Ten times as
//! much input may take ten times as long, never a hundred times. `scripts/soak` runs the same at full size.

#[cfg(target_os = "linux")]
use std::io::Write;
use std::{
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use ccstat::internal::permission::{self, Call, Rule, SplitError};
use serde_json::{Value, json};

use crate::support::{log, run_with};

/// A program that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(300);

const SESSION: &str = "00000000-0000-4000-8000-000000000001";

fn uuid(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-{number:012x}")
}

/// A response with a call, by its number and its special part.
fn call(number: usize, session: &str, id: &str, tool: &str, model: &str) -> String {
    let content = json!([{"type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": {}}]);
    let message = json!({"id": id, "role": "assistant", "model": model, "content": content, "usage": {"input_tokens": 1}});
    json!({"type": "assistant", "session_id": session, "uuid": uuid(number), "message": message}).to_string()
}

fn result(number: usize, more: &Value) -> String {
    let mut result =
        json!({"type": "result", "subtype": "success", "session_id": SESSION, "uuid": uuid(number)});
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    result.to_string()
}

/// A dimension in which a log can be large: its name, its lines by number, and the command to run.
type Way = (&'static str, fn(usize) -> String, &'static [&'static [&'static str]]);

const SUMMARY: &[&str] = &["summarize", "--json"];
const CHECK: &[&str] = &["check", "--max-cost", "1", "--fail-on", "unpriced,unknown,loop"];

const WAYS: &[Way] = &[
    (
        "tools",
        |number| call(number, SESSION, &number.to_string(), &format!("tool{number}"), "m"),
        &[SUMMARY, &["tools"]],
    ),
    (
        "models",
        |number| call(number, SESSION, &number.to_string(), "Bash", &format!("m{number}")),
        &[SUMMARY, CHECK],
    ),
    (
        "sessions",
        |number| call(number, &uuid(number), &number.to_string(), "Bash", "m"),
        &[SUMMARY, &["sessions"]],
    ),
    (
        "sessions of one response",
        |number| call(number, &uuid(number * 7919 % 1_000_003), "one", "Bash", "m"),
        &[SUMMARY],
    ),
    (
        "kinds and versions",
        |number| {
            let init = json!({"type": "system", "subtype": "init", "session_id": SESSION, "claude_code_version": format!("1.{number}")});
            format!("{init}\n{}", json!({"type": format!("kind{number}"), "session_id": SESSION}))
        },
        &[SUMMARY, &["kinds"]],
    ),
    (
        "results of a version that goes on silently",
        |number| {
            let init = json!({"type": "system", "subtype": "init", "session_id": SESSION, "claude_code_version": "2.1.300"});
            let models = json!({"m": {"inputTokens": number + 1, "outputTokens": 1, "costUSD": number}});
            let end = result(
                number,
                &json!({"total_cost_usd": number, "duration_api_ms": number, "modelUsage": models}),
            );
            format!("{init}\n{end}\n{}", json!({"type": "conversation_reset", "session_id": SESSION}))
        },
        &[SUMMARY],
    ),
    (
        "results with their own share",
        |number| {
            let models = json!({"m": {"inputTokens": 1, "outputTokens": 1, "costUSD": 0.1}});
            let end = result(
                number,
                &json!({"total_cost_usd": 5, "duration_api_ms": number, "model_usage_since_last_result": models}),
            );
            format!("{end}\n{}", json!({"type": "conversation_reset", "session_id": SESSION}))
        },
        &[SUMMARY],
    ),
    (
        "models of one result, and results without any",
        |number| match number {
            0 => {
                let models =
                    (0..10_000).map(|model| (format!("m{model}"), json!({"inputTokens": 1, "costUSD": 1})));
                result(
                    0,
                    &json!({"total_cost_usd": 1, "modelUsage": models.collect::<serde_json::Map<_, _>>()}),
                )
            }
            _ => result(number, &json!({"total_cost_usd": number, "modelUsage": {}})),
        },
        &[SUMMARY, &["turns"]],
    ),
];

/// Returns the processor time that a command takes.
fn busy(arguments: &[&str], log: &Path) -> Duration {
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\" > /dev/null 2>&1; test $? -lt 2 || exit; times", "sh"]);
    shell.arg(crate::support::program()).args(arguments).arg(log).env("TZ", "UTC");
    let output = shell.output().unwrap();
    let times = String::from_utf8(output.stdout).unwrap();
    let seconds = |text: &str| {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    let children = times.lines().nth(1).unwrap_or_else(|| panic!("{arguments:?} failed"));
    Duration::from_secs_f64(children.split_whitespace().map(seconds).sum())
}

#[test]
fn four_times_as_many_names_take_about_four_times_as_long() {
    const SOME: usize = 3_000;
    for (name, line, questions) in WAYS {
        let lines = |count: usize| (0..count).map(|number| line(number) + "\n").collect::<String>();
        let (some, many) = (log(lines(SOME)), log(lines(4 * SOME)));
        for question in *questions {
            let (short, long) = (busy(question, some.path()), busy(question, many.path()));
            // Quadratic growth takes sixteen times as long; short times are not measured well.
            let most = short * 8 + Duration::from_millis(300);
            assert!(long < most, "{name}, {question:?}: {short:?}, and {long:?} for four times as many");
        }
    }
}

#[test]
fn ids_that_differ_in_a_few_bits_are_as_fast_as_others() {
    let line = |id: String| {
        json!({"type": "user", "uuid": id, "message": {"role": "user", "content": "x"}}).to_string() + "\n"
    };
    let mixed = |number: usize| uuid(number.wrapping_mul(0x9e37_79b9) & 0xffff_ffff);
    let high = |number: usize| {
        format!("{:08x}-{:04x}-4000-8000-000000000000", number << 16 & 0xffff_ffff, number >> 16)
    };
    let low =
        |number: usize| format!("00000000-0000-4000-8000-{:012x}", (number as u64) << 24 & 0xffff_ffff_ffff);
    let times = [&mixed as &dyn Fn(usize) -> String, &high, &low].map(|id| {
        let log = log((0..20_000).map(|number| line(id(number))).collect::<String>());
        busy(SUMMARY, log.path())
    });
    let most = times[0] * 3 + Duration::from_millis(200);
    assert!(times[1] < most && times[2] < most, "{times:?}");
}

#[test]
fn every_report_copes_with_deep_nesting() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let mut lines = String::new();
    for (kind, subtype, member) in [
        ("control_request", "can_use_tool", "input"),
        ("control_response", "success", "response"),
        ("system", "hook_response", "output"),
        ("user", "x", "content"),
        ("mystery", "x", "y"),
    ] {
        let inner = format!(
            "{{\"subtype\":\"{subtype}\",\"role\":\"user\",\"request_id\":\"r\",\"{member}\":{deep}}}"
        );
        let members =
            ["request", "response", "message", "attachment"].map(|name| format!("\"{name}\":{inner}"));
        lines += &format!(
            "{{\"type\":\"{kind}\",\"subtype\":\"{subtype}\",\"session_id\":\"s\",{}}}\n",
            members.join(",")
        );
    }
    let ask = |input: &str| {
        let block =
            format!("{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"AskUserQuestion\",\"input\":{input}}}");
        format!(
            "{{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{block}]}}}}\n"
        )
    };
    lines += &ask(&format!("{{\"questions\":{deep},\"command\":{deep}}}"));
    let log = log(lines);
    let path = log.path().to_str().unwrap();
    for report in [
        "control",
        "permissions",
        "questions",
        "hooks",
        "commands",
        "tasks",
        "mcp",
        "limits",
        "kinds",
        "calls",
    ] {
        let (code, _, said) = run_with(&[report, path]);
        assert_eq!((code, &*said), (0, ""), "{report}");
    }
    assert_eq!(run_with(&["show", "latest", path]).0, 0);
    let (code, out, _) = run_with(&["export", "calls", "--include-content", "-f", "json", path]);
    assert!(code == 0 && out.len() > 200_000);
}

#[test]
fn a_hundred_thousand_keys_or_blocks_in_one_record_are_one_record() {
    let keys: serde_json::Map<String, Value> =
        (0..100_000).map(|key| (format!("k{key}"), key.into())).collect();
    let mut first = json!({"type": "user", "session_id": SESSION});
    first.as_object_mut().unwrap().extend(keys.clone());
    let blocks: Vec<Value> = (0..100_000)
        .map(|id| json!({"type": "tool_use", "id": id.to_string(), "name": "Bash", "input": {}}))
        .collect();
    let strange: Vec<Value> = (0..20_000).map(|id| json!({"type": format!("block{id}")})).collect();
    let message = |id: &str, content: Vec<Value>| json!({"id": id, "role": "assistant", "content": content});
    let second = json!({"type": "assistant", "session_id": SESSION, "message": message("a", blocks)});
    let third = json!({"type": "assistant", "session_id": SESSION, "message": message("b", strange)});
    let fourth = json!({"type": "assistant", "session_id": SESSION, "message": message("c", vec![json!({"type": "tool_use", "id": "x", "name": "Bash", "input": keys})])});
    let log = log(format!("{first}\n{second}\n{third}\n{fourth}\n"));
    let begun = Instant::now();
    let (code, out, _) = run_with(&["summarize", "--json", log.path().to_str().unwrap()]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &report["input"]["records"], &report["tools"]["calls"]),
        (0, &4.into(), &100_001.into())
    );
    assert_eq!(report["unknown"]["blocks"].as_object().unwrap().len(), 20_000);
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn commands_and_rules_of_any_depth_and_length_are_judged_quickly() {
    let begun = Instant::now();
    for (opening, closing) in
        [("(", ")"), ("$(", ")"), ("`", "`"), ("{ ", "; }"), ("\"$(", ")\""), ("<(", ")"), ("${", "}")]
    {
        let nested = format!("{}ls{}", opening.repeat(100_000), closing.repeat(100_000));
        let unfinished = opening.repeat(100_000);
        for command in [nested, unfinished] {
            assert!(permission::split(&command).is_err(), "{opening}");
        }
    }
    assert_eq!(permission::split(&"(".repeat(100_000)), Err(SplitError::Group));
    assert_eq!(permission::split(&"ls; ".repeat(50_000)).map(|parts| parts.len()), Ok(50_000));
    let rule = Rule::parse(&format!("Bash({}b)", "a*".repeat(50))).unwrap();
    let command = "a".repeat(2_000);
    let input = json!({"command": command});
    assert!(!rule.matches(&Call { tool: "Bash", input: &input, cwd: None }));
    let rule = Rule::parse(&format!("Read(/{}/b)", "**/a*".repeat(50))).unwrap();
    assert!(!rule.matches(&Call {
        tool: "Read",
        input: &json!({"file_path": "/a".repeat(2_000)}),
        cwd: None
    }));
    assert!(begun.elapsed() < PATIENCE);
}

/// Returns the program within this many MB of address space, part of which is only reserved.
fn within(megabytes: u64, arguments: &[&str], log: &Path) -> (Option<i32>, Value) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -v {}; exec \"$@\"", megabytes * 1000), "sh"]);
    shell.arg(crate::support::program()).args(arguments).arg(log).env("TZ", "UTC");
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}")))
}

#[cfg(target_os = "linux")]
#[test]
fn a_decompression_bomb_takes_constant_memory() {
    let line = json!({"type": "user", "message": "x".repeat(1_000)}).to_string() + "\n";
    // Many members and frames in a row; 80 MB in all, more than may be in memory.
    let bytes = line.repeat(1_000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes.as_bytes()).unwrap();
    for packed in [gzip.finish().unwrap(), zstd::encode_all(bytes.as_bytes(), 3).unwrap()] {
        let packed = packed.repeat(80);
        assert!(packed.len() < 1_000_000);
        let (code, report) = within(64, &["summarize", "--json", "--threads", "1"], log(packed).path());
        assert_eq!((code, &report["input"]["records"]), (Some(0), &80_000.into()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_line_larger_than_memory_is_one_invalid_record() {
    let line = [
        b"{\"type\":\"user\",\"message\":\"",
        "x".repeat(200_000_000).as_bytes(),
        b"\"}\n{\"type\":\"user\"}\n",
    ]
    .concat();
    let log = log(line);
    for threads in ["1", "2"] {
        let limits = ["summarize", "--json", "--threads", threads, "--max-record", "1000000"];
        let (code, report) = within(192, &limits, log.path());
        let input = &report["input"];
        assert_eq!((code, &input["records"], &input["invalid"]), (Some(0), &1.into(), &1.into()));
        assert_eq!(input["invalid_places"][0]["reason"], "larger than --max-record");
        assert_eq!(input["lines"], 2);
    }
}

/// A pipe into the program, which is killed if the test ends before it does.
struct Piped(Child);

impl Piped {
    fn start(options: &[&str]) -> Self {
        let mut command = Command::new(crate::support::program());
        command.args(["summarize", "--json", "--no-progress"]).args(options).env("TZ", "UTC");
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Returns a file of the process in `/proc`.
    fn about(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.0.id())).unwrap()
    }

    /// Returns the peak memory so far, in kB.
    fn peak(&self) -> u64 {
        let status = self.about("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim_end_matches("kB").trim().parse().unwrap()
    }

    /// Returns the processor time so far, in hundredths of a second.
    fn busy(&self) -> u64 {
        let stat = self.about("stat");
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace().collect::<Vec<_>>();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    fn end(mut self) -> Value {
        drop(self.0.stdin.take());
        let mut report = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut report).unwrap();
        serde_json::from_str(&report).unwrap()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_writes_a_byte_at_a_time_takes_little_time_and_memory() {
    let mut piped = Piped::start(&[]);
    let mut stdin = piped.0.stdin.take().unwrap();
    let line = b"{\"type\":\"user\"}\n";
    stdin.write_all(line).unwrap();
    std::thread::sleep(Duration::from_millis(500)); // it has started
    let before = (piped.busy(), piped.peak());
    for byte in line.iter().chain(line).chain(line) {
        stdin.write_all(&[*byte]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    let after = (piped.busy(), piped.peak());
    assert!(after.0 <= before.0 + 20 && after.1 <= before.1 + 1_000, "{before:?}, then {after:?}");
    drop(stdin);
    assert_eq!(piped.end()["input"]["records"], 4);
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_pipe_of_repeats_takes_constant_memory() {
    let block: String =
        (0..1_000).map(|number| call(number, SESSION, &number.to_string(), "Bash", "m") + "\n").collect();
    let mut piped = Piped::start(&[]);
    let mut stdin = piped.0.stdin.take().unwrap();
    let mut peaks = Vec::new();
    for _ in 0..4 {
        for _ in 0..40 {
            stdin.write_all(block.as_bytes()).unwrap();
        }
        peaks.push(piped.peak());
    }
    drop(stdin);
    assert_eq!(piped.end()["input"]["records"], 160_000);
    assert!(peaks[3] <= peaks[0] + 2_000, "{peaks:?} kB");
}
