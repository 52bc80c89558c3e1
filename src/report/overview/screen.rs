//! The overview on screen.

use std::cmp::Reverse;

use super::{DayRow, FailureRow, LimitRow, NamedRow, Overview, PromptRow, SessionRow, Tally};
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
    let is_chosen = all.periods.is_chosen;
    let mut sections = if is_chosen { chosen(all) } else { usual(all) };
    // Today and this week are enough for a glance at a terminal. A page tells more about the last 14 days.
    let more = |table: Option<Table>| table.map(|table| if is_chosen { table } else { table.page_only() });
    let tables = [
        (!is_chosen).then(|| periods(all)),
        more(changes(all)),
        days(all),
        more(named("Cost by model", "model", &all.models)),
        more(named("Cost by project", "project", &all.projects)),
        sessions(all),
        more(expensive_sessions(all).filter(|_| !is_chosen)),
        more(prompts(all)),
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
        Some(change) => line.word(" (").value(relative(change)).word(")"),
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

/// A figure of the period and of the one before.
struct Change {
    name: &'static str,
    now: Value,
    before: Value,
}

impl Change {
    /// The relative change; missing if one side is unknown, if there was nothing before, and for shares, whose
    /// relative change is easily read as a difference.
    fn relative(&self) -> Value {
        if let Value::Share(_) = self.now {
            return Value::Missing;
        }
        let sides = self.now.number().zip(self.before.number()).filter(|(_, before)| *before != 0.0);
        sides.map_or(Value::Missing, |(now, before)| relative(now / before - 1.0))
    }
}

/// A relative change, with its sign.
fn relative(change: f64) -> Value {
    Value::Change(Box::new(Value::Share(change)))
}

/// The figures of the period against those of the period before.
fn changes(all: &Overview<'_>) -> Option<Table> {
    fn columns() -> Vec<Column<Change>> {
        columns! { |row: Change|
            text figure "Figure" "Name of the figure." => row.name;
            number now "Period" "In the period." => row.now.clone();
            number before "Before" "In the period before, which is as long." => row.before.clone();
            share change "Change" [nullable] "Relative change; missing if there was nothing before." => row.relative();
        }
    }
    let change = |name, figure: &dyn Fn(&Tally) -> Value| Change {
        name,
        now: figure(&all.period),
        before: figure(&all.before),
    };
    let rows = [
        change("Cost", &cost),
        change("Sessions", &|tally| tally.sessions.into()),
        change("Prompts", &|tally| tally.asked().into()),
        change("Steps", &|tally| tally.steps.into()),
        change("Calls", &|tally| tally.calls.into()),
        change("Errors", &|tally| tally.errors.into()),
        change("Denied", &|tally| tally.denied.into()),
        change("Cache hits", &|tally| tally.hit_rate().map(Value::Share).into()),
    ];
    // Without anything before, the headline says it all.
    (all.period.sessions > 0 && all.before.sessions > 0)
        .then(|| Table::of("Compared with the period before", &columns(), &rows))
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
    Some(Table::of("Cost by day", &columns(), rows).on_screen(DAYS).keeping_last().all_in("daily"))
}

fn named(title: &'static str, key: &'static str, rows: &[NamedRow]) -> Option<Table> {
    fn columns(is_model: bool) -> Vec<Column<(NamedRow, Option<Usd>)>> {
        let mut columns = columns! { |row: (NamedRow, Option<Usd>)|
            text model "Model" "Name of the model." => &row.0.name;
            text project "Project" "Working directory in which sessions started." => &row.0.name;
            usd cost_usd "Cost" "Cost at API prices." => row.0.cost;
            share share "Share" "Share of the cost." => share(row.0.cost, row.1);
            usd before_usd "Before" [wide] "Cost in the period before." => row.0.before;
            share change "Change" [nullable] "Change of the cost; missing if there was none before."
                => share(Some(row.0.cost.unwrap_or_default()), row.0.before).map(|part| relative(part - 1.0));
        };
        columns.remove(usize::from(is_model));
        columns
    }
    let whole: Usd = rows.iter().filter_map(|row| row.cost).sum();
    let rows: Vec<(NamedRow, Option<Usd>)> = rows.iter().map(|row| (row.clone(), Some(whole))).collect();
    let all = if key == "model" { "cost --by model" } else { "cost --by project" };
    let has_before = rows.iter().any(|(row, _)| row.before.is_some());
    let table = Table::of(title, &columns(key == "model"), &rows).on_screen(ROWS).all_in(all);
    (!rows.is_empty()).then(|| table.keeping(|_, head| has_before || head.key != "before_usd"))
}

fn session_columns(is_today: bool) -> Vec<Column<SessionRow>> {
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

/// The most expensive sessions of a chosen period, else those of today or the latest ones.
fn sessions(all: &Overview<'_>) -> Option<Table> {
    if all.periods.is_chosen {
        return expensive_sessions(all);
    }
    let mut rows: Vec<&SessionRow> = all.sessions.iter().collect();
    let is_today = |row: &&SessionRow| row.last >= all.periods.today.start;
    let title = if rows.iter().any(is_today) {
        rows.retain(is_today);
        TODAY
    } else {
        "Latest sessions"
    };
    let columns = session_columns(title == TODAY);
    (!rows.is_empty()).then(|| Table::of(title, &columns, rows).on_screen(ROWS).all_in("sessions"))
}

fn expensive_sessions(all: &Overview<'_>) -> Option<Table> {
    let mut rows: Vec<&SessionRow> = all.sessions.iter().collect();
    rows.sort_by_key(|row| Reverse(row.cost));
    let columns = session_columns(false);
    (!rows.is_empty()).then(|| {
        Table::of("Most expensive sessions", &columns, rows)
            .on_screen(ROWS)
            .all_in("sessions --sort cost_usd")
    })
}

fn prompts(all: &Overview<'_>) -> Option<Table> {
    fn columns() -> Vec<Column<PromptRow>> {
        columns! { |row: PromptRow|
            time asked "Asked" "Time of the prompt." => row.asked;
            text session "Session" "Session id." => &row.session;
            count number "No." "Number of the prompt or turn in its session." => row.number;
            text text "Prompt" [content] "First line of the prompt." => &row.text;
            text project "Project" [wide] "Working directory of the session." => &row.project;
            usd cost_usd "Cost" "Cost in the period of the work that it started." => row.cost;
        }
    }
    (!all.prompts.is_empty()).then(|| Table::of("Most expensive prompts", &columns(), &all.prompts))
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
    (!all.failures.is_empty())
        .then(|| Table::of(title, &columns(), &all.failures).on_screen(FAILURES).all_in("errors"))
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
    notes.extend(reach(all));
    let mut next = |is_useful: bool, what: &'static str| {
        if is_useful {
            notes.push(Line::new(Tone::Plain).words(what));
        }
    };
    let chosen = all.periods.is_chosen || all.periods.is_past;
    next(!all.sessions.is_empty(), "the latest session in full: {show latest}");
    next(!all.failures.is_empty() && chosen, "what failed, and why: {errors}");
    next(!all.failures.is_empty() && !chosen, "what failed, and why: {errors --since 7d}");
    next(!all.prompts.is_empty() && chosen, "prompts by cost: {prompts --sort cost_usd}");
    next(all.period.cost.is_some() && chosen, "where the cost comes from: {cost --by project,model}");
    next(
        all.period.cost.is_some() && !chosen,
        "where the cost comes from: {cost --by project,model --since 14d}",
    );
    notes
}

/// How far back logs and archive reach.
fn reach(all: &Overview<'_>) -> Option<Line> {
    let line = Line::new(Tone::Plain).word("logs reach back to ").value(all.first?);
    Some(match all.archive {
        None => line,
        Some(archive) => match archive.first {
            Some(first) => line.word(", the archive ").value(&*archive.path).word(" to ").value(first),
            None => line.word(", the archive ").value(&*archive.path).word(" is empty"),
        },
    })
}
