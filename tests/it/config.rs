//! Defaults of options: `ccstat.toml` and the variables `CCSTAT_*`.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{ccstat, run, testdata};

/// A folder with this `ccstat.toml`, a folder `below` in it, and a log beside it.
fn folder(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ccstat.toml"), config).unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    for to in ["run.jsonl", "below/run.jsonl"] {
        std::fs::copy(testdata("logs/gateway.jsonl"), folder.path().join(to)).unwrap();
    }
    folder
}

/// The program, started in this folder.
fn within(folder: &Path, words: &[&str]) -> Command {
    let mut command = ccstat(words);
    command.current_dir(folder);
    command
}

/// How the program ends with this `ccstat.toml`, and what it writes.
fn with(config: &str, words: &[&str]) -> (i32, String, String) {
    run(&mut within(folder(config).path(), words))
}

/// The format that a report was written in, by how it begins.
fn format_of(stdout: &str) -> &'static str {
    match stdout {
        text if text.starts_with("{\n") => "json",
        text if text.starts_with("{\"") => "jsonl",
        text if text.starts_with("### ") => "markdown",
        text if text.lines().next().is_some_and(|line| line.contains('\t')) => "tsv",
        text if text.lines().next().is_some_and(|line| line.contains(',')) => "csv",
        _ => "table",
    }
}

#[test]
fn what_is_typed_goes_before_variables_before_the_file_before_what_is_built_in() {
    let config = "format = \"csv\"\n[tools]\nformat = \"tsv\"\n";
    let folder = folder(config);
    let case = |words: &[&str], variable: Option<&str>| {
        let mut command = within(folder.path(), words);
        if let Some(format) = variable {
            command.env("CCSTAT_FORMAT", format);
        }
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
        format_of(&stdout)
    };
    assert_eq!(case(&["prices"], None), "csv");
    assert_eq!(case(&["tools", "run.jsonl"], None), "tsv", "the table of a command goes before the top");
    assert_eq!(case(&["tools", "run.jsonl"], Some("markdown")), "markdown");
    assert_eq!(case(&["prices", "--format", "jsonl"], Some("markdown")), "jsonl");
    assert_eq!(case(&["--no-config", "prices"], None), "table");
    assert_eq!(case(&["prices", "--no-config"], Some("csv")), "csv", "variables are no file");
    assert_eq!(case(&["prices"], Some("")), "csv", "an empty variable says nothing");
}

#[test]
fn what_rules_out_another_option_goes_by_the_same_order() {
    let json = folder("json = true\n");
    let csv = folder("format = \"csv\"\n");
    let format = |folder: &TempDir, words: &[&str], variable: Option<(&str, &str)>| {
        let mut command = within(folder.path(), words);
        command.envs(variable);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
        format_of(&stdout)
    };
    assert_eq!(format(&csv, &["prices", "--json"], None), "json");
    assert_eq!(format(&json, &["prices", "--format", "csv"], None), "csv");
    assert_eq!(format(&csv, &["prices"], Some(("CCSTAT_JSON", "1"))), "json");
    assert_eq!(format(&json, &["prices"], Some(("CCSTAT_FORMAT", "csv"))), "csv");
    assert_eq!(format(&csv, &["prices"], Some(("CCSTAT_JSON", "0"))), "csv", "what is off rules out nothing");
    let both = with("json = true\nformat = \"csv\"\n", &["prices"]);
    assert_eq!(both.0, 2);
    assert!(
        both.2.contains("cannot be used with") && both.2.contains("`json` in `ccstat.toml`, line 1"),
        "{}",
        both.2
    );
}

#[test]
fn a_flag_is_switched_off_by_a_variable() {
    let folder = folder("[summarize]\nstrict = true\n");
    std::fs::write(folder.path().join("bad.jsonl"), "{\"type\":\"user\"}\nnoise\n").unwrap();
    let strict = |value: Option<&str>| {
        let mut command = within(folder.path(), &["summarize", "bad.jsonl"]);
        if let Some(value) = value {
            command.env("CCSTAT_STRICT", value);
        }
        run(&mut command)
    };
    assert_eq!(strict(None).0, 1);
    for off in ["0", "false", "no", "OFF"] {
        assert_eq!(strict(Some(off)).0, 0, "{off}");
    }
    for on in ["1", "true", "yes", "on"] {
        assert_eq!(strict(Some(on)).0, 1, "{on}");
    }
    let (code, _, stderr) = strict(Some("maybe"));
    assert_eq!(code, 2);
    assert!(stderr.contains("write true or false for the variable `CCSTAT_STRICT`"), "{stderr}");
}

