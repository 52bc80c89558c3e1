//! Tasks: what ran in the background and in the foreground, from when to when, and how it ended.

use super::{
    Column, Entry, Line, Report, Shown, Table, Tone, Unit, View, heads,
    sum::{Spot, Spotted, place_columns, text},
};
use crate::facts::trace::task::{Task, tasks as all_tasks};

pub(super) const ENTRY: Entry = Entry::rows(
    "tasks",
    "Tasks in the background and in the foreground: what began them, from when to when, how they ended.",
    || heads(&columns()),
);

struct Row {
    task: Task,
    spot: Spot,
}

impl Spotted for Row {
    fn spot(&self) -> &Spot {
        &self.spot
    }
}

fn columns() -> Vec<Column<Row>> {
    let mut columns = Vec::from(what_columns());
    columns.extend(life_columns());
    columns.extend(whose_columns());
    columns.extend(place_columns());
    columns
}

fn what_columns() -> [Column<Row>; 6] {
    [
        Column::new(Unit::Text, "task", "Task", "Id of the task.", |row: &Row| text(row.task.id.as_deref())),
        Column::new(
            Unit::Text,
            "kind",
            "Kind",
            "`bash`, `agent`, `workflow` and so on; `todo` for an entry of the model's own list.",
            |row: &Row| text(row.task.kind.as_deref()),
        ),
        Column::new(Unit::Text, "agent_type", "Type", "The type of a subagent.", |row: &Row| {
            text(row.task.agent_type.as_deref())
        })
        .shown(Shown::Roomy),
        Column::new(Unit::Text, "tool", "Tool", "The tool whose call began it.", |row: &Row| {
            text(row.task.tool.as_deref())
        }),
        Column::new(
            Unit::Text,
            "status",
            "Status",
            "How it ended, as the log says it; `running` if no end was seen.",
            |row: &Row| text(Some(&row.task.status)),
        ),
        Column::new(
            Unit::Text,
            "ground",
            "Ground",
            "`background` if the turn went on without it, else `foreground`.",
            |row: &Row| {
                text(
                    row.task
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
            |row: &Row| row.task.started.into(),
        )
        .shown(Shown::Roomy),
        Column::new(
            Unit::Time,
            "ended",
            "Ended",
            "When it ended, for the first time if it was resumed.",
            |row: &Row| row.task.ended.into(),
        )
        .shown(Shown::Roomy),
        Column::new(
            Unit::Millis,
            "wall_ms",
            "Took",
            "How long it ran: as the log says, else from its start to its end.",
            |row: &Row| row.task.took.into(),
        )
        .alone(),
        Column::new(Unit::Count, "calls", "Calls", "Tools that a subagent called.", |row: &Row| {
            row.task.tool_uses.into()
        })
        .maybe(),
        Column::new(
            Unit::Count,
            "context",
            "Context",
            "Tokens of a subagent's last prompt and answer: not what was charged.",
            |row: &Row| row.task.tokens.into(),
        )
        .alone()
        .maybe(),
    ]
}

fn whose_columns() -> [Column<Row>; 5] {
    [
        Column::new(Unit::Text, "call", "Call", "Id of the call that began it.", |row: &Row| {
            text(row.task.call.as_deref())
        })
        .shown(Shown::Data),
        Column::new(
            Unit::Text,
            "agent",
            "Agent",
            "`main`, or the type of the subagent that began it.",
            |row: &Row| row.spot.agent.clone(),
        )
        .shown(Shown::Data),
        Column::new(Unit::Text, "session", "Session", "Id of its session.", |row: &Row| {
            row.spot.session.clone()
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "project", "Project", "The folder of its session.", |row: &Row| {
            row.spot.project.clone()
        })
        .shown(Shown::Data),
        Column::new(Unit::Text, "place", "Place", "Where it is first told of.", |row: &Row| {
            row.spot.place.clone()
        })
        .shown(Shown::Screen),
    ]
}

/// One row a task, in the order they are told of.
pub fn tasks(view: &View<'_>) -> Report {
    let row = |task: Task| Row { spot: Spot::of(view, &task.mark), task };
    let rows: Vec<Row> = all_tasks(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Tasks", &columns(), &rows).on_screen(50);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no task was started"));
    Report::of(ENTRY.name, table, none.into_iter().collect())
}
