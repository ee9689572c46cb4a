//! Runs bytes as operations on pools of bounce buffers.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::bounce;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| bounce(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
