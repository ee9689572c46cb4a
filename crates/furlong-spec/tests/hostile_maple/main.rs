//! A hostile caller of the B-tree of ranges. It forgets results and sessions, panics in all of its
//! own code, and takes the lock again while it holds it.
#![forbid(unsafe_code)]

mod reentry;
mod stream;
mod streams;
mod world;
