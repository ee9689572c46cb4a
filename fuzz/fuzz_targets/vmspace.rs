//! Runs bytes as operations on address spaces.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::vmspace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| vmspace(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
