//! The spool of a relay: pieces are written and read in any order and size, in memory and on disk.
#![no_main]

libfuzzer_sys::fuzz_target!(|steps: &[u8]| ccstat::internal::input::check_spool(steps));
