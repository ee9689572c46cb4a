//! The allocator [`furlong::malloc`] behind the symbols of the C and C++ libraries.
//!
//! # What it is
//! Everything that the preloaded libraries under `examples/` share: each of them names a
//! [`Kind`], its allocator and calls [`symbols`].
//!
//! # Files
//! - `kind`: what differs between the libraries, and what a process gives each of them.
//! - `current`: a thread's heap, in initial-exec thread-local storage.
//! - `plain`, `aligned`, `report`, `cxx`: the groups of symbols; `symbols`: their names.
//! - `start`: what happens when the library is loaded, at fork and at a thread's end.

pub mod aligned;
mod current;
#[cfg(target_arch = "x86_64")]
pub mod cxx;
pub mod kind;
pub mod plain;
pub mod report;
pub mod start;
mod symbols;

pub use current::Thread;
pub use furlong::malloc::{
    Batched, Checked, Config, Inlined, Linux, Malloc, NoHardening, Outlined, PerCall, Secure,
};
pub use kind::Kind;
#[doc(hidden)]
pub use libc;
