//! A command, split into its parts.
#![no_main]

#[path = "../parsers.rs"]
#[allow(dead_code, reason = "each target runs its own check")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::shell(bytes));
