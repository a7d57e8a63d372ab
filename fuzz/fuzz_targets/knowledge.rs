#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| niagara_bridge::fuzzing::knowledge(data));
