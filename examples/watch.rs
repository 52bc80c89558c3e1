//! Watches a run through a pipe: one line after each turn, and a warning when a call was denied.
//!
//! ```sh
//! claude -p 'fix the tests' --output-format stream-json --verbose | cargo run --example watch
//! ```

#![expect(clippy::print_stdout, reason = "an example prints what it sees")]

use std::{
    io::{self, BufRead},
    time::{Duration, Instant},
};

use ccstat::Stream;

fn main() -> io::Result<()> {
    let mut run = Stream::new();
    let (mut turns, mut denied, mut looked) = (0, 0, Instant::now());
    let mut lines = io::stdin().lock().split(b'\n').peekable();
    while let Some(line) = lines.next() {
        run.push(&line?);
        // A summary takes time in proportion to the run so far: four per second, and one at the end.
        if looked.elapsed() < Duration::from_millis(250) && lines.peek().is_some() {
            continue;
        }
        looked = Instant::now();
        let summary = run.summary();
        if summary.denials.total > denied {
            denied = summary.denials.total;
            println!("{denied} denied: {:?}", summary.denials.by_tool);
        }
        if summary.turns.total > turns {
            turns = summary.turns.total;
            let cost = summary.cost.total.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost}"));
            println!("turn {turns} ended: {} calls, cost {cost}", summary.tools.total.calls);
        }
    }
    Ok(())
}
