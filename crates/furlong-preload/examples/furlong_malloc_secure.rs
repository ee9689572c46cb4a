//! The allocator with all checks.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc_secure.so program
//! ```
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Batched, Inlined, Secure};

furlong_preload::symbols!(Secure, Inlined, Batched);
furlong_preload::checked_writes!();
