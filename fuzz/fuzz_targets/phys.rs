//! Runs bytes as operations on tables of physical segments.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::phys;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| phys(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
