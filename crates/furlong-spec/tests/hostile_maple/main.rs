//! A hostile caller of the B-tree of ranges: it forgets results and sessions, panics in every piece
//! of its own code, and takes the lock again where it must not.
#![forbid(unsafe_code)]

mod forgotten;
mod panics;
mod reentry;
mod stream;
mod streams;
mod world;
