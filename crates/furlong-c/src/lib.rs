//! The library [`furlong`] for C: a header, a static and a shared library.
//!
//! # What it is
//! Functions of C over four systems: [`maple`], ranges in a B-tree; [`iova`], device addresses;
//! [`phys`], physical segments; [`bounce`], bounce buffers. `include/furlong.h` is written from
//! these files by cbindgen, and a test holds it against them; so the documents here speak to
//! readers of C.
//!
//! # Words
//! - **handle**: an object that C knows by its address only: on the heap, or in memory that was
//!   handed in.
//! - **answer**: 0, or the negative number of an error.
//!
//! # Rules
//! - R1: `&mut` is C's "under the caller's lock", `&` its "side by side": what the header says of
//!   threads is what the type of the argument says. Null is `None`, and an answer.
//! - R2: what goes out is written to [`MaybeUninit`](core::mem::MaybeUninit), for C need not have
//!   written there before, and only by a call that succeeds, unless its document says so.
//! - R3: numbers stand for choices, since a C program may pass any.
//! - R4: no panic crosses the border. A panic is a defect, and `extern "C"` makes it an abort.
//!
//! # Files
//! - `maple`, `iova`, `phys`, `bounce`: the functions.
//! - `errno`: each error of the library and its number; `answer`: how a call ends.
//! - `extent`: ranges by their first and last index; `handle`: objects by their address.
//! - `port`: what a kernel brings.
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
