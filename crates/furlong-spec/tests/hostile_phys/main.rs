//! The hostile caller of `phys`. It forgets every value that has a drop, panics in every call of
//! its own code, and re-enters the table from there.
//!
//! A plug, removal, start, restore or creation of descriptors that panics changes nothing, with one
//! exception: frames whose descriptors were being dropped are gone. No panic leaves the lock held.
#![forbid(unsafe_code)]

mod again;
mod forgotten;
mod page;
mod panics;
