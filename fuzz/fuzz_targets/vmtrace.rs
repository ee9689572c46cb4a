//! Reads bytes as recordings of address spaces.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::vmtrace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| vmtrace(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
