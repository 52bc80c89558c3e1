//! Texts of logs that match a query.

use super::{
    Column, CommandGroup, CommandSpec, FollowUp, Highlight, Line, Report, ReportSpec, Table, Tone, Value,
    View,
    column::columns,
    heads,
    sum::{Row, RowContext, place_columns, text},
};
use crate::{
    facts::{Detail, ledger::Found},
    measure::Time,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::FOUND,
    content: Detail::MATCHES,
    make: Some(|view| search(view, None)),
    sample: &["search", "test"],
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Search prompts, answers, tool inputs and results",
        details: "Newest first, one row per message, input or result that matches, with the line around the first match. Case is \
            ignored unless the text has capitals. Searched are prompts, answers, thinking, all strings of tool inputs, tool \
            results, errors and titles; not ids, signatures and images. Pipes and data have places, sessions and roles, and \
            the text only with --content. `claude --resume SESSION` continues a session. The exit code is 0 without a match too.",
        examples: &[
            ("Which session was about rate limits", "ccstat search 'rate limit' --since 30d"),
            ("Commands that deleted something", "ccstat search --regex 'rm.-rf?' --tool Bash"),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "search",
        "Texts that match, one per row: time, who said it, session and place.",
        || heads(&columns()),
    )
};

fn columns<'a>() -> Vec<Column<Row<&'a Found>>> {
    columns! { |row: Row<&'a Found>|
        time time "Time" "Time of the record." => row.fact.context.time;
        text role "Who" "Who said it: user, assistant, tool (its input or result) or system." => row.fact.role.name();
        text tool "Tool" "Tool of the input or result." => &row.fact.tool;
        text part "Part" [wide] "Part of the record: text, thinking, input, result, error or title." => row.fact.part.name();
        text text "Text" [content, data] "The line around the first match." => shown(row.fact);
        text line_text "Line" [content, below] "The line around the first match." => shown(row.fact);
        count matches "Matches" [wide] "Number of matches in this text." => row.fact.count;
        text session "Session" "Session id." => &row.context.session;
        text project "Project" [wide] "Working directory of the session." => &row.context.project;
        text place "Location" [screen] "Location of the record." => &row.context.place;
        ..place_columns();
    }
}

/// Number of rows on a screen, unless another limit is given.
pub const SCREEN_ROWS: usize = 30;

fn shown(found: &Found) -> Value {
    text(found.line.as_ref())
}

/// One row per text that matches, newest first. At most `most` rows are made, if only people read the report.
pub fn search(view: &View<'_>, most: Option<usize>) -> Report {
    let mut found: Vec<&Found> = view.ledger.found.iter().collect();
    found.sort_by_key(|one| std::cmp::Reverse((one.context.time, one.context.location)));
    // A line that says "1 more row" takes as much room as the row itself.
    let shown = most.filter(|most| found.len() > most + 1).unwrap_or(found.len());
    let left_out = found.len() - shown;
    let rows =
        found.into_iter().take(shown).map(|fact| Row { fact, context: RowContext::of(view, &fact.context) });
    let mut table = Table::of("Matches", &columns(), rows).on_screen(SCREEN_ROWS);
    if left_out > 0 {
        table.screen_rows = None;
        table.more = Some(table.left_out(left_out));
    }
    let table = Table { highlight: view.ledger.query.clone().map(Highlight), ..table };
    if view.ledger.found.is_empty() {
        let notes = [no_match(view)].into_iter().chain(view.lean_note()).collect();
        return Report { screen: Vec::new(), ..Report::of(SPEC.name, table, notes) };
    }
    Report::of(SPEC.name, table, show_one(view).into_iter().chain(view.lean_note()).collect())
}

/// The command that shows a session, if a match has one.
fn show_one(view: &View<'_>) -> Option<Line> {
    let named = view.ledger.found.iter().any(|one| view.ledger.named_session(&one.context).is_some());
    named.then(|| Line::new(Tone::Plain).word("show one session in full: ").follow_up(FollowUp::FirstSession))
}

/// Says what was searched.
fn no_match(view: &View<'_>) -> Line {
    let sessions = &view.ledger.sessions;
    let first: Option<Time> = sessions.iter().filter_map(|session| session.started).min();
    let last: Option<Time> = sessions.iter().filter_map(|session| session.ended).max();
    let line =
        Line::new(Tone::Plain).word("no match in ").count(sessions.len() as u64, " session", " sessions");
    match (first, last) {
        (Some(first), Some(last)) => line.word(", from ").value(first).word(" to ").value(last),
        _ => line,
    }
}
