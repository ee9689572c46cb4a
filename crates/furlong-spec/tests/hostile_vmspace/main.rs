//! A hostile caller of spaces: callbacks, values and drops that panic, and guards that are
//! forgotten.
#![forbid(unsafe_code)]

mod liars;
mod readers;
mod stream;
mod streams;
mod world;
