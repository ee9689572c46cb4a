//! The same allocator as `furlong_malloc`, which also stops a `memcpy` past the end of a block.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc_checked.so program
//! ```
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Batched, Checked, Inlined};

furlong_preload::symbols!(Checked, Inlined, Batched);
furlong_preload::checked_writes!();
