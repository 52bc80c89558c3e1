//! A file of defaults, `ccstat.toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ccstat::internal::cli::config_is_judged(text));
