//! Pages: one HTML file that needs nothing else, not even its script, to be read.
//!
//! A Content-Security-Policy in the page allows its own style and script by their hash and nothing else, so that text
//! of a log could not run or load anything even if it were not escaped.

mod markup;
mod scale;
mod svg;
mod table;

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use self::markup::Markup;
use super::{FIGURES, at, human, json};
use crate::report::{
    Chart, Data, Line, Members, PAGE_ROWS, Part, Report, ReportSpec, Section, Table, Tone, Value, gate_lines,
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Maximum number of lines of a list.
const MAX_LINES: usize = 100;

/// Maximum bytes of all tables, and of the embedded data.
const MAX_TABLES: usize = 1_500_000;
const MAX_DATA: usize = 1_000_000;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { markup: Markup::default(), charts: 0, tables: 0, room: MAX_TABLES };
    page.head(report);
    page.body(report)?;
    page.markup.close();
    page.markup.line();
    out.write_all(page.markup.as_str().as_bytes())
}

/// The hash of a style or script, as a policy names it.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", data_encoding::BASE64.encode(&Sha256::digest(text)))
}

/// The policy: no source but the style and the script of this page. The empty icon keeps browsers from asking a server
/// for one.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

struct Page {
    markup: Markup,
    /// Number of charts and tables so far.
    charts: usize,
    tables: usize,
    /// Bytes left for tables.
    room: usize,
}

