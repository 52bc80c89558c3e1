//! Every string kernel equals the scalar walk, from every start near the beginning, on bytes that end where their memory
//! ends: a `Box<[u8]>` has no spare bytes, so AddressSanitizer sees a read past it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let bytes: Box<[u8]> = bytes.into();
    for from in 0..=bytes.len().min(70) {
        ccstat::internal::event::kernels_agree(&bytes, from);
    }
});
