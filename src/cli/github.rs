//! `--github`: writes a step summary, outputs and annotations for GitHub Actions.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use clap::Args;

use super::{args, complain, plan::Variables};
use crate::{
    error::{Error, ExitStatus},
    facts::Account,
    render::{self, human},
    report::{Names, Report, Verdict},
};

/// Output for GitHub Actions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Github {
    /// Write a step summary, outputs and annotations for GitHub Actions
    ///
    /// The summary is appended to the file that GITHUB_STEP_SUMMARY names, the outputs to that of
    /// GITHUB_OUTPUT. Annotations for failed gates, failed turns, runs without a result, denied calls and
    /// invalid records go to standard error. If a variable is not set, a message says so and the rest is
    /// written.
    #[arg(long)]
    pub github: bool,
}

/// One output of the step.
struct Output {
    name: &'static str,
    doc: &'static str,
    value: fn(&Run<'_>) -> String,
}

/// The data that outputs are made from.
struct Run<'a> {
    report: &'a Report,
    account: &'a Account,
}

/// Declares the outputs, in the order they are written: name, one sentence, value. Unknown values are empty.
macro_rules! outputs {
    (|$run:ident| $($name:ident $doc:literal => $value:expr;)*) => {
        const OUTPUTS: &[Output] =
            &[$(Output { name: stringify!($name), doc: $doc, value: |$run| $value }),*];
    };
}

outputs! { |run|
    result "success, denied, error, no-result or unknown: the worst of all runs."
        => result(run.account).to_owned();
    cost_usd "Cost in dollars, an estimate at API prices."
        => run.account.cost.total.map(|cost| cost.to_string()).unwrap_or_default();
    cost_complete "Whether the cost is complete, as far as known: true or false."
        => run.account.cost.complete.to_string();
    turns "Agentic turns as the CLI counts them: the sum of num_turns."
        => run.account.turns.num_turns.to_string();
    turns_total "Number of results, one for each answered prompt."
        => run.account.turns.total.to_string();
    denials "Denied tool calls."
        => run.account.denials.total.to_string();
    errors "Sum of failed calls, failed turns and API errors."
        => (run.account.errors.tool + run.account.errors.turn + run.account.errors.api).to_string();
    tool_errors "Failed tool calls."
        => run.account.errors.tool.to_string();
    calls "Tool calls."
        => run.account.tools.total.calls.to_string();
    duration_ms "Wall time of the turns in milliseconds."
        => run.account.duration.wall.map(|wall| wall.to_string()).unwrap_or_default();
    input_tokens "Prompt tokens that were not read from or written to the cache."
        => run.account.tokens.input.to_string();
    output_tokens "Tokens that the models generated."
        => run.account.tokens.output.to_string();
    models "Models, comma separated."
        => human::text(&run.account.models.join(",")).into_owned();
    sessions "Sessions."
        => run.account.sessions.to_string();
    invalid "Lines and values that are not records."
        => run.account.input.invalid.to_string();
    gates "ok or failed; empty if there are no gates."
        => match &*run.report.verdicts {
            [] => String::new(),
            verdicts if verdicts.iter().all(|verdict| verdict.held) => "ok".to_owned(),
            _ => "failed".to_owned(),
        };
    failed_gates "Names of the gates that failed, comma separated."
        => failed_gates(&run.report.verdicts);
    comment "Markdown for a comment on a pull request, as written by --format comment."
        => comment(run.report);
}

/// Name and meaning of each output, for the help.
pub(super) fn outputs() -> Vec<(&'static str, &'static str)> {
    OUTPUTS.iter().map(|output| (output.name, output.doc)).collect()
}

/// The worst outcome of all runs, in the order of `report::Outcome`.
fn result(account: &Account) -> &'static str {
    let (turns, denials) = (&account.turns, account.denials.total);
    match () {
        () if turns.errors > 0 => "error",
        // A run that printed nothing has no result either.
        () if turns.no_result_sessions > 0 || account.input.records == 0 => "no-result",
        () if denials > 0 => "denied",
        () if turns.total > 0 => "success",
        () => "unknown",
    }
}