impl Page {
    fn head(&mut self, report: &Report) {
        let page = &mut self.markup;
        page.constant("<!DOCTYPE html>\n");
        page.open("html", &[("lang", &"en")]);
        page.line();
        page.open("head", &[]);
        page.line();
        page.empty("meta", &[("charset", &"utf-8")]);
        page.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy())]);
        page.line();
        page.empty("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
        page.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
        page.empty("meta", &[("name", &"generator"), ("content", &json::GENERATOR)]);
        page.empty("link", &[("rel", &"icon"), ("href", &"data:,")]);
        page.line();
        page.element("title", &[], &format!("{} – ccstat", title(report)));
        page.open("style", &[]);
        page.constant(STYLE);
        page.close();
        page.line();
        page.close();
        page.line();
    }

    fn body(&mut self, report: &Report) -> io::Result<()> {
        self.markup.open("body", &[]);
        self.markup.line();
        self.markup.open("header", &[]);
        self.markup.element("h1", &[], &title(report));
        if let Some(spec) = ReportSpec::named(report.name) {
            self.markup.element("p", &[], &subtitle(report, spec));
        }
        self.markup.close();
        self.markup.line();
        self.markup.open("main", &[]);
        self.markup.line();
        self.sections(report);
        self.markup.close();
        self.markup.line();
        self.data(report)?;
        self.markup.open("script", &[]);
        self.markup.constant(SCRIPT);
        self.markup.close();
        self.markup.line();
        self.markup.close();
        self.markup.line();
        Ok(())
    }

    /// The sections in the order of the screen, with the gates below the headline and neighbouring charts side by side.
    fn sections(&mut self, report: &Report) {
        for section in &report.screen {
            match section {
                Section::Verdict(line) => self.line("p", "verdict", line),
                Section::About(line) => self.line("p", "about", line),
                Section::Attention(_) | Section::Table(_) | Section::Chart(_) => {}
                Section::Rows | Section::Cards | Section::ScreenRows(_) | Section::Gates => {}
            }
        }
        self.figures(&report.data);
        self.gates(report);
        let mut charts: Vec<&Chart> = Vec::new();
        for section in &report.screen {
            if let Section::Chart(chart) = section {
                charts.push(chart);
                continue;
            }
            self.charts(&std::mem::take(&mut charts));
            match (section, &report.data) {
                (Section::Attention(lines), _) => self.list("attention", lines),
                (Section::Table(table) | Section::ScreenRows(table), _)
                | (Section::Rows | Section::Cards, Data::Rows(table)) => self.table(table),
                (Section::Verdict(_) | Section::About(_) | Section::Gates | Section::Chart(_), _) => {} // written above
                (Section::Rows | Section::Cards, Data::Tree(_) | Data::Bare(_)) => {} // an object has no rows
            }
        }
        self.charts(&charts);
        self.list("notes", &report.notes);
    }

    /// The most important figures of a summary.
    fn figures(&mut self, data: &Data) {
        // Saved sessions have no results, by which prompts and durations are counted.
        let is_known = |path: &str, value: &Value| {
            *value != Value::Missing && (path, value) != ("turns.total", &Value::Count(0))
        };
        let known: Vec<(&str, &Value)> = FIGURES
            .iter()
            .filter_map(|&(head, path)| Some((head, at(data, path).filter(|value| is_known(path, value))?)))
            .collect();
        if known.is_empty() {
            return;
        }
        let is_low = at(data, "cost.complete") == Some(&Value::Flag(false));
        let page = &mut self.markup;
        page.open("dl", &[("class", &"figures")]);
        for (head, value) in known {
            page.open("div", &[]);
            page.element("dt", &[], head);
            let is_low = is_low && matches!(value, Value::Usd(_));
            let shown = format!("{}{}", if is_low { "≥ " } else { "" }, human::short_value(value));
            page.element("dd", &[], &shown);
            page.close();
        }
        page.close();
        page.line();
    }

    fn gates(&mut self, report: &Report) {
        if report.verdicts.is_empty() {
            return;
        }
        self.markup.open("section", &[]);
        self.markup.element("h2", &[], "Gates");
        let lines = gate_lines(&report.verdicts);
        // Failed gates matter more, and there may be thousands of runs.
        let (mut held, mut shown): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|(line, _)| line.tone == Tone::Good);
        shown.append(&mut held);
        self.markup.open("ul", &[("class", &"gates")]);
        for (line, hint) in shown.iter().take(MAX_LINES) {
            self.open_line("li", "", line);
            if let Some(hint) = hint {
                self.line("p", "hint", hint);
            }
            self.markup.close();
        }
        self.markup.close();
        self.left_out(shown.len());
        self.markup.close();
        self.markup.line();
    }

    fn list(&mut self, class: &'static str, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        self.markup.open("ul", &[("class", &class)]);
        lines.iter().take(MAX_LINES).for_each(|line| self.line("li", "", line));
        self.markup.close();
        self.left_out(lines.len());
        self.markup.line();
    }

    /// Says how many lines of a list were left out.
    fn left_out(&mut self, lines: usize) {
        if lines > MAX_LINES {
            let more = human::value(&Value::Count((lines - MAX_LINES) as u64));
            self.markup.element(
                "p",
                &[("class", &"more")],
                &format!("and {more} more; the format JSON has all of them"),
            );
        }
    }

    fn line(&mut self, element: &'static str, class: &'static str, line: &Line) {
        self.open_line(element, class, line);
        self.markup.close();
    }

    /// Writes a line and leaves its element open.
    fn open_line(&mut self, element: &'static str, class: &'static str, line: &Line) {
        let tone = match line.tone {
            Tone::Good => "good",
            Tone::Warning => "warning",
            Tone::Bad => "bad",
            Tone::Running => "running",
            Tone::Plain => "",
        };
        let classes = [class, tone].into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ");
        let page = &mut self.markup;
        if classes.is_empty() {
            page.open(element, &[])
        } else {
            page.open(element, &[("class", &classes)])
        }
        let mark = human::mark(line.tone);
        if !mark.is_empty() {
            page.element("b", &[("class", &"mark")], mark);
        }
        let mut is_code = false;
        for part in &line.parts {
            match part {
                // Our own words mark code by backticks.
                Part::Word(word) => {
                    for (at, piece) in word.split('`').enumerate() {
                        if at > 0 {
                            if is_code {
                                page.close()
                            } else {
                                page.open("code", &[])
                            }
                            is_code = !is_code;
                        }
                        page.text(piece);
                    }
                }
                Part::Value(value) => page.text(&human::value(value)),
                Part::FollowUp(command) if is_code => page.text(&command.to_string()),
                Part::FollowUp(command) => page.element("code", &[], &command.to_string()),
                Part::Choice(choice) => page.text(choice.words()),
                Part::Verbatim(text) => page.element("code", &[], text),
            }
        }
        if is_code {
            page.close();
        }
    }

    fn charts(&mut self, charts: &[&Chart]) {
        if charts.is_empty() {
            return;
        }
        self.markup.open("div", &[("class", &"charts")]);
        for chart in charts {
            self.chart(chart);
        }
        self.markup.close();
        self.markup.line();
    }

    fn chart(&mut self, chart: &Chart) {
        self.charts += 1;
        let (id, about) = (format!("chart{}", self.charts), human::words(&chart.about()));
        let page = &mut self.markup;
        page.open("figure", &[("class", &if svg::is_wide(chart) { "wide" } else { "half" })]);
        page.open("figcaption", &[]);
        page.element("h2", &[], chart.title);
        page.element("p", &[], &about);
        page.close();
        page.open(
            "div",
            &[("class", &"scroll"), ("role", &"region"), ("tabindex", &"0"), ("aria-label", &chart.title)],
        );
        svg::draw(chart, &id, &about, page);
        page.close();
        let legend = svg::legend(chart);
        if !legend.is_empty() {
            page.open("ul", &[("class", &"legend")]);
            for (class, name) in legend {
                page.open("li", &[]);
                page.element("i", &[("class", &class)], "");
                page.text(&name);
                page.close();
            }
            page.close();
        }
        let (heads, rows) = chart.values();
        page.open("details", &[]);
        page.element("summary", &[], "Values");
        let label = format!("{}: values", chart.title);
        page.open(
            "div",
            &[("class", &"scroll"), ("role", &"region"), ("tabindex", &"0"), ("aria-label", &label)],
        );
        table::values(&heads, &rows, page);
        page.close();
        page.close();
        page.close();
        page.line();
    }

    fn table(&mut self, table: &Table) {
        self.tables += 1;
        let shown = table.for_page();
        let id = format!("table{}", self.tables);
        let page = &mut self.markup;
        page.open("section", &[("class", &"table")]);
        page.element("h2", &[("id", &id)], table.title);
        page.open(
            "div",
            &[("class", &"scroll"), ("role", &"region"), ("tabindex", &"0"), ("aria-labelledby", &id)],
        );
        let before = page.len();
        let left_out = |unwritten: usize| match unwritten {
            0 => shown.more.clone(),
            _ => Some(table.left_out_of_page(table.rows.len() - shown.rows.len() + unwritten)),
        };
        let more = table::rows(&shown, self.room, left_out, page);
        self.room = self.room.saturating_sub(page.len() - before);
        page.close();
        if let Some(more) = more {
            self.line("p", "more", &more);
        }
        self.markup.close();
        self.markup.line();
    }

    /// Embeds the data that programs read, as far as there is room.
    fn data(&mut self, report: &Report) -> io::Result<()> {
        let embedded = embedded(report)?;
        let page = &mut self.markup;
        page.open("footer", &[]);
        page.open("p", &[]);
        page.text("Written by ");
        page.text(json::GENERATOR);
        page.text(match &embedded {
            Some((_, true)) => ". The page contains its data as JSON, in the element with the id “data”.",
            Some((_, false)) => {
                ". The page contains the beginning of each list of its data as JSON, in the element with the id \
                 “data”; the format JSON has all of it."
            }
            None => ". The data is too large for a page; the format JSON has all of it.",
        });
        page.close();
        page.close();
        page.line();
        if let Some((json, _)) = embedded {
            page.open("script", &[("type", &"application/json"), ("id", &"data")]);
            page.json(&json);
            page.close();
            page.line();
        }
        Ok(())
    }
}

