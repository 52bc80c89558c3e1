//! The overview on screen.

use std::cmp::Reverse;

use super::{DayRow, FailureRow, LimitRow, NamedRow, Overview, SessionRow, Tally};
use crate::{
    measure::Usd,
    report::{
        Column, Line, Section, Table, Tone, Value, View, column::columns, sessions::cost_notes, sum::share,
    },
};

/// Rows of a table on screen.
const ROWS: usize = 10;

/// Rows of failures on screen.
const FAILURES: usize = 6;

/// Title of the sessions of today.
const TODAY: &str = "Sessions today";

/// Days on screen.
const DAYS: usize = 31;

pub(super) fn screen(all: &Overview<'_>) -> Vec<Section> {
    let mut sections = if all.periods.is_chosen { chosen(all) } else { usual(all) };
    let tables = [
        (!all.periods.is_chosen).then(|| periods(all)),
        days(all),
        all.periods.is_chosen.then(|| named("Cost by model", "model", &all.models)).flatten(),
        all.periods.is_chosen.then(|| named("Cost by project", "project", &all.projects)).flatten(),
        sessions(all),
        failures(all),
        limits(all),
    ];
    sections.extend(tables.into_iter().flatten().map(Section::Table));
    sections
}

/// Today, and this week against the last one.
fn usual(all: &Overview<'_>) -> Vec<Section> {
    let today = figures(Line::new(Tone::Plain).word("Today "), &all.today);
    let week = Line::new(Tone::Plain).word("this week ").value(cost(&all.this_week));
    let week = compared(week, &all.this_week, &all.last_week_so_far, " last week by this time");
    vec![Section::Verdict(today), Section::About(week)]
}

/// A period against the one before it.
fn chosen(all: &Overview<'_>) -> Vec<Section> {
    let periods = all.periods;
    let line =
        Line::new(Tone::Plain).value(periods.period.start).word(" to ").value(periods.period.end).word(": ");
    let before = Line::new(Tone::Plain).value(cost(&all.period));
    let before = compared(before, &all.period, &all.before, " in the period before");
    vec![Section::Verdict(figures(line, &all.period)), Section::About(before)]
}

/// The cost. A period without sessions cost nothing.
fn cost(tally: &Tally) -> Value {
    match tally.cost {
        None if tally.sessions > 0 => "cost unknown".into(),
        cost => cost.unwrap_or_default().into(),
    }
}

fn figures(line: Line, tally: &Tally) -> Line {
    if tally.sessions == 0 {
        return line.word("nothing");
    }
    let line = line.value(cost(tally)).word(" · ").count(tally.sessions, " session", " sessions");
    let line = line.word(" · ").count(tally.asked(), " prompt", " prompts");
    let line = line.word(" · ").count(tally.calls, " call", " calls");
    let line =
        if tally.errors > 0 { line.word(" · ").count(tally.errors, " error", " errors") } else { line };
    if tally.denied > 0 { line.word(" · ").value(tally.denied).word(" denied") } else { line }
}

fn compared(line: Line, tally: &Tally, before: &Tally, when: &'static str) -> Line {
    let line = line.word(", ").value(cost(before)).word(when);
    match tally.change_from(before) {
        Some(change) => line.word(" (").value(Value::Change(Box::new(Value::Share(change)))).word(")"),
        None => line,
    }
}

fn periods(all: &Overview<'_>) -> Table {
    type Row<'a> = (&'static str, &'a Tally);
    fn columns<'a>() -> Vec<Column<Row<'a>>> {
        columns! { |row: Row<'a>|
            text period "Period" "Name of the period." => row.0;
            usd cost_usd "Cost" "Cost at API prices." => row.1.cost;
            count sessions "Sessions" "Sessions with activity." => row.1.sessions;
            count prompts "Prompts" "Prompts by people." => row.1.asked();
            count steps "Steps" "Responses of the model." => row.1.steps;
            count calls "Calls" "Tool calls." => row.1.calls;
            count errors "Errors" "Calls that failed." => row.1.errors;
            count denied "Denied" "Calls that were denied." => row.1.denied;
        }
    }
    let rows: [Row<'_>; 4] = [
        ("Today", &all.today),
        ("Yesterday", &all.yesterday),
        ("This week", &all.this_week),
        ("Last week", &all.last_week),
    ];
    Table::of("Periods", &columns(), rows)
}

fn days(all: &Overview<'_>) -> Option<Table> {
    type Row<'a> = (&'a DayRow, Option<Usd>);
    fn bar(row: &Row<'_>) -> Value {
        match share(row.0.cost, row.1) {
            Some(part) if part > 0.0 => Value::Bar(0.0, part),
            _ => "".into(),
        }
    }
    fn columns<'a>() -> Vec<Column<Row<'a>>> {
        columns! { |row: Row<'a>|
            text day "Day" "Day in the time zone." => &row.0.day;
            usd cost_usd "Cost" "Cost at API prices." => row.0.cost;
            bar bar "" [nullable] "Cost, relative to the largest day." => bar(row);
            count sessions "Sessions" "Sessions with a cost." => row.0.sessions;
            count calls "Calls" [wide] "Tool calls." => row.0.calls;
            count errors "Errors" [wide] "Calls that failed." => row.0.errors;
        }
    }
    let largest = all.days.iter().filter_map(|day| day.cost).max()?;
    // Empty days before the first cost say nothing.
    let rows = all.days.iter().skip_while(|day| day.cost.is_none() && day.calls == 0);
    let rows: Vec<Row<'_>> = rows.map(|day| (day, Some(largest))).collect();
    Some(Table::of("Cost by day", &columns(), rows).on_screen(DAYS).keeping_last())
}

