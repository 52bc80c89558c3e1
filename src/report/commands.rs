//! Slash commands, skills and agents: how often each was offered and used, and the cost of the work it
//! started.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, Value, View,
    column::columns,
    heads,
    sum::{HasLocation, Sum, has, place_columns},
};
use crate::{
    facts::{
        Detail, Name,
        ledger::{Location, ResponseIndex},
        trace::command::{self, CommandKind, Commands, Use},
    },
    measure::{Time, Tokens},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::ROWS.and(Detail::COMMANDS),
    make: Some(commands),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "Show commands, skills and agents: offered, used, cost",
        details: "Counts each use once, even if several records report it. Names are shown, arguments are not. Commands that \
            were offered but never used are listed last, in data and with --limit 0.",
        examples: &[
            ("Commands, skills and agents of a run", "ccstat commands run.jsonl"),
            (
                "Skills that nobody uses, for a spreadsheet",
                "ccstat commands ~/.claude/projects --sort used:asc --format csv",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "commands",
        "Slash commands, skills and agents: offered, used, by whom, and the cost of the work they started.",
        || heads(&columns()),
    )
};

/// Text for the rows that a screen leaves out.
const NEVER: (&str, &str) = (" offered but never used", " offered but never used");

#[derive(Default)]
struct Row {
    kind: Option<CommandKind>,
    name: Option<Name>,
    offered: Option<u64>,
    used: u64,
    typed: u64,
    called: u64,
    failed: u64,
    turns: u64,
    /// Tokens and cost of the work that it started, if any.
    sum: Option<Sum>,
    first: Option<Time>,
    last: Option<Time>,
    at: Option<Location>,
    source: Value,
    place: Value,
}

has! { HasLocation for Row: source, at }

impl Row {
    fn add(&mut self, view: &View<'_>, one: &Use) {
        self.used += 1;
        *(if one.call.is_some() { &mut self.called } else { &mut self.typed }) += 1;
        self.failed += u64::from(one.failed);
        self.turns += u64::from(!one.responses.is_empty());
        let earlier = |time: Time| self.first.is_none_or(|first| time < first);
        // Uses are in log order. The first location is the one with the earliest time, if any has a time.
        if self.at.is_none() || one.context.time.is_some_and(earlier) {
            self.at = one.context.location;
            (self.source, self.place) = (view.source(one.context.location), view.place(one.context.location));
        }
        self.first = self.first.into_iter().chain(one.context.time).min();
        self.last = self.last.max(one.context.time);
    }

    fn tokens(&self, count: impl Fn(&Tokens) -> u64) -> Value {
        self.sum.as_ref().map(|sum| count(&sum.tokens)).into()
    }
}

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text sort "Kind" "`command`, `skill` or `agent`." => row.kind.map_or(Value::Missing, |kind| kind.name().into());
        text name "Name" "Name without a slash; for an agent its type, if the log has it." => &row.name;
        count offered "Offered" [no_sum, nullable, wide] "Sessions that offered it, according to `system/init` or the list in a saved session; missing if there is \
             no such list."
            => row.offered;
        count used "Used" "Number of uses." => row.used;
        count typed "Typed" "Uses typed by a person or a host. A stream without the saved session shows only commands that the CLI \
             handles itself, and prompts that it replays."
            => row.typed;
        count called "Called" "Uses by the model, through Skill, SlashCommand, Agent or Task." => row.called;
        count failed "Failed" [wide] "Uses by the model that were denied or failed." => row.failed;
        count turns "Answered" "Uses that responses followed. Typed: a response before the next prompt or result of the session. Called: a response \
             of the subagent that it started."
            => row.turns;
        ..costs();
        time first "First" "Time of the first use." => row.first;
        time last "Last" [wide] "Time of the last use." => row.last;
        text place "Location" [screen] "Location of the first use." => &row.place;
        ..place_columns();
    }
}

/// Tokens and cost. The cost of a subagent is in the row of its type and in the row of the command that
/// started the work, so these columns have no sum.
fn costs() -> Vec<Column<Row>> {
    columns! { |row: Row|
        count responses "Responses" [nullable, no_sum, wide] "API responses of the work that it started."
            => row.sum.as_ref().map(|sum| sum.responses);
        count input "Input" [nullable, no_sum, wide] "Input tokens of this work that were not cached."
            => row.tokens(|tokens| tokens.input);
        count output "Output" [nullable, no_sum] "Output tokens of this work."
            => row.tokens(|tokens| tokens.output);
        count cache_read "Cache read" [nullable, no_sum, wide] "Tokens of this work read from the cache."
            => row.tokens(|tokens| tokens.cache_read);
        count cache_write_5m "Write 5m" [nullable, no_sum, wide] "Tokens written to the cache for five minutes."
            => row.tokens(|tokens| tokens.cache_write_5m);
        count cache_write_1h "Write 1h" [nullable, no_sum, wide] "Tokens written to the cache for an hour."
            => row.tokens(|tokens| tokens.cache_write_1h);
        usd cost_usd "Cost" [no_sum]
            "Cost at API prices of the work that it started: the shares of their responses in the cost of the \
             sessions. Typed: all responses, including those of subagents, up to the next prompt or result. Called: \
             responses of the subagent itself. Excludes charges without a response in the log, such as the summary \
             for /compact."
            => row.sum.as_ref().and_then(|sum| sum.cost);
    }
}

/// One row per name: most used first, then those offered but never used.
fn commands(view: &View<'_>) -> Report {
    let Commands { offers, uses } = command::commands(view.ledger);
    let mut rows: BTreeMap<(CommandKind, Option<Name>), Row> = BTreeMap::new();
    let listed: BTreeSet<bool> = offers.keys().map(|(kind, _)| *kind == CommandKind::Agent).collect();
    for ((kind, name), sessions) in offers {
        rows.entry((kind, Some(name))).or_default().offered = Some(sessions.len() as u64);
    }
    let mut began: BTreeMap<ResponseIndex, BTreeSet<(CommandKind, Option<Name>)>> = BTreeMap::new();
    for one in &uses {
        let key = (one.kind, one.name.clone());
        for &response in &one.responses {
            began.entry(response).or_default().insert(key.clone());
        }
        rows.entry(key).or_default().add(view, one);
    }
    for charge in &view.ledger.charges {
        for key in charge.response.and_then(|response| began.get(&response)).into_iter().flatten() {
            if let Some(row) = rows.get_mut(key) {
                row.sum.get_or_insert_default().add(charge);
            }
        }
    }
    // If a log lists agents, or commands and skills, names that are not in the list were not offered.
    let unlisted = |kind: CommandKind| listed.contains(&(kind == CommandKind::Agent)).then_some(0);
    let named = |((kind, name), row): ((CommandKind, Option<Name>), Row)| Row {
        kind: Some(kind),
        name,
        offered: row.offered.or(unlisted(kind)),
        ..row
    };
    let mut rows: Vec<Row> = rows.into_iter().map(named).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.used), row.at.is_none()));
    report(&rows)
}

fn report(rows: &[Row]) -> Report {
    let used = rows.iter().filter(|row| row.used > 0).count();
    let table = Table::of("Commands", &columns(), rows).with_sums();
    let table = table.on_screen(used).leaving_out(NEVER);
    let none = (used == 0).then(|| Line::new(Tone::Plain).word("no command, skill or agent was used"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
