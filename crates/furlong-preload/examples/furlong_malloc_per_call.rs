//! The arm of the experiment that reads its policy at every call.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc_per_call.so program
//! ```
#![cfg_attr(all(panic = "abort", target_arch = "x86_64"), no_std)]
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Checked, Inlined, PerCall};

furlong_preload::symbols!(Checked, Inlined, PerCall);
