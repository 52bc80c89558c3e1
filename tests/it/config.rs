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

/// Returns the program, started in this folder.
fn within(folder: &Path, words: &[&str]) -> Command {
    let mut command = ccstat(words);
    command.current_dir(folder);
    command
}

/// Runs the program with this `ccstat.toml`: exit code and output.
fn with(config: &str, words: &[&str]) -> (i32, String, String) {
    run(&mut within(folder(config).path(), words))
}

/// Detects the format of a report by its beginning.
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
fn arguments_override_variables_then_the_file_then_the_defaults() {
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
    assert_eq!(case(&["tools", "run.jsonl"], None), "tsv", "the table of a command overrides the top level");
    assert_eq!(case(&["tools", "run.jsonl"], Some("markdown")), "markdown");
    assert_eq!(case(&["prices", "--format", "jsonl"], Some("markdown")), "jsonl");
    assert_eq!(case(&["--no-config", "prices"], None), "table");
    assert_eq!(
        case(&["prices", "--no-config"], Some("csv")),
        "csv",
        "--no-config does not disable variables"
    );
    assert_eq!(case(&["prices"], Some("")), "csv", "an empty variable is ignored");
}

#[test]
fn conflicting_options_follow_the_same_precedence() {
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
    assert_eq!(
        format(&csv, &["prices"], Some(("CCSTAT_JSON", "0"))),
        "csv",
        "a flag that is off conflicts with nothing"
    );
    let both = with("json = true\nformat = \"csv\"\n", &["prices"]);
    assert_eq!(both.0, 2);
    assert!(
        both.2.contains("cannot be used with") && both.2.contains("`json` in `ccstat.toml`, line 1"),
        "{}",
        both.2
    );
}

