//! Runs simhash_fuzz::text under libFuzzer.
#![no_main]
#![allow(unsafe_code, reason = "the macro exports a function to libFuzzer")]

libfuzzer_sys::fuzz_target!(|data: &[u8]| simhash_fuzz::text::run(data));
