//! Runs bytes as operations on trees of ranges.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::maple;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| maple(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
