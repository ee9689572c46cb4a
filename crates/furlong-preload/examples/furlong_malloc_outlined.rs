//! The arm of the experiment whose gates are separate functions.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc_outlined.so program
//! ```
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Batched, Checked, Outlined};

furlong_preload::symbols!(Checked, Outlined, Batched);
