//! The façade of `rangemap` beside that crate's own maps and sets: same calls, same results.
#![forbid(unsafe_code)]

mod edges;
mod maps;
mod sets;
mod subject;
