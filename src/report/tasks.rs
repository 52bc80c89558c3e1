//! Tasks: what ran in the background and in the foreground, from when to when, and how it ended.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Shown, Table, Tone, Unit, View, heads,
    spec::TRACED,
    sum::{Spot, Told, agent_column, place_column, place_columns, session_columns, text},
};
use crate::facts::trace::task::{Task, tasks as all_tasks};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: TRACED,
    make: Some(tasks),
    command: Some(CommandSpec {
        group: CommandGroup::Around,
        about: "List tasks: background and foreground, how long, how they ended",
        details: "Commands, subagents and workflows that run beside the turn or within it, and entries of the model's own \
            list.",
        examples: &[
            ("What a run left running", "ccstat tasks run.jsonl --sort status"),
            (
                "The longest tasks since yesterday",
                "ccstat tasks ~/.claude/projects --since yesterday --sort wall_ms",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "tasks",
        "Tasks in the background and in the foreground: what began them, from when to when, how they ended.",
        || heads(&columns()),
    )
};

type Row = Told<Task>;

fn columns() -> Vec<Column<Row>> {
    let mut columns = Vec::from(what_columns());
    columns.extend(life_columns());
    let call = Column::new(Unit::Text, "call", "Call", "Id of the call that began it.", |row: &Row| {
        text(row.fact.call.as_deref())
    });
    columns.push(call.shown(Shown::Data));
    columns.push(agent_column("`main`, or the type of the subagent that began it.").shown(Shown::Data));
    columns.extend(session_columns());
    columns.push(place_column("Where it is first told of."));
    columns.extend(place_columns());
    columns
}

fn what_columns() -> [Column<Row>; 6] {
    [
        Column::new(Unit::Text, "task", "Task", "Id of the task.", |row: &Row| text(row.fact.id.as_deref())),
        Column::new(
            Unit::Text,
            "kind",
            "Kind",
            "`bash`, `agent`, `workflow` and so on; `todo` for an entry of the model's own list.",
            |row: &Row| text(row.fact.kind.as_deref()),
        ),
        Column::new(Unit::Text, "agent_type", "Type", "The type of a subagent.", |row: &Row| {
            text(row.fact.agent_type.as_deref())
        })
        .shown(Shown::Roomy),
        Column::new(Unit::Text, "tool", "Tool", "The tool whose call began it.", |row: &Row| {
            text(row.fact.tool.as_deref())
        }),
        Column::new(
            Unit::Text,
            "status",
            "Status",
            "How it ended, as the log says it; `running` if no end was seen.",
            |row: &Row| text(Some(&row.fact.status)),
        ),
        Column::new(
            Unit::Text,
            "ground",
            "Ground",
            "`background` if the turn went on without it, else `foreground`.",
            |row: &Row| {
                text(
                    row.fact
                        .background
                        .map(|background| if background { "background" } else { "foreground" }),
                )
            },
        ),
    ]
}

fn life_columns() -> [Column<Row>; 5] {
    [
        Column::new(
            Unit::Time,
            "started",
            "Started",
            "When the call that began it was asked.",
            |row: &Row| row.fact.started.into(),
        )
        .shown(Shown::Roomy),
        Column::new(
            Unit::Time,
            "ended",
            "Ended",
            "When it ended, for the first time if it was resumed.",
            |row: &Row| row.fact.ended.into(),
        )
        .shown(Shown::Roomy),
        Column::new(
            Unit::Millis,
            "wall_ms",
            "Took",
            "How long it ran: as the log says, else from its start to its end.",
            |row: &Row| row.fact.took.into(),
        )
        .alone(),
        Column::new(Unit::Count, "calls", "Calls", "Tools that a subagent called.", |row: &Row| {
            row.fact.tool_uses.into()
        })
        .maybe(),
        Column::new(
            Unit::Count,
            "context",
            "Context",
            "Tokens of a subagent's last prompt and answer: not what was charged.",
            |row: &Row| row.fact.tokens.into(),
        )
        .alone()
        .maybe(),
    ]
}

/// One row a task, in the order they are told of.
fn tasks(view: &View<'_>) -> Report {
    let row = |fact: Task| Row { spot: Spot::of(view, &fact.mark), fact };
    let rows: Vec<Row> = all_tasks(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Tasks", &columns(), &rows).on_screen(50);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no task was started"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
