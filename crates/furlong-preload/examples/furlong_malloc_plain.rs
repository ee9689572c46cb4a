//! The allocator without checks.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc_plain.so program
//! ```
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Batched, Inlined, NoHardening};

furlong_preload::symbols!(NoHardening, Inlined, Batched);