#[test]
fn an_option_holds_only_for_commands_that_have_it() {
    let config = "strict = true\ninclude_content = true\nby = [\"model\", \"project\"]\n";
    for words in [&["tools", "run.jsonl"][..], &["prices"], &["schema"], &["cost", "run.jsonl"]] {
        let (code, _, stderr) = with(config, words);
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
    }
    let (_, stdout, _) = with(config, &["cost", "run.jsonl", "--format", "csv"]);
    assert!(stdout.starts_with("model,project,"), "{stdout}");
    let (_, stdout, _) = with(config, &["cost", "run.jsonl", "--format", "csv", "--by", "day"]);
    assert!(stdout.starts_with("day,"), "what is typed takes the place of the whole list: {stdout}");
}

#[test]
fn a_wrong_key_is_told_with_its_line_and_the_nearest() {
    let told = |config: &str| {
        let (code, stdout, stderr) = with(config, &["summarize", "run.jsonl"]);
        assert_eq!((code, &*stdout), (2, ""), "{config}");
        stderr
    };
    assert_eq!(
        told("# a team's defaults\n\nmax_recrod = \"1M\"\n"),
        "ccstat: unknown key `max_recrod` in `ccstat.toml`, line 3: did you mean `max-record`?\n"
    );
    assert_eq!(
        told("[sumarize]\nstrict = true\n"),
        "ccstat: unknown key `sumarize` in `ccstat.toml`, line 1: did you mean `summarize`?\n"
    );
    assert_eq!(
        told("[tools]\nlimitt = 3\n"),
        "ccstat: unknown key `limitt` in `ccstat.toml`, line 2: did you mean `limit`?\n",
        "also in the table of another command than the one that runs"
    );
    assert_eq!(
        told("[tools]\nstrict = true\n"),
        "ccstat: `strict` in `ccstat.toml`, line 2 is no option of `tools`, but of `summarize`, `run`, `check`\n"
    );
    assert_eq!(
        told("tools = 3\n"),
        "ccstat: `tools` in `ccstat.toml`, line 1 is the name of a command: write its options below `[tools]`\n"
    );
    assert_eq!(
        told("max_record = 5\nmax-record = 6\n"),
        "ccstat: `max_record` in `ccstat.toml`, line 1 is set a second time by `max-record` in `ccstat.toml`, line 2\n"
    );
    for key in ["config", "no-config", "help", "version", "paths"] {
        assert!(
            told(&format!("{key} = \"x\"\n")).starts_with(&format!("ccstat: unknown key `{key}`")),
            "{key}"
        );
    }
}

#[test]
fn a_wrong_variable_is_told_with_the_nearest() {
    let folder = folder("");
    let (code, _, stderr) = run(within(folder.path(), &["prices"]).env("CCSTAT_FROMAT", "csv"));
    assert_eq!(code, 2);
    assert_eq!(stderr, "ccstat: unknown variable `CCSTAT_FROMAT`: did you mean `CCSTAT_FORMAT`?\n");
}

