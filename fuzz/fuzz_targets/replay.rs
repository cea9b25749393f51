#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| daybreak_fuzz_targets::replay_log(data));
