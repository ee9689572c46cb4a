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
//! - `start`: what happens when the library is loaded, at fork and at a thread's end; `fault`: what
//!   happens when it is at fault itself.
//!
//! Where nothing unwinds the libraries are without Rust's standard library, which they would use
//! for nothing but its words when something panics: it would be most of their code, and bring the C
//! compiler's library for unwinding into every process.
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]

pub mod aligned;
mod current;
#[cfg(target_arch = "x86_64")]
pub mod cxx;
#[cfg(all(panic = "abort", target_arch = "x86_64"))]
mod fault;
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
#[doc(hidden)]
pub use start::Handler;
