//! Sums up a folder of logs: the ten tools that failed most often, and what the sessions cost.
//!
//! ```sh
//! cargo run --example folder -- ~/.claude/projects
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints what it finds")]

use ccstat::{Cell, Error, Logs};

fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "testdata/logs".to_owned());

    let summary = Logs::paths([&folder]).summary()?;
    for source in summary.unreadable() {
        eprintln!("{}", source.reason);
    }
    let cost = summary.cost.total.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost}"));
    println!("{} sessions, {} tool calls, cost {cost}", summary.sessions, summary.tools.total.calls);

    let tools = Logs::paths([&folder]).report("tools")?;
    let count = |cell: Option<&Cell>| match cell {
        Some(Cell::Count(count)) => *count,
        _ => 0,
    };
    let mut rows: Vec<_> = tools.rows().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(count(row.get("errors"))));
    for row in rows.iter().take(10) {
        // A name from a log may contain anything: `{:?}` escapes it.
        println!(
            "{:>5} errors in {:>5} calls: {:?}",
            count(row.get("errors")),
            count(row.get("calls")),
            row.get("tool")
        );
    }
    Ok(())
}
