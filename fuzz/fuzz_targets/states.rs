//! Reads bytes as saved states of spaces and tables.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::states;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| states(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
