//! Slash commands, skills and agents: offered, used, and what the turns cost that they began.

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
        about: "Show commands, skills, agents: offered, used, what they began",
        details: "Counts each use once, however many records tell of it. Names are shown, arguments are not. What was offered \
            and never used is listed after what was, in data and with --limit 0.",
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
        "Slash commands, skills and agents: offered, used, by whom, and what the turns cost that they began.",
        || heads(&columns()),
    )
};

/// What a screen says of the rows that it leaves out.
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
    /// Tokens and cost of the turns that it began, if it began any.
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
        // Uses come in the order they stand, and the first of them is the earliest that has a time.
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
        text sort "Sort" "`command`, `skill` or `agent`." => row.kind.map_or(Value::Missing, |kind| kind.name().into());
        text name "Name" "Its name, without a slash; of an agent its type, where the log says it." => &row.name;
        count offered "Offered" [no_sum, nullable, wide] "Sessions that offered it: in `system/init`, or as a saved session lists it; missing where none says what \
             there is."
            => row.offered;
        count used "Used" "How often it was used." => row.used;
        count typed "Typed" "Uses that a person or a host typed. A stream shows no prompts: alone it tells only of the commands that \
             the CLI answers by itself, and of prompts that it replays."
            => row.typed;
        count called "Called" "Uses that the model called, through Skill, SlashCommand, Agent or Task." => row.called;
        count failed "Failed" [wide] "Of those, calls that were refused or failed." => row.failed;
        count turns "Turns" "Turns that it began. Typed: uses that the model answered before the next prompt or result of the session. \
             Called: uses that started a subagent which answered."
            => row.turns;
        ..costs();
        time first "First" "When it was first used." => row.first;
        time last "Last" [wide] "When it was last used." => row.last;
        text place "Place" [screen] "Where it was first used." => &row.place;
        ..place_columns();
    }
}

/// Tokens and cost. A subagent's stand in the row of its type and in that of the command whose turn it worked in, so
/// none of them is added up.
fn costs() -> Vec<Column<Row>> {
    columns! { |row: Row|
        count responses "Responses" [nullable, no_sum, wide] "API responses of the turns that it began."
            => row.sum.as_ref().map(|sum| sum.responses);
        count input "Input" [nullable, no_sum, wide] "Tokens of these turns that came from no cache."
            => row.tokens(|tokens| tokens.input);
        count output "Output" [nullable, no_sum] "Tokens that the model wrote in these turns."
            => row.tokens(|tokens| tokens.output);
        count cache_read "Cache read" [nullable, no_sum, wide] "Tokens of these turns that were read from the cache."
            => row.tokens(|tokens| tokens.cache_read);
        count cache_write_5m "Write 5m" [nullable, no_sum, wide] "Tokens written to the cache for five minutes."
            => row.tokens(|tokens| tokens.cache_write_5m);
        count cache_write_1h "Write 1h" [nullable, no_sum, wide] "Tokens written to the cache for an hour."
            => row.tokens(|tokens| tokens.cache_write_1h);
        usd cost_usd "Cost" [no_sum]
            "Cost at API prices of the turns that it began: the parts of the sessions' figures that belong to their \
             responses. Typed: all responses, also of subagents, up to the next prompt or result. Called: those of \
             the subagent itself. What no response shows is not in it, such as the summary that /compact asks for."
            => row.sum.as_ref().and_then(|sum| sum.cost);
    }
}

/// One row a name: the most used first, then what was offered and never used.
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
    // Where agents are listed, or commands and skills, what is not among them was not offered.
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
