//! A file of defaults, `ccstat.toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ccstat::internal::cli::check_config(text));