/// The report as JSON with at most as many rows and gates as the page shows, fewer if they are large; and whether
/// that is all of it.
fn embedded(report: &Report) -> io::Result<Option<(String, bool)>> {
    let mut rows = PAGE_ROWS;
    loop {
        let data = match &report.data {
            Data::Rows(table) => Data::Rows(table.at_most(rows)),
            Data::Tree(members) => Data::Tree(beginnings(members, rows)),
            Data::Bare(members) => Data::Bare(beginnings(members, rows)),
        };
        let is_whole = report.verdicts.len() <= rows && is_within(&report.data, rows);
        let part = Report { data, ..judged(report, rows) };
        let json = json::compact(&json::Envelope(&part))?;
        if json.len() <= MAX_DATA {
            return Ok(Some((json, is_whole)));
        }
        if rows == 0 {
            return Ok(None);
        }
        rows /= 2;
    }
}

/// An object with at most this many entries of each list.
fn beginnings(members: &Members, entries: usize) -> Members {
    let beginning = |value: &Value| match value {
        Value::List(list) => Value::List(list.iter().take(entries).cloned().collect()),
        Value::Map(members) => Value::Map(beginnings(members, entries)),
        value => value.clone(),
    };
    members.iter().map(|(key, value)| (key.clone(), beginning(value))).collect()
}

/// Whether no list of the data has more entries than this.
fn is_within(data: &Data, entries: usize) -> bool {
    fn is_short(members: &Members, entries: usize) -> bool {
        members.iter().all(|(_, value)| match value {
            Value::List(list) => list.len() <= entries,
            Value::Map(members) => is_short(members, entries),
            _ => true,
        })
    }
    match data {
        Data::Rows(table) => table.rows.len() <= entries,
        Data::Tree(members) | Data::Bare(members) => is_short(members, entries),
    }
}

/// The notes and gates of a report, at most this many gates, failed ones first.
fn judged(report: &Report, gates: usize) -> Report {
    let held = report.verdicts.iter().filter(|verdict| verdict.held);
    Report {
        name: report.name,
        data: Data::Bare(Vec::new()),
        notes: report.notes.clone(),
        verdicts: report.failed().chain(held).take(gates).cloned().collect(),
        run_outcomes: Vec::new(),
        screen: Vec::new(),
        reader: report.reader.clone(),
    }
}

/// The description of a report, without the name that the heading has already.
fn subtitle(report: &Report, spec: &ReportSpec) -> String {
    let (name, rest) = spec.doc.split_once(": ").unwrap_or_default();
    if name == title(report) { capital(rest) } else { spec.doc.to_owned() }
}

/// The name of a report as a heading.
fn title(report: &Report) -> String {
    capital(report.name)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