fn named(title: &'static str, key: &'static str, rows: &[NamedRow]) -> Option<Table> {
    fn columns(is_model: bool) -> Vec<Column<(NamedRow, Option<Usd>)>> {
        let mut columns = columns! { |row: (NamedRow, Option<Usd>)|
            text model "Model" "Name of the model." => &row.0.name;
            text project "Project" "Working directory in which sessions started." => &row.0.name;
            usd cost_usd "Cost" "Cost at API prices." => row.0.cost;
            share share "Share" "Share of the cost." => share(row.0.cost, row.1);
        };
        columns.remove(usize::from(is_model));
        columns
    }
    let whole: Usd = rows.iter().filter_map(|row| row.cost).sum();
    let rows: Vec<(NamedRow, Option<Usd>)> = rows.iter().map(|row| (row.clone(), Some(whole))).collect();
    (!rows.is_empty()).then(|| Table::of(title, &columns(key == "model"), &rows).on_screen(ROWS))
}

fn sessions(all: &Overview<'_>) -> Option<Table> {
    fn columns(is_today: bool) -> Vec<Column<SessionRow>> {
        let when = columns! { |row: SessionRow|
            text clock "Last" "Time of day of its last activity." => &row.clock;
            time last "Last" "Time of its last activity." => row.last;
        };
        columns! { |row: SessionRow|
            ..[when[usize::from(!is_today)]];
            text session "Session" "Session id." => &row.session;
            text title "Title" [content] "Title, or a prompt if it has none." => &row.title;
            text project "Project" "Working directory in which it started." => &row.project;
            text outcome "Outcome" "Outcome." => row.outcome.name();
            count calls "Calls" [wide] "Tool calls." => row.calls;
            count errors "Errors" "Calls that failed." => row.errors;
            usd cost_usd "Cost" "Cost in the period." => row.cost;
        }
    }
    let mut rows: Vec<&SessionRow> = all.sessions.iter().collect();
    let is_today = |row: &&SessionRow| row.last >= all.periods.today.start;
    let title = match () {
        () if all.periods.is_chosen => {
            rows.sort_by_key(|row| Reverse(row.cost));
            "Most expensive sessions"
        }
        () if rows.iter().any(is_today) => {
            rows.retain(is_today);
            TODAY
        }
        () => "Latest sessions",
    };
    let columns = columns(title == TODAY);
    (!rows.is_empty()).then(|| Table::of(title, &columns, rows).on_screen(ROWS))
}

fn failures(all: &Overview<'_>) -> Option<Table> {
    fn columns() -> Vec<Column<FailureRow>> {
        columns! { |row: FailureRow|
            text kind "Kind" "`denied`, `tool`, `prompt` or `api`." => row.kind;
            text name "Name" "Tool, subtype of the result, or type of the API error." => &row.name;
            count count "Times" "Number of times." => row.count;
            text reason "Reason" [content] "Input that was denied, or what went wrong." => &row.reason;
            time last "Last" "Time of the last one." => row.last;
        }
    }
    let title = if all.periods.is_chosen { "Failed and denied" } else { "Failed and denied, last 7 days" };
    (!all.failures.is_empty()).then(|| Table::of(title, &columns(), &all.failures).on_screen(FAILURES))
}

fn limits(all: &Overview<'_>) -> Option<Table> {
    fn columns() -> Vec<Column<LimitRow>> {
        columns! { |row: LimitRow|
            text limit "Limit" "Status and window of the limit." => &row.what;
            share used "Used" "Used share." => row.used;
            time resets "Resets" "Time at which it resets." => row.resets;
        }
    }
    (!all.limits.is_empty()).then(|| Table::of("Rate limits", &columns(), &all.limits))
}

/// Notes about the cost, and what to type next.
pub(super) fn notes(view: &View<'_>, all: &Overview<'_>) -> Vec<Line> {
    let mut notes = cost_notes(view.ledger);
    let mut next = |is_useful: bool, what: &'static str| {
        if is_useful {
            notes.push(Line::new(Tone::Plain).words(what));
        }
    };
    let chosen = all.periods.is_chosen || all.periods.is_past;
    next(!all.sessions.is_empty(), "the latest session in full: {show latest}");
    next(!all.failures.is_empty() && chosen, "what failed, and why: {errors}");
    next(!all.failures.is_empty() && !chosen, "what failed, and why: {errors --since 7d}");
    next(all.period.cost.is_some() && chosen, "where the cost comes from: {cost --by project,model}");
    next(
        all.period.cost.is_some() && !chosen,
        "where the cost comes from: {cost --by project,model --since 14d}",
    );
    notes
}
