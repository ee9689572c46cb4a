//! A hostile caller of spaces: closures, values and their drops that panic, guards that are
//! forgotten.
#![forbid(unsafe_code)]

mod liars;
mod readers;
mod stream;
mod streams;
mod world;
