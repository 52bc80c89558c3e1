//! Any bytes as a source, in blocks and units of any size, on one thread and on two: no panic, and the same
//! account. The first three bytes are the sizes, and the rest is the source.
#![no_main]

#[path = "../checks.rs"]
#[allow(dead_code, reason = "each target runs its own checks")]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [block, low, high, source @ ..] = bytes else { return };
    // Units of a few bytes each would only open the file a thousand times.
    let unit = u64::from(u16::from_le_bytes([*low, *high])).max(1 + source.len() as u64 / 64);
    let _ = checks::scan(source, usize::from(*block), unit);
});
