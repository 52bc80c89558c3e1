//! Any bytes as a log, in every report and every format: no panic, and nothing that a terminal would obey.
#![no_main]

#[path = "../reports.rs"]
mod reports;

libfuzzer_sys::fuzz_target!(|log: &[u8]| {
    let _ = reports::every_report(log);
});