fn failed_gates(verdicts: &[Verdict]) -> String {
    let mut names: Vec<&str> =
        verdicts.iter().filter(|verdict| !verdict.held).map(|verdict| verdict.gate).collect();
    // A gate that failed in several runs is listed once.
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names.join(",")
}

fn comment(report: &Report) -> String {
    let mut out = Vec::new();
    let written = render::render(report, render::Format::Comment, render::Style::default(), &mut out);
    written.map(|()| String::from_utf8_lossy(&out).trim_end().to_owned()).unwrap_or_default()
}

impl Github {
    /// Writes summary, outputs and annotations if `--github` was given. Returns `status`, or `Partial` if a
    /// file could not be written.
    pub(super) fn publish(
        &self,
        report: &Report,
        account: &Account,
        names: Names<'_>,
        variables: &Variables,
        output: &args::Output,
        status: ExitStatus,
    ) -> ExitStatus {
        if !self.github {
            return status;
        }
        let lines = annotations(report, account, names);
        // If standard error is closed, nobody reads annotations.
        let _ = io::stderr().lock().write_all(lines.as_bytes());
        let summary = render::folded(report) + "\n\n" + &pages(output);
        let outputs = outputs_file(&Run { report, account });
        let mut failed = false;
        for (variable, path, text) in [
            ("GITHUB_STEP_SUMMARY", &variables.github_summary, &summary),
            ("GITHUB_OUTPUT", &variables.github_output, &outputs),
        ] {
            let Some(path) = path else {
                complain(&format!(
                    "--github cannot write to the file of `{variable}`: GitHub Actions sets it; elsewhere, set it to a file"
                ));
                continue;
            };
            if let Err(source) = append(path, text) {
                complain(&Error::WriteFile { path: path.clone(), source }.to_string());
                failed = true;
            }
        }
        if failed && status == ExitStatus::Done { ExitStatus::Partial } else { status }
    }
}

/// A line for each page that is written, since a step summary has no charts.
fn pages(output: &args::Output) -> String {
    let line = |path: &Path| format!("Charts and all rows: {}\n\n", render::code(&path.to_string_lossy()));
    output.pages().map(line).collect()
}

/// Appends to a file, starting on a new line: another step may have left its last line unfinished.
fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    let end = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{end}{text}").as_bytes())
}

/// All outputs in the format of `GITHUB_OUTPUT`.
fn outputs_file(run: &Run<'_>) -> String {
    OUTPUTS.iter().map(|output| assignment(output.name, &(output.value)(run))).collect()
}

/// `name=value`, or for a value of several lines a heredoc with a delimiter that does not occur in it.
fn assignment(name: &str, value: &str) -> String {
    if !value.contains(['\n', '\r']) {
        return format!("{name}={value}\n");
    }
    let mut end = "ccstat_end".to_owned();
    while value.contains(&end) {
        end.push('_');
    }
    format!("{name}<<{end}\n{value}\n{end}\n")
}

names! {
    /// The severity of an annotation, named by its workflow command.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Level {
        Error = "error",
        Warning = "warning",
    }
}

/// A message that GitHub shows at a line of a file, or on the page of the workflow run.
struct Annotation {
    level: Level,
    title: String,
    message: String,
    /// File and line.
    location: Option<(String, u64)>,
}

impl Annotation {
    fn new(level: Level, title: &str, message: String) -> Self {
        Self { level, title: title.to_owned(), message, location: None }
    }

    /// The workflow command that creates it, with a line end.
    fn line(&self) -> String {
        let location =
            self.location.as_ref().map(|(file, line)| format!(",file={},line={line}", property(file)));
        let (level, title) = (self.level.name(), property(&self.title));
        format!("::{level} title={title}{}::{}\n", location.unwrap_or_default(), data(&self.message))
    }
}

