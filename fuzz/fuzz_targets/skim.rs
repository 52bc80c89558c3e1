//! The fast decoder agrees with the obvious one, on any bytes and between neighbours: the light target, for
//! very many inputs.
#![no_main]

#[path = "../checks.rs"]
#[allow(dead_code, reason = "each target runs its own checks")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::skim(bytes));
