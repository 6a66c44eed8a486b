#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hprof_fuzz_targets::library(data));
