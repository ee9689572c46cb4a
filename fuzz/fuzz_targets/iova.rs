//! Runs bytes as operations on spaces of device addresses.
#![no_main]
#![forbid(unsafe_code)]

use furlong_spec::fuzz::iova;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| iova(bytes).unwrap_or_else(|wrong| panic!("{wrong}")));
