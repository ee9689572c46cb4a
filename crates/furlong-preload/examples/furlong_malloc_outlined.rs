//! The arm of the experiment whose gates are functions of their own.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc_outlined.so program
//! ```
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Batched, Checked, Outlined};

furlong_preload::symbols!(Checked, Outlined, Batched);
