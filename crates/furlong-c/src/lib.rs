//! The library [`furlong`] for C: a header, a static and a shared library.
//!
//! # What it is
//! C functions for five systems: [`maple`], ranges in a B-tree; [`iova`], device addresses;
//! [`phys`], physical segments; [`vmspace`], address spaces of processes; [`bounce`], bounce
//! buffers. cbindgen writes `include/furlong.h` from these files, and a test compares the two. So
//! the doc comments of exported items address readers of C.
//!
//! # Words
//! - **handle**: an object that C identifies by its address only. It is on the heap, or in memory
//!   that the caller supplied.
//! - **answer**: the result of a call: 0, or a negative error number.
//!
//! # Rules
//! - R1: the type of an argument matches the header's "Threads": `&mut` is C's "exclusive", `&` its
//!   "concurrent" or "read-only". Null is `None`, and leads to an error.
//! - R2: output is written to [`MaybeUninit`](core::mem::MaybeUninit), because C need not have
//!   initialised it. Only a call that succeeds writes it, unless its documentation says otherwise.
//! - R3: choices are passed as numbers, because a C program may pass any value.
//! - R4: no panic unwinds into C. A panic is a defect, and `extern "C"` turns it into an abort.
//!
//! # Files
//! - `maple`, `iova`, `phys`, `vmspace`, `bounce`: the functions.
//! - `errno`: the error numbers; `answer`: results of calls.
//! - `extent`: ranges by their first and last index; `handle`: objects by their address.
//! - `port`: functions that a kernel must provide.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod answer;
pub mod bounce;
mod errno;
pub mod extent;
mod handle;
pub mod iova;
pub mod maple;
pub mod phys;
#[cfg(not(any(feature = "std", test)))]
mod port;
pub mod vmspace;
