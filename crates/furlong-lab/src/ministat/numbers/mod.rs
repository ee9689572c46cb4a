//! Numbers, read and printed as C does.
//!
//! # Files
//! - `number.rs`: words to numbers, as in `strtod`
//! - `general.rs`: numbers as `%g` prints them

pub mod general;
pub mod number;
