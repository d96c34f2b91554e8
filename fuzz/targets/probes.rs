#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sixbench_fuzz::probes(data));