#[test]
fn a_wrong_value_is_told_in_the_words_of_the_option_and_with_its_origin() {
    let (code, _, stderr) = with("\nformat = \"cvs\"\n", &["prices"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("invalid value 'cvs' for '--format <FORMAT>'"), "{stderr}");
    assert!(stderr.contains("it is `format` in `ccstat.toml`, line 2"), "{stderr}");
    let folder = folder("");
    let (code, _, stderr) =
        run(within(folder.path(), &["summarize", "run.jsonl"]).env("CCSTAT_MAX_RECORD", "5Q"));
    assert_eq!(code, 2);
    assert!(
        stderr.contains("unknown unit `Q`") && stderr.contains("the variable `CCSTAT_MAX_RECORD`"),
        "{stderr}"
    );
    let (code, _, stderr) = run(&mut within(folder.path(), &["prices", "--format", "cvs"]));
    assert_eq!(code, 2);
    assert!(!stderr.contains("not typed"), "{stderr}");
    let (code, _, stderr) = with("strict = \"yes\"\n", &["summarize", "run.jsonl"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("write true or false for `strict` in `ccstat.toml`, line 1"), "{stderr}");
}

#[test]
fn a_broken_file_is_told_with_its_line() {
    let (code, _, stderr) = with("format = \"csv\"\nlimit = = 3\n", &["prices"]);
    assert_eq!(code, 2);
    assert!(stderr.starts_with("ccstat: cannot understand `ccstat.toml`, line 2: "), "{stderr}");
    let (code, stdout, _) = with("format = \"csv\"\nlimit = = 3\n", &["prices", "--help"]);
    assert_eq!(code, 0, "help is given all the same");
    assert!(stdout.contains("ccstat.toml") && stdout.contains("CCSTAT_"), "{stdout}");
}

#[test]
fn the_nearest_file_above_is_found_and_one_can_be_named() {
    let folder = folder("format = \"csv\"\n");
    std::fs::write(folder.path().join("other.toml"), "format = \"tsv\"\n").unwrap();
    let below = folder.path().join("below");
    let format = |command: &mut Command| {
        let (code, stdout, stderr) = run(command);
        assert_eq!((code, &*stderr), (0, ""));
        format_of(&stdout)
    };
    assert_eq!(format(&mut within(&below, &["prices"])), "csv");
    assert_eq!(format(&mut within(&below, &["prices", "--config", "../other.toml"])), "tsv");
    assert_eq!(format(&mut within(&below, &["--config", "../other.toml", "prices"])), "tsv");
    assert_eq!(format(within(&below, &["prices"]).env("CCSTAT_CONFIG", "../other.toml")), "tsv");
    assert_eq!(format(within(&below, &["prices"]).env("CCSTAT_NO_CONFIG", "1")), "table");
    assert_eq!(format(within(&below, &["prices"]).env("CCSTAT_NO_CONFIG", "0")), "csv");
    std::fs::write(below.join("ccstat.toml"), "").unwrap();
    assert_eq!(format(&mut within(&below, &["prices"])), "table", "the nearest alone counts");
    let (code, _, stderr) = run(&mut within(&below, &["prices", "--config", "none.toml"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot read `none.toml`"), "{stderr}");
}

#[test]
fn paths_in_the_file_are_meant_from_its_folder() {
    let folder = folder("pricing = \"prices.json\"\noutput = [\"report.json\", \"csv=report.data\"]\n");
    std::fs::copy(testdata("pricing/per-million.json"), folder.path().join("prices.json")).unwrap();
    let below = folder.path().join("below");
    let (code, _, stderr) = run(&mut within(&below, &["summarize", "run.jsonl"]));
    assert_eq!((code, &*stderr), (0, ""));
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("report.json")).unwrap()).unwrap();
    assert!(report["cost"]["total_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{report}");
    assert!(
        std::fs::read_to_string(folder.path().join("report.data")).unwrap().starts_with("input.sources,")
    );
    assert_eq!(
        std::fs::read_dir(&below).unwrap().count(),
        1,
        "nothing is written where the program was started"
    );
    let list = below.join("list");
    std::fs::write(&list, "run.jsonl\n").unwrap();
    let mut command = within(&below, &["summarize", "-q"]);
    assert_eq!(run(command.env("CCSTAT_FILES_FROM", "list")).0, 0, "a variable is meant from here");
}

#[test]
fn prices_can_stand_in_the_file_itself() {
    let config =
        "[prices]\nlimit = 0\n\n[prices.\"house-model-1\"]\ninput = 2\noutput = 10.0\ncache_read = 0.2\n";
    let cost = |config: &str, words: &[&str]| {
        let words = [&["summarize", "run.jsonl", "--json"], words].concat();
        let (code, stdout, stderr) = with(config, &words);
        assert_eq!((code, &*stderr), (0, ""));
        serde_json::from_str::<Value>(&stdout).unwrap()["cost"]["total_usd"].clone()
    };
    assert_eq!(cost("", &[]), Value::Null);
    // 1,000 input, 500 output, 10,000 read, 2,000 written at 1.25 times the input rate:
    // 0.002 + 0.005 + 0.002 + 0.005 dollars.
    assert_eq!(cost(config, &[]).as_f64(), Some(0.014));
    assert_eq!(cost(config, &["--no-config"]), Value::Null);
    let typed = testdata("pricing/per-million.json");
    let typed = cost("", &["--pricing", typed.to_str().unwrap()]);
    let both = testdata("pricing/per-million.json");
    assert_eq!(cost(&config.replace("= 10.0", "= 99"), &["--pricing", both.to_str().unwrap()]), typed);
    let (_, stdout, _) = with(config, &["prices", "--format", "csv"]);
    assert!(stdout.contains("house-model-1,standard,2,10,0.2,2.5,4,0.01,ccstat.toml"), "{stdout}");
    let folder = folder(config);
    std::fs::rename(folder.path().join("ccstat.toml"), folder.path().join("prices.toml")).unwrap();
    let words = ["summarize", "run.jsonl", "--pricing", "prices.toml", "--format", "table"];
    let (_, stdout, _) = run(&mut within(folder.path(), &words));
    assert!(stdout.contains("$0.014"), "a file of prices may be TOML too: {stdout}");
    let wrong = "[prices.\"house-model-1\"]\ninput = 2\noutput = 1\ncache_raed = 1\n";
    let (code, _, stderr) = with(wrong, &["summarize", "run.jsonl"]);
    assert_eq!(code, 2);
    assert!(
        stderr.starts_with(
            "ccstat: pricing file `ccstat.toml, line 1`: unknown key `prices.house-model-1.cache_raed`, did you mean `cache_read`?"
        ),
        "{stderr}"
    );
}

#[test]
fn gates_of_a_team_can_stand_in_the_file() {
    let folder = folder("[diff]\nmax-cost-increase = \"10%\"\nmax_turns_increase = 1_0\n");
    let logs = ["05-parallel-tools", "06-multi-turn-stdin"];
    let logs = logs.map(|log| testdata(&format!("recordings/2.1.325/stream/{log}.jsonl")));
    let words = ["diff", logs[0].to_str().unwrap(), logs[1].to_str().unwrap()];
    let (code, _, stderr) = run(&mut within(folder.path(), &words));
    assert_eq!((code, stderr.lines().count()), (1, 1), "{stderr}");
    assert!(stderr.starts_with("ccstat: gate max-cost-increase failed: "), "{stderr}");
    assert_eq!(
        run(&mut within(folder.path(), &[&words[..], &["--max-cost-increase", "200%"]].concat())).0,
        0
    );
    assert_eq!(run(within(folder.path(), &words).env("CCSTAT_MAX_COST_INCREASE", "200%")).0, 0);
}

#[test]
fn types_of_toml_are_what_would_be_typed() {
    let config =
        "since = 2026-11-10\ntimezone = \"UTC\"\nlimit = 2\ncolumns = [\"day\", \"cost_usd\"]\nthreads = 1\n";
    let week = testdata("logs/week");
    let (code, stdout, stderr) = with(config, &["daily", week.to_str().unwrap(), "--format", "csv"]);
    assert_eq!((code, &*stderr), (0, ""));
    assert_eq!(stdout.lines().next(), Some("day,cost_usd"));
    assert!(stdout.contains("2026-11-10") && !stdout.contains("2026-11-09"), "{stdout}");
}

#[test]
fn the_example_of_the_readme_can_be_used() {
    let readme = std::fs::read_to_string(testdata("../README.md")).unwrap();
    let example = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = folder(example);
    std::fs::copy(testdata("pricing/per-million.json"), folder.path().join("prices.json")).unwrap();
    for words in [&["summarize", "run.jsonl"][..], &["diff", "run.jsonl", "run.jsonl"], &["prices"]] {
        let (code, _, stderr) = run(&mut within(folder.path(), words));
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
    }
}