/// Escapes text in a command. `human::text` leaves no line ends, but all escapes of GitHub are applied.
fn data(text: &str) -> String {
    human::text(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes text in a property of a command, which ends at a colon or comma.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Annotations per level that GitHub shows for one step.
const MAX_SHOWN: u64 = 10;

/// The workflow commands of all annotations, errors first.
fn annotations(report: &Report, account: &Account, names: Names<'_>) -> String {
    let mut all: Vec<Annotation> = report.verdicts.iter().filter(|verdict| !verdict.held).map(gate).collect();
    all.extend(turns(account));
    all.extend(denials(account));
    all.extend(invalid(account, names));
    // Only the first invalid records have a location; the others are only counted.
    let unlocated = account.input.invalid.saturating_sub(account.input.invalid_places.len() as u64);
    let errors = of_level(&all, Level::Error, 0);
    errors + &of_level(&all, Level::Warning, unlocated)
}

/// The annotations of a level, with one that counts those that GitHub would not show and `more`.
fn of_level(all: &[Annotation], level: Level, more: u64) -> String {
    let annotations: Vec<&Annotation> = all.iter().filter(|one| one.level == level).collect();
    let count = annotations.len() as u64 + more;
    let shown = if count > MAX_SHOWN { MAX_SHOWN - 1 } else { MAX_SHOWN };
    let mut lines: String = annotations.iter().zip(0..shown).map(|(one, _)| one.line()).collect();
    if count > MAX_SHOWN {
        let message = format!("and {} more, see the summary of the step", count - shown);
        lines += &Annotation::new(level, "ccstat", message).line();
    }
    lines
}

fn gate(verdict: &Verdict) -> Annotation {
    let run = verdict.run.as_ref().map(|run| format!(" in {run}")).unwrap_or_default();
    let message = render::gate_lines(verdict).join("; ");
    Annotation {
        location: verdict.at.clone().filter(|(source, _)| source != "-"),
        ..Annotation::new(Level::Error, &format!("Gate {} failed{run}", verdict.gate), message)
    }
}

/// Failed turns, and sessions without a result.
fn turns(account: &Account) -> Vec<Annotation> {
    let turns = &account.turns;
    let failed = turns.failed_by_subtype.iter().map(|(subtype, &count)| {
        // The CLI reports API failures as `success` with a flag.
        let subtype = if subtype == "success" { "success with is_error" } else { subtype };
        let message = format!("{}: {subtype}", counted(count, "turn", "turns", "failed"));
        Annotation::new(Level::Error, "Turn failed", message)
    });
    let message = format!(
        "{} a result: killed, or still running",
        counted(turns.no_result_sessions, "session", "sessions", "without")
    );
    let killed = (turns.no_result_sessions > 0).then(|| Annotation::new(Level::Error, "No result", message));
    failed.chain(killed).collect()
}

fn denials(account: &Account) -> Vec<Annotation> {
    let denied = account.denials.by_tool.iter().map(|(tool, &count)| {
        let message = format!("{}: {tool}", counted(count, "call", "calls", "denied"));
        Annotation::new(Level::Warning, "Call denied", message)
    });
    denied.collect()
}

fn invalid(account: &Account, names: Names<'_>) -> Vec<Annotation> {
    let one = |place: &crate::facts::InvalidPlace| {
        let source = names.get(place.source).to_owned();
        let message = format!("{source}:{} is not a record: {}", place.line, place.reason);
        Annotation {
            location: (source != "-").then_some((source, place.line)),
            ..Annotation::new(Level::Warning, "Invalid record", message)
        }
    };
    account.input.invalid_places.iter().map(one).collect()
}

/// `1 call denied`, `2 calls denied`.
fn counted(count: u64, one: &str, many: &str, rest: &str) -> String {
    format!("{count} {} {rest}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::InvalidPlace,
        input::SourceId,
        render::held,
        report::{self, Line, Tone, Value},
    };

    fn annotated(account: &Account, verdicts: Vec<Verdict>) -> String {
        let names = ["a%b:1,2.jsonl".into()];
        let report = Report { verdicts, ..report::summary(account, Names(&names)) };
        annotations(&report, account, Names(&names))
    }

    #[test]
    fn the_delimiter_of_a_long_value_does_not_occur_in_it() {
        assert_eq!(assignment("a", "b=c<<d"), "a=b=c<<d\n");
        assert_eq!(assignment("a", "x\nccstat_end\ny"), "a<<ccstat_end_\nx\nccstat_end\ny\nccstat_end_\n");
    }

    #[test]
    fn the_result_is_the_worst_outcome() {
        let mut account = Account::default();
        assert_eq!(result(&account), "no-result");
        account.input.records = 1;
        assert_eq!(result(&account), "unknown");
        account.turns.total = 2;
        assert_eq!(result(&account), "success");
        account.denials.total = 1;
        assert_eq!(result(&account), "denied");
        account.turns.no_result_sessions = 1;
        assert_eq!(result(&account), "no-result");
        account.turns.errors = 1;
        assert_eq!(result(&account), "error");
    }

    #[test]
    fn hostile_names_cannot_inject_commands() {
        let mut account = Account::default();
        account.denials.by_tool.insert("x%0A\n::error::y\u{202e}".to_owned(), 2);
        let place = InvalidPlace { source: SourceId(0), line: 7, offset: 0, reason: "100 %".to_owned() };
        account.input.invalid_places.push(place);
        account.input.invalid = 1;
        assert_eq!(
            annotated(&account, Vec::new()),
            "::warning title=Call denied::2 calls denied: x%250A\\u{a}::error::y\\u{202e}\n\
             ::warning title=Invalid record,file=a%25b%3A1%2C2.jsonl,line=7::a%25b:1,2.jsonl:7 is not a record: 100 %25\n"
        );
    }

    #[test]
    fn a_failed_gate_is_an_error_with_a_location() {
        let failed = Verdict {
            held: false,
            limit: Value::Count(0),
            figure: Value::Count(2),
            at: Some(("a.jsonl".to_owned(), 7)),
            what: Line::new(Tone::Bad).word("2 calls denied"),
            hint: Some(Line::new(Tone::Plain).word("allow it")),
            ..held("denial", Some("s1"))
        };
        let text = annotated(&Account::default(), vec![held("x", None), failed.clone(), failed]);
        assert_eq!(
            text.lines().next(),
            Some(
                "::error title=Gate denial failed in s1,file=a.jsonl,line=7::2 calls denied; found 2, allowed 0; at a.jsonl:7; allow it"
            )
        );
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn at_most_ten_annotations_per_level_are_shown_and_the_rest_is_counted() {
        let mut account = Account::default();
        for at in 0..12 {
            account.denials.by_tool.insert(format!("t{at:02}"), 1);
        }
        account.input.invalid = 300;
        let text = annotated(&account, Vec::new());
        assert_eq!(text.lines().count(), 10);
        let last = "::warning title=ccstat::and 303 more, see the summary of the step";
        assert_eq!(text.lines().last(), Some(last));
    }

    #[test]
    fn a_gate_that_failed_twice_is_listed_once() {
        let failed = |gate, run| Verdict { held: false, ..held(gate, run) };
        let verdicts =
            [failed("b", Some("1")), failed("a", Some("1")), failed("b", Some("2")), held("c", None)];
        assert_eq!(failed_gates(&verdicts), "b,a");
    }

    #[test]
    fn outputs_have_unique_names_and_descriptions() {
        let names: std::collections::BTreeSet<&str> = OUTPUTS.iter().map(|output| output.name).collect();
        assert_eq!(names.len(), OUTPUTS.len());
        for output in OUTPUTS {
            assert!(
                output.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                "{}",
                output.name
            );
            assert!(output.doc.ends_with('.'), "{}", output.name);
        }
    }
}
