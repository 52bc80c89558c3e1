//! A gate of your own: fails if a run edited files but never ran the tests.
//!
//! ```sh
//! cargo run --example gate -- run.jsonl
//! ```

#![expect(clippy::print_stderr, reason = "an example says why it fails")]

use std::process::ExitCode;

use ccstat::{Error, Logs, Summary};

/// How often tools ran without failing or being denied.
fn succeeded(summary: &Summary, tools: &[&str]) -> u64 {
    tools.iter().filter_map(|tool| summary.tools.by_name.get(*tool)).map(|tool| tool.ok).sum()
}

fn main() -> Result<ExitCode, Error> {
    let log = std::env::args().nth(1).unwrap_or_else(|| "-".to_owned());
    let summary = Logs::paths([log]).summary()?;
    if summary.input.records == 0 || !summary.unreadable().is_empty() {
        eprintln!("cannot judge this run: its log could not be read");
        return Ok(ExitCode::from(2));
    }
    let edits = succeeded(&summary, &["Edit", "Write", "NotebookEdit"]);
    let commands = succeeded(&summary, &["Bash"]);
    if edits > 0 && commands == 0 {
        eprintln!("{edits} files were edited, but no command ran: were the tests run?");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
