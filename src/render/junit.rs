//! JUnit XML, which CI systems read: a suite per run, with one test for its outcome and one for each gate.

use std::{
    collections::HashMap,
    io::{self, Write},
    ops::Add,
};

use super::human;
use crate::{
    measure::{Millis, Usd},
    report::{Line, Report, RunOutcome, Section, Value, Verdict},
};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let suites = suites(report);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"<testsuites name="ccstat" tests="{}" failures="{}" errors="{}"{}>"#,
        suites.iter().map(Suite::tests).sum::<usize>(),
        suites.iter().map(Suite::failures).sum::<usize>(),
        suites.iter().map(Suite::errors).sum::<usize>(),
        time(suites.iter().filter_map(|suite| suite.wall).reduce(Millis::add)),
    )?;
    for suite in &suites {
        suite.write(out)?;
    }
    writeln!(out, "</testsuites>")
}

/// Tests of one run.
struct Suite<'a> {
    /// Name of the run, or of the report if everything is one run.
    name: &'a str,
    wall: Option<Millis>,
    /// The test of the run itself; `None` for comparisons, which only have gates.
    run: Option<RunTest<'a>>,
    verdicts: Vec<&'a Verdict>,
    /// Headline and findings, for `system-out`.
    words: Vec<String>,
}

/// Result of the test of the run itself.
#[derive(Clone, Copy)]
enum RunTest<'a> {
    Passed,
    /// A turn failed, or the run has no result.
    Failed(&'a Line),
    /// There were no records, so the run cannot pass.
    NothingRead,
}

/// Suites in the order of the runs, each with its verdicts.
fn suites(report: &Report) -> Vec<Suite<'_>> {
    let mut suites: Vec<Suite<'_>> = Vec::with_capacity(report.run_outcomes.len());
    let mut of_run: HashMap<Option<&str>, usize> = HashMap::new();
    for RunOutcome { run, wall, failure } in &report.run_outcomes {
        let run = suite_of(&mut suites, &mut of_run, report, run.as_deref());
        run.wall = run.wall.or(*wall);
        run.run = Some(failure.as_ref().map_or(RunTest::Passed, RunTest::Failed));
    }
    for verdict in &report.verdicts {
        let run = suite_of(&mut suites, &mut of_run, report, verdict.run.as_deref());
        // `ccstat run` measures the duration itself, which is more exact than the log.
        run.wall = verdict.wall.or(run.wall);
        run.verdicts.push(verdict);
    }
    if is_empty(report) {
        suite_of(&mut suites, &mut of_run, report, None).run = Some(RunTest::NothingRead);
    } else if suites.is_empty() {
        suite_of(&mut suites, &mut of_run, report, None).run = Some(RunTest::Passed);
    }
    suites
}

/// Returns the suite of a run, and creates it if needed.
fn suite_of<'s, 'a>(
    suites: &'s mut Vec<Suite<'a>>,
    of_run: &mut HashMap<Option<&'a str>, usize>,
    report: &'a Report,
    run: Option<&'a str>,
) -> &'s mut Suite<'a> {
    let at = *of_run.entry(run).or_insert_with(|| {
        suites.push(Suite::new(report, run));
        suites.len() - 1
    });
    &mut suites[at]
}

fn words(report: &Report) -> Vec<String> {
    let line = |section: &Section| match section {
        Section::Verdict(line) | Section::About(line) => vec![human::words(line)],
        Section::Attention(lines) => lines.iter().map(human::words).collect(),
        Section::Table(_) | Section::ScreenRows(_) | Section::Chart(_) => Vec::new(),
        Section::Rows | Section::Cards | Section::Gates => Vec::new(),
    };
    report.screen.iter().flat_map(line).collect()
}

fn is_empty(report: &Report) -> bool {
    super::at(&report.data, "input.records") == Some(&Value::Count(0))
}

impl<'a> Suite<'a> {
    fn new(report: &'a Report, of: Option<&'a str>) -> Self {
        let words = if of.is_none() { words(report) } else { Vec::new() };
        Self { name: of.unwrap_or(report.name), wall: None, run: None, verdicts: Vec::new(), words }
    }

    fn tests(&self) -> usize {
        self.verdicts.len() + usize::from(self.run.is_some())
    }

    fn failures(&self) -> usize {
        let failed = usize::from(matches!(self.run, Some(RunTest::Failed(_))));
        failed + self.verdicts.iter().filter(|verdict| !verdict.held).count()
    }

