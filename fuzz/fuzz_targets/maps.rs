//! Reads bytes as memory maps and recordings of plugs.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::maps;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| maps(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
