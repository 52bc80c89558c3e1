//! Any bytes as a log, in every report: no panic, and no control characters for a terminal. The first byte
//! selects the format, since all formats would take too long.
#![no_main]

#[path = "../reports.rs"]
#[allow(dead_code, reason = "tests write every format")]
mod reports;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [format, log @ ..] = bytes else { return };
    let format = reports::FORMATS[usize::from(*format) % reports::FORMATS.len()];
    let _ = reports::reports_in(&[format], log);
});