#[test]
fn a_variable_can_switch_a_flag_off() {
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
fn a_default_applies_only_to_commands_with_that_option() {
    let config = "strict = true\nstop_on_gate = true\nby = [\"model\", \"project\"]\n";
    for words in [&["tools", "run.jsonl"][..], &["prices"], &["schema"], &["cost", "run.jsonl"]] {
        let (code, _, stderr) = with(config, words);
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
    }
    let (_, stdout, _) = with(config, &["cost", "run.jsonl", "--format", "csv"]);
    assert!(stdout.starts_with("model,project,"), "{stdout}");
    let (_, stdout, _) = with(config, &["cost", "run.jsonl", "--format", "csv", "--by", "day"]);
    assert!(stdout.starts_with("day,"), "an argument replaces the whole list: {stdout}");
}

#[test]
fn an_unknown_key_is_reported_with_its_line_and_the_nearest_key() {
    let message = |config: &str| {
        let (code, stdout, stderr) = with(config, &["summarize", "run.jsonl"]);
        assert_eq!((code, &*stdout), (2, ""), "{config}");
        stderr
    };
    assert_eq!(
        message("# a team's defaults\n\nmax_recrod = \"1M\"\n"),
        "ccstat: unknown key `max_recrod` in `ccstat.toml`, line 3: did you mean `max-record`?\n"
    );
    assert_eq!(
        message("[sumarize]\nstrict = true\n"),
        "ccstat: unknown key `sumarize` in `ccstat.toml`, line 1: did you mean `summarize`?\n"
    );
    assert_eq!(
        message("[tools]\nlimitt = 3\n"),
        "ccstat: unknown key `limitt` in `ccstat.toml`, line 2: did you mean `limit`?\n",
        "even in the table of another command"
    );
    assert_eq!(
        message("[tools]\nstrict = true\n"),
        "ccstat: `strict` in `ccstat.toml`, line 2 is not an option of `tools`, but of `summarize`, `run`, `check`\n"
    );
    assert_eq!(
        message("tools = 3\n"),
        "ccstat: `tools` in `ccstat.toml`, line 1 is the name of a command: write its options below `[tools]`\n"
    );
    assert_eq!(
        message("max_record = 5\nmax-record = 6\n"),
        "ccstat: `max_record` in `ccstat.toml`, line 1 is set again by `max-record` in `ccstat.toml`, line 2\n"
    );
    for key in ["config", "no-config", "help", "version", "paths"] {
        assert!(
            message(&format!("{key} = \"x\"\n")).starts_with(&format!("ccstat: unknown key `{key}`")),
            "{key}"
        );
    }
}

#[test]
fn an_unknown_variable_is_reported_with_the_nearest_one() {
    let folder = folder("");
    let (code, _, stderr) = run(within(folder.path(), &["prices"]).env("CCSTAT_FROMAT", "csv"));
    assert_eq!(code, 2);
    assert_eq!(stderr, "ccstat: unknown variable `CCSTAT_FROMAT`: did you mean `CCSTAT_FORMAT`?\n");
}

#[test]
fn an_invalid_value_is_reported_as_for_the_option_and_with_its_origin() {
    let (code, _, stderr) = with("\nformat = \"cvs\"\n", &["prices"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("invalid value 'cvs' for '--format <FORMAT>'"), "{stderr}");
    assert!(stderr.contains("it comes from `format` in `ccstat.toml`, line 2"), "{stderr}");
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
fn a_file_that_is_not_toml_is_reported_with_its_line() {
    let (code, _, stderr) = with("format = \"csv\"\nlimit = = 3\n", &["prices"]);
    assert_eq!(code, 2);
    assert!(stderr.starts_with("ccstat: cannot parse `ccstat.toml`, line 2: "), "{stderr}");
    let (code, stdout, _) = with("format = \"csv\"\nlimit = = 3\n", &["prices", "--help"]);
    assert_eq!(code, 0, "help is printed nevertheless");
    assert!(stdout.contains("ccstat.toml") && stdout.contains("CCSTAT_"), "{stdout}");
}

#[test]
fn the_nearest_file_in_a_parent_folder_is_found_or_one_can_be_named() {
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
    assert_eq!(format(&mut within(&below, &["prices"])), "table", "only the nearest counts");
    let (code, _, stderr) = run(&mut within(&below, &["prices", "--config", "none.toml"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot read `none.toml`"), "{stderr}");
}

#[test]
fn paths_in_the_file_are_relative_to_its_folder() {
    let folder = folder("pricing = \"prices.json\"\noutput = [\"report.json\", \"csv=report.data\"]\n");
    std::fs::copy(testdata("pricing/per-million.json"), folder.path().join("prices.json")).unwrap();
    let below = folder.path().join("below");
    let words = ["summarize", "run.jsonl", "--config", "../ccstat.toml"];
    let (code, _, stderr) = run(&mut within(&below, &words));
    assert_eq!((code, &*stderr), (0, ""));
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("report.json")).unwrap()).unwrap();
    assert!(report["cost"]["total_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{report}");
    assert!(
        std::fs::read_to_string(folder.path().join("report.data")).unwrap().starts_with("input.sources,")
    );
    assert_eq!(std::fs::read_dir(&below).unwrap().count(), 1, "nothing is written to the current folder");
    let list = below.join("list");
    std::fs::write(&list, "run.jsonl\n").unwrap();
    let mut command = within(&below, &["summarize", "-q", "--no-config"]);
    assert_eq!(
        run(command.env("CCSTAT_FILES_FROM", "list")).0,
        0,
        "paths in variables are relative to the current folder"
    );
}

#[test]
fn the_file_can_contain_prices() {
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
    assert!(stdout.contains("house-model-1,standard,,2,10,0.2,2.5,4,0.01,ccstat.toml"), "{stdout}");
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
fn the_file_can_contain_gates() {
    let folder = folder("[diff]\nmax-cost-increase = \"10%\"\nmax_turns_increase = 1_0\n");
    let logs = ["05-parallel-tools", "06-multi-turn-stdin"];
    let logs = logs.map(|log| testdata(&format!("recordings/2.1.325/stream/{log}.jsonl")));
    let words = ["diff", logs[0].to_str().unwrap(), logs[1].to_str().unwrap()];
    let (code, _, stderr) = run(&mut within(folder.path(), &words));
    assert_eq!((code, stderr.lines().count()), (1, 1), "{stderr}");
    assert!(stderr.starts_with("ccstat: gate max-cost-increase failed, limit 10.0 %: "), "{stderr}");
    assert_eq!(
        run(&mut within(folder.path(), &[&words[..], &["--max-cost-increase", "200%"]].concat())).0,
        0
    );
    assert_eq!(run(within(folder.path(), &words).env("CCSTAT_MAX_COST_INCREASE", "200%")).0, 0);
}

#[test]
fn toml_types_mean_the_same_as_typed_arguments() {
    let config =
        "since = 2026-11-10\ntimezone = \"UTC\"\nlimit = 2\ncolumns = [\"day\", \"cost_usd\"]\nthreads = 1\n";
    let week = testdata("logs/week");
    let words = ["daily", week.to_str().unwrap(), "--format", "csv", "--config", "ccstat.toml"];
    let (code, stdout, stderr) = with(config, &words);
    assert_eq!((code, &*stderr), (0, ""));
    assert_eq!(stdout.lines().next(), Some("day,cost_usd"));
    assert!(stdout.contains("2026-11-10") && !stdout.contains("2026-11-09"), "{stdout}");
}

#[test]
fn the_example_in_the_manual_works() {
    let page = std::fs::read_to_string(testdata("../docs/configuration.md")).unwrap().replace("\r\n", "\n");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = folder(example);
    std::fs::copy(testdata("pricing/per-million.json"), folder.path().join("prices.json")).unwrap();
    for words in [&["summarize", "run.jsonl"][..], &["diff", "run.jsonl", "run.jsonl"], &["prices"]] {
        let (code, _, stderr) = run(&mut within(folder.path(), words));
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
    }
}

/// Gives a command a user configuration.
fn with_user(command: &mut Command, config: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    let folder = home.path().join(folder);
    std::fs::create_dir_all(folder.join("ccstat")).unwrap();
    std::fs::write(folder.join("ccstat/config.toml"), config).unwrap();
    command.env("HOME", home.path()).env("APPDATA", &folder);
    home
}

#[test]
fn the_user_configuration_applies_to_keys_the_project_file_lacks() {
    let project = folder("[tools]\nformat = \"tsv\"\n");
    let user = "format = \"csv\"\n[sessions]\nformat = \"jsonl\"\n";
    let format = |words: &[&str], variable: Option<(&str, &str)>| {
        let mut command = within(project.path(), words);
        let _home = with_user(&mut command, user);
        let (code, stdout, stderr) = run(command.envs(variable));
        assert_eq!((code, &*stderr), (0, ""), "{words:?}");
        format_of(&stdout)
    };
    assert_eq!(format(&["prices"], None), "csv");
    assert_eq!(format(&["tools", "run.jsonl"], None), "tsv", "the project overrides the user");
    assert_eq!(format(&["sessions", "run.jsonl"], None), "jsonl");
    assert_eq!(format(&["tools", "run.jsonl"], Some(("CCSTAT_FORMAT", "markdown"))), "markdown");
    assert_eq!(format(&["tools", "run.jsonl", "--json"], None), "json");
    assert_eq!(format(&["prices", "--no-config"], None), "table");
    assert_eq!(format(&["prices"], Some(("CCSTAT_NO_CONFIG", "1"))), "table");
    std::fs::write(project.path().join("other.toml"), "limit = 1\n").unwrap();
    let named = ["tools", "run.jsonl", "--config", "other.toml"];
    assert_eq!(format(&named, None), "csv", "--config takes the place of the found file alone");
    let alone = format(&named, Some(("CCSTAT_NO_CONFIG", "1")));
    assert_eq!(alone, "table", "a file given by option is still read, and no other");
}

#[cfg(not(any(windows, target_os = "macos")))]
#[test]
fn the_user_configuration_is_below_xdg_config_home_if_that_is_absolute() {
    let project = folder("");
    let xdg = tempfile::tempdir().unwrap();
    std::fs::create_dir(xdg.path().join("ccstat")).unwrap();
    std::fs::write(xdg.path().join("ccstat/config.toml"), "format = \"tsv\"\n").unwrap();
    let mut command = within(project.path(), &["prices"]);
    let home = with_user(&mut command, "format = \"csv\"\n");
    assert_eq!(format_of(&run(command.env("XDG_CONFIG_HOME", xdg.path())).1), "tsv");
    assert_eq!(format_of(&run(command.env("XDG_CONFIG_HOME", "relative")).1), "csv");
    assert_eq!(format_of(&run(command.env("XDG_CONFIG_HOME", "")).1), "csv");
    std::fs::write(home.path().join(".config/ccstat/config.toml"), "fromat = \"csv\"\n").unwrap();
    let (code, _, stderr) = run(command.env_remove("XDG_CONFIG_HOME"));
    let path = home.path().join(".config/ccstat/config.toml");
    assert_eq!(code, 2);
    assert_eq!(
        stderr,
        format!("ccstat: unknown key `fromat` in `{}`, line 1: did you mean `format`?\n", path.display())
    );
}

/// Returns the rows of the table of options in `docs/configuration.md`: options, and the rules for found
/// files and for the others.
fn table() -> Vec<(Vec<String>, String, String)> {
    let page = std::fs::read_to_string(testdata("../docs/configuration.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| options |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let options = cells[0].split(", ").map(|option| option.trim_matches('`').to_owned()).collect();
        (options, cells[2].to_owned(), cells[3].to_owned())
    });
    rows.collect()
}

#[test]
fn a_key_forbidden_in_a_found_file_is_an_error_that_says_where_it_is_allowed() {
    let mut refused = 0;
    for (options, found, files) in table() {
        for option in options {
            let project = folder(&format!("limit = 1\n{option} = \"x\"\n"));
            let mut command = within(project.path(), &["schema"]);
            let home = with_user(&mut command, "");
            let (code, stdout, stderr) = run(&mut command);
            let key =
                format!("ccstat: `{option}` in `ccstat.toml`, line 2 is not accepted in a configuration");
            let place = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
            let place = home.path().join(place).join("ccstat/config.toml");
            let place = format!("set it in `{}`, or name this file with --config\n", place.display());
            let is_refused =
                code == 2 && stderr.starts_with(&key) && stderr.ends_with(&place) && stdout.is_empty();
            assert_eq!(is_refused, found == "no" && files == "yes", "{option}: {stderr}");
            let named = run(&mut within(project.path(), &["schema", "--config", "ccstat.toml"]));
            assert!(!named.2.contains("not accepted"), "{option}: {}", named.2);
            assert_eq!(named.2.contains("unknown key"), files == "no", "{option}: {}", named.2);
            refused += usize::from(is_refused);
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn a_found_file_may_not_name_output_files_but_the_user_configuration_may() {
    for (words, key) in [
        (&["tools", "run.jsonl"][..], "output = [\"table=profile\"]"),
        (&["run", "--", "cat", "run.jsonl"], "[run]\ntee = \"profile\""),
        (&["redact", "run.jsonl"], "[redact]\ninto = \"profile\""),
    ] {
        let project = folder(key);
        let profile = project.path().join("profile");
        std::fs::write(&profile, "precious").unwrap();
        let (code, stdout, stderr) = run(&mut within(project.path(), words));
        assert_eq!((code, &*stdout), (2, ""), "{key}");
        assert!(stderr.contains("because it writes files"), "{stderr}");
        assert_eq!(std::fs::read_to_string(&profile).unwrap(), "precious", "{key}");
        std::fs::remove_file(project.path().join("ccstat.toml")).unwrap();
        let mut command = within(project.path(), words);
        let home = with_user(&mut command, &key.replace("profile", profile.to_str().unwrap()));
        assert_eq!(run(&mut command).0, 0, "{key}");
        assert_ne!(std::fs::read_to_string(&profile).unwrap(), "precious", "{key}");
        drop(home);
    }
}

#[cfg(unix)]
#[test]
fn a_found_file_may_name_prices_and_settings_only_below_its_folder() {
    use std::os::unix::fs::symlink;
    let elsewhere = tempfile::tempdir().unwrap();
    let (outer, inner) = (elsewhere.path().join("prices.json"), "below/prices.json");
    std::fs::copy(testdata("pricing/per-million.json"), &outer).unwrap();
    let cost = |path: &str, started: &str, prepare: &dyn Fn(&Path)| {
        let project = folder(&format!("pricing = \"{path}\"\n"));
        std::fs::copy(&outer, project.path().join(inner)).unwrap();
        prepare(project.path());
        run(&mut within(&project.path().join(started), &["summarize", "run.jsonl", "--json"]))
    };
    let nothing = |_: &Path| {};
    for (path, started) in [(inner, ""), (inner, "below"), ("./below/../below/prices.json", "below")] {
        let (code, stdout, stderr) = cost(path, started, &nothing);
        assert_eq!((code, &*stderr), (0, ""), "{path} {started}");
        assert!(serde_json::from_str::<Value>(&stdout).unwrap()["cost"]["total_usd"].is_number());
    }
    let inside = |project: &Path| symlink("below/prices.json", project.join("link.json")).unwrap();
    assert_eq!(cost("link.json", "below", &inside).0, 0, "a link to a file below the folder");
    let outside = |project: &Path| symlink(&outer, project.join("link.json")).unwrap();
    let up = |project: &Path| symlink(elsewhere.path(), project.join("linked")).unwrap();
    let absolute = outer.to_str().unwrap();
    for (path, prepare) in
        [(absolute, &nothing as &dyn Fn(&Path)), ("link.json", &outside), ("linked/prices.json", &up)]
    {
        for started in ["", "below"] {
            let (code, stdout, stderr) = cost(path, started, prepare);
            assert_eq!((code, &*stdout), (2, ""), "{path}");
            assert!(stderr.contains("names a file outside the folder of this configuration"), "{stderr}");
            assert!(
                stderr.contains("`pricing` in `") && stderr.contains("or name this file with --config"),
                "{stderr}"
            );
        }
    }
    let settings = folder(&format!("[permissions]\nsettings = [\"{absolute}\"]\n"));
    let (code, _, stderr) = run(&mut within(settings.path(), &["permissions", "run.jsonl"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("`settings` in `ccstat.toml`, line 2 names a file outside"), "{stderr}");
}

const NOTE: &str = "prices come from ccstat.toml, found with this project; --no-config ignores them";

#[test]
fn a_report_with_costs_says_that_prices_come_from_a_found_file() {
    let prices = "[prices.\"house-model-1\"]\ninput = 2\noutput = 10\n";
    let project = folder(prices);
    let note = |words: &[&str]| {
        let (code, stdout, stderr) = run(&mut within(project.path(), words));
        assert_eq!(code, 0, "{words:?}: {stderr}");
        (stdout + &stderr).replace("\n  ", " ").contains(NOTE)
    };
    for words in [
        &["summarize", "run.jsonl"][..],
        &["summarize", "run.jsonl", "--since", "2020-01-01"],
        &["run", "--", "cat", "run.jsonl"],
        &["sessions", "run.jsonl"],
        &["sessions", "run.jsonl", "--json"],
        &["daily", "run.jsonl"],
        &["cost", "run.jsonl", "--json"],
        &["explain", "cost", "run.jsonl"],
        &["agents", "run.jsonl"],
        &["diff", "run.jsonl", "run.jsonl"],
        &["diff", "run.jsonl", "run.jsonl", "--json"],
        &["prices"],
    ] {
        assert!(note(words), "{words:?}");
        assert!(!note(&[&["--no-config"], words].concat()), "{words:?}");
        assert!(!note(&[&["--config", "ccstat.toml"], words].concat()), "{words:?}: it was named, not found");
    }
    assert!(!note(&["kinds", "run.jsonl"]), "a report without costs");
    let named = folder("pricing = \"prices.json\"\n");
    std::fs::copy(testdata("pricing/per-million.json"), named.path().join("prices.json")).unwrap();
    let (_, stdout, _) = run(&mut within(named.path(), &["sessions", "run.jsonl", "--json"]));
    assert!(stdout.contains("\"prices come from prices.json, found with this project"), "{stdout}");
    let typed = ["sessions", "run.jsonl", "--json", "--pricing", "prices.json"];
    let (_, stdout, _) = run(&mut within(named.path(), &typed));
    assert!(!stdout.contains("prices come from"), "prices given by option replace those: {stdout}");
}

#[test]
fn prices_of_the_project_override_those_of_the_user() {
    let prices = |output: u32| format!("[prices.\"house-model-1\"]\ninput = 0\noutput = {output}\n");
    let cost = |project: &str, user: &str, words: &[&str]| {
        let project = folder(project);
        let mut command = within(project.path(), &[&["summarize", "run.jsonl", "--json"], words].concat());
        let home = with_user(&mut command, user);
        let at = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
        let expensive = "{\"models\": {\"house-model-1\": {\"input\": 0, \"output\": 40}}}";
        std::fs::write(home.path().join(at).join("ccstat/expensive.json"), expensive).unwrap();
        std::fs::write(project.path().join("expensive.json"), expensive.replace("40", "80")).unwrap();
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!((code, &*stderr), (0, ""));
        // 500 tokens of output.
        let total = serde_json::from_str::<Value>(&stdout).unwrap()["cost"]["total_usd"].as_f64();
        total.map(|dollars| (dollars * 1e6 / 500.0).round())
    };
    assert_eq!(cost("", &prices(10), &[]), Some(10.0));
    assert_eq!(cost(&prices(20), &prices(10), &[]), Some(20.0));
    assert_eq!(cost("", "pricing = \"expensive.json\"\n", &[]), Some(40.0));
    assert_eq!(cost(&prices(20), "pricing = \"expensive.json\"\n", &[]), Some(20.0));
    assert_eq!(cost("pricing = \"expensive.json\"\n", &prices(10), &[]), Some(80.0));
    assert_eq!(cost(&prices(20), &prices(10), &["--pricing", "expensive.json"]), Some(80.0));
}
