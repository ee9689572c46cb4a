//! The allocator [`furlong::malloc`] behind the symbols of the C and C++ libraries.
//!
//! # What it is
//! The common parts of the preloaded libraries under `examples/`: each of them names a [`Kind`],
//! its allocator and calls [`symbols`].
//!
//! # Files
//! - `kind`: the parts that differ between the libraries.
//! - `current`: a thread's heap, in initial-exec thread-local storage.
//! - `plain`, `aligned`, `report`, `cxx`: the groups of symbols; `symbols`: their names.
//! - `heap`, `hook`: heaps of a purpose, and reports of trouble, for programs in C that include
//!   `furlong_malloc.h`; `profile`: the heap profile.
//! - `start`: the hooks at load, at fork and at a thread's end; `guard`: the handler of faults in
//!   guard pages; `fault`: the library's own panic handler.
//!
//! With `panic = "abort"` the libraries do without Rust's standard library, which they would use
//! only for panic messages. It would be most of their code, and would load the C compiler's
//! unwinding library into every process.
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]

pub mod aligned;
mod current;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod cxx;
#[cfg(all(panic = "abort", target_arch = "x86_64"))]
mod fault;
mod guard;
pub mod heap;
pub mod hook;
pub mod kind;
pub mod plain;
pub mod profile;
pub mod report;
pub mod start;
mod streams;
mod symbols;
mod system;

pub use current::Thread;
pub use furlong::malloc::{
    Batched, Checked, Config, Inlined, Linux, Malloc, NoHardening, Outlined, PerCall, Profile,
    Sampler, Secure,
};
pub use kind::Kind;
#[doc(hidden)]
pub use libc;
#[doc(hidden)]
pub use start::Handler;
