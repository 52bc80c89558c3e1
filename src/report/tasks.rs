//! Background and foreground tasks: start, end and outcome.

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
        about: "List background and foreground tasks: duration and outcome",
        details: "Commands, subagents and workflows, in the background or while the model waits, and entries of the model's to-do list.",
        examples: &[
            ("Tasks that a run left running", "ccstat tasks run.jsonl --sort status"),
            (
                "The longest tasks since yesterday",
                "ccstat tasks ~/.claude/projects --since yesterday --sort wall_ms",
            ),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("tasks", "Background and foreground tasks: origin, start, end and outcome.", || {
        heads(&columns())
    })
};

type TaskRow = Row<Task>;

fn columns() -> Vec<Column<TaskRow>> {
    columns! { |row: TaskRow|
        ..what_columns();
        ..life_columns();
        text call "Call" [data] "Id of the call that started it." => &row.fact.call;
        ..[agent_column("`main`, or the type of the subagent that started it.").data()];
        ..session_columns();
        ..[place_column("Location of the first record about it.")];
        ..place_columns();
    }
}

fn what_columns() -> Vec<Column<TaskRow>> {
    columns! { |row: TaskRow|
        text task "Task" "Id of the task." => &row.fact.id;
        text kind "Kind" "`bash`, `agent`, `workflow` and so on; `todo` for an entry of the model's to-do list."
            => &row.fact.kind;
        text agent_type "Type" [wide] "The type of a subagent." => &row.fact.agent_type;
        text tool "Tool" "Tool whose call started it." => &row.fact.tool;
        text status "Status" "Status in the log; `running` if the log has no end."
            => Some(&row.fact.status);
        text ground "Runs in" "`background` if the model continued without it, otherwise `foreground`."
            => row.fact.background.map(|background| if background { "background" } else { "foreground" });
    }
}

fn life_columns() -> Vec<Column<TaskRow>> {
    columns! { |row: TaskRow|
        time started "Started" [wide] "Time of the call that started it." => row.fact.started;
        time ended "Ended" [wide] "Time of its end; the first end if it was resumed." => row.fact.ended;
        millis wall_ms "Took" [no_sum] "Duration in the log, otherwise the time from start to end."
            => row.fact.took;
        count calls "Calls" [nullable] "Tool calls of a subagent." => row.fact.tool_uses;
        count context "Context" [no_sum, nullable] "Tokens of a subagent's last prompt and response; not the tokens charged."
            => row.fact.tokens;
    }
}

/// One row per task, in log order.
fn tasks(view: &View<'_>) -> Report {
    let row = |fact: Task| Row { context: RowContext::of(view, &fact.context), fact };
    let rows: Vec<TaskRow> = all_tasks(view.ledger).into_iter().map(row).collect();
    let table = Table::of("Tasks", &columns(), &rows).on_screen(50).keeping_last();
    let none = rows.is_empty().then(|| Line::new(Tone::Plain).word("no task was started"));
    Report::of(SPEC.name, table, none.into_iter().collect())
}
