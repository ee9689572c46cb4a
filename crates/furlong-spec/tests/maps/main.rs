//! Memory maps of machines, and recordings of plugs, as `traces/phys` keeps them.
#![forbid(unsafe_code)]

mod corrupted;
mod real;
