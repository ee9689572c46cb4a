//! The hostile caller of `phys`: it forgets whatever has a drop, panics in every call of its own
//! code, and comes to the table again from there.
//!
//! A plug, removal, start, restore or making that panics has changed nothing, but for descriptors
//! that were being dropped: their frames are gone. No panic leaves the lock held.
#![forbid(unsafe_code)]

mod again;
mod forgotten;
mod page;
mod panics;
