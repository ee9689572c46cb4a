//! The pool: its parameters, its blocks of memory, and the pool as data.
//!
//! - `bounce_pool`: the type. `plan`, `parameter`: its size, and the command line that states it.
//! - `block`: contiguous memory, cut into areas; `growth`, `transient`: further blocks.
//! - `state`, `claim`: a pool saved and restored; its mappings claimed again.
//! - `check`: the invariants.
#![deny(unsafe_code)]

pub(super) mod block;
pub(super) mod bounce_pool;
pub(super) mod check;
pub(super) mod claim;
pub(super) mod growth;
pub(super) mod parameter;
pub(super) mod plan;
#[cfg(feature = "alloc")]
pub(super) mod state;
pub(super) mod transient;