    fn errors(&self) -> usize {
        usize::from(matches!(self.run, Some(RunTest::NothingRead)))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = escaped(self.name);
        writeln!(
            out,
            r#"  <testsuite name="{name}" tests="{}" failures="{}" errors="{}" skipped="0"{}>"#,
            self.tests(),
            self.failures(),
            self.errors(),
            time(self.wall),
        )?;
        self.write_run(&name, out)?;
        for verdict in &self.verdicts {
            test(&name, verdict, out)?;
        }
        if !self.words.is_empty() {
            writeln!(out, "    <system-out>{}</system-out>", escaped_lines(&self.words))?;
        }
        writeln!(out, "  </testsuite>")
    }
}

impl Suite<'_> {
    /// Writes the test of the run itself.
    fn write_run(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let open = format!(r#"    <testcase classname="{name}" name="run" time="0""#);
        let problem = match self.run {
            None => return Ok(()),
            Some(RunTest::Passed) => return writeln!(out, "{open}/>"),
            Some(RunTest::Failed(why)) => {
                let why = escaped(&human::words(why));
                format!(r#"<failure type="run" message="{why}">{why}</failure>"#)
            }
            Some(RunTest::NothingRead) => {
                r#"<error type="nothing-read" message="no records were read"/>"#.to_owned()
            }
        };
        writeln!(out, "{open}>\n      {problem}\n    </testcase>")
    }
}

/// Writes the test of one gate. Its time is 0; the duration of the run is at its suite.
fn test(class: &str, verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let gate = escaped(verdict.gate);
    let open = format!(r#"    <testcase classname="{class}" name="{gate}" time="0""#);
    if verdict.held {
        return writeln!(out, "{open}/>");
    }
    let message = escaped(&human::words(&verdict.what));
    let text = escaped_lines(&super::gate_lines(verdict));
    writeln!(
        out,
        "{open}>\n      <failure type=\"{gate}\" message=\"{message}\">{text}</failure>\n    </testcase>"
    )
}

fn escaped_lines(lines: &[String]) -> String {
    lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\n")
}

/// ` time="0.409"` in seconds; empty if unknown.
fn time(wall: Option<Millis>) -> String {
    let seconds = |wall: Millis| Usd::from_nanos(i128::from(wall.micros()) * 1000);
    wall.map(|wall| format!(" time=\"{}\"", seconds(wall))).unwrap_or_default()
}

/// Escapes markup and characters that XML cannot contain.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in human::text(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => safe.extend(letter.escape_unicode()),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{super::held, *};
    use crate::report::{Column, Table, Tone};

    fn written(verdicts: Vec<Verdict>) -> String {
        let columns: &[Column<()>] = &[];
        let mut report = Report::of("check", Table::of("Gates", columns, [(); 0]), Vec::new());
        report.verdicts = verdicts;
        let mut out = Vec::new();
        write(&report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_run_is_a_suite_and_a_gate_is_a_test() {
        let failed = Verdict {
            held: false,
            wall: Some(Millis::new(1500)),
            limit: Value::Count(0),
            figure: Value::Count(2),
            at: Some(("a.jsonl".to_owned(), 7)),
            what: Line::new(Tone::Bad).word("2 calls denied: ").value("Ba<s>h\u{1b}\u{ffff}"),
            hint: Some(Line::new(Tone::Plain).word("allow it with --allowedTools")),
            ..held("denial", Some("run \"1\""))
        };
        let text = written(vec![failed, held("max-cost", Some("run \"1\"")), held("x", None)]);
        assert_eq!(
            text,
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="ccstat" tests="3" failures="1" errors="0" time="1.5">
  <testsuite name="run &quot;1&quot;" tests="2" failures="1" errors="0" skipped="0" time="1.5">
    <testcase classname="run &quot;1&quot;" name="denial" time="0">
      <failure type="denial" message="2 calls denied: Ba&lt;s&gt;h\u{1b}\u{ffff}">2 calls denied: Ba&lt;s&gt;h\u{1b}\u{ffff}
found 2, allowed 0
at a.jsonl:7
allow it with --allowedTools</failure>
    </testcase>
    <testcase classname="run &quot;1&quot;" name="max-cost" time="0"/>
  </testsuite>
  <testsuite name="check" tests="1" failures="0" errors="0" skipped="0">
    <testcase classname="check" name="x" time="0"/>
  </testsuite>
</testsuites>
"#
        );
    }

    #[test]
    fn a_report_without_gates_is_one_test_that_passes() {
        let text = written(Vec::new());
        assert!(
            text.contains(r#"<testsuite name="check" tests="1" failures="0" errors="0" skipped="0">"#),
            "{text}"
        );
        assert!(text.contains(r#"<testcase classname="check" name="run" time="0"/>"#), "{text}");
    }
}
