//! Prints every report as one line of JSON: its name, how many sets of logs it reads, and a command line that
//! writes it.
//!
//! `scripts/wine` runs these command lines. The program, the logs and the format are not part of them.

#![expect(clippy::print_stdout, reason = "the list is the output")]

use ccstat::internal::report::{REPORTS, Reads};
use serde_json::json;

fn main() {
    for spec in REPORTS {
        let inputs = match spec.reads {
            Reads::Nothing => 0,
            Reads::Logs => 1,
            Reads::TwoSides => 2,
        };
        println!("{}", json!({ "report": spec.name, "inputs": inputs, "command": spec.sample() }));
    }
}
