//! Numbers, read and printed as C does.
//!
//! # Files
//! - `number.rs`: words to numbers, as in `strtod`
//! - `general.rs`: numbers as `%g` prints them
#![forbid(unsafe_code)]

pub mod general;
pub mod number;
