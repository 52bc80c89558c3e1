//! The fast decoder agrees with the obvious one, on any bytes and on any bytes inside of a record.
#![no_main]

#[path = "../checks.rs"]
#[allow(dead_code, reason = "each target runs its own checks")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::twins(bytes);
    checks::spliced(bytes);
});
