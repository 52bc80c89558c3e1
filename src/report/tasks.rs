//! Tasks: what ran in the background and in the foreground, from when to when, and how it ended.

use super::{
    Column, CommandGroup, CommandSpec, Line, Report, ReportSpec, Table, Tone, View,
    column::columns,
    heads,
    spec::CALLED,
    sum::{Row, RowContext, agent_column, place_column, place_columns, session_columns},
};
use crate::facts::{
    Detail,
    trace::task::{Task, tasks as all_tasks},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: CALLED.and(Detail::TASKS),
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

type TaskRow = Row<Task>;

fn columns() -> Vec<Column<TaskRow>> {
    columns! { |row: TaskRow|
        ..what_columns();
        ..life_columns();
        text call "Call" [data] "Id of the call that began it." => &row.fact.call;
        ..[agent_column("`main`, or the type of the subagent that began it.").data()];
        ..session_columns();
        ..[place_column("Where it is first told of.")];
        ..place_columns();
    }
}

fn what_columns() -> Vec<Column<TaskRow>> {
    columns! { |row: TaskRow|
        text task "Task" "Id of the task." => &row.fact.id;
        text kind "Kind" "`bash`, `agent`, `workflow` and so on; `todo` for an entry of the model's own list."
            => &row.fact.kind;
        text agent_type "Type" [wide] "The type of a subagent." => &row.fact.agent_type;
        text tool "Tool" "The tool whose call began it." => &row.fact.tool;
        text status "Status" "How it ended, as the log says it; `running` if no end was seen."
            => Some(&row.fact.status);
        text ground "Ground" "`background` if the turn went on without it, else `foreground`."
            => row.fact.background.map(|background| if background { "background" } else { "foreground" });
    }
}

fn life_columns() -> Vec<Column<TaskRow>> {
    columns! { |row: TaskRow|
        time started "Started" [wide] "When the call that began it was asked." => row.fact.started;
        time ended "Ended" [wide] "When it ended, for the first time if it was resumed." => row.fact.ended;
        millis wall_ms "Took" [no_sum] "How long it ran: as the log says, else from its start to its end."
            => row.fact.took;
        count calls "Calls" [nullable] "Tools that a subagent called." => row.fact.tool_uses;
        count context "Context" [no_sum, nullable] "Tokens of a subagent's last prompt and answer: not what was charged."
            => row.fact.tokens;
    }
}

/// One row a task, in the order they are told of.
fn tasks(view: &View<'_>) -> Report {
    let row = |fact: Task| Row { context: RowContext::of(view, &fact.context), fact };
    let rows: Vec<TaskRow> = all_tasks(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Tasks", &columns(), &rows).on_screen(50);
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no task was started"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
