//! What a relay passed on and nobody looked at yet: pieces that come and go in any order and size, in memory and on disk.
#![no_main]

libfuzzer_sys::fuzz_target!(|steps: &[u8]| ccstat::internal::input::check_spool(steps));
