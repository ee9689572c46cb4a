//! Runs bytes as operations of four threads on the allocator.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::malloc;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| malloc(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
