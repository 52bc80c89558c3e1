//! Every string kernel agrees with the scalar loop, from every start near the beginning, up to the last byte
//! of the memory: a `Box<[u8]>` has no spare bytes, so AddressSanitizer detects a read past it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let bytes: Box<[u8]> = bytes.into();
    for from in 0..=bytes.len().min(70) {
        ccstat::internal::event::kernels_agree(&bytes, from);
    }
});
