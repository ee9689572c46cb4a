//! The allocator: what is checked is what is nearly free.
//!
//! ```text
//! cargo build -p furlong-preload --profile preload --examples
//! LD_PRELOAD=target/preload/examples/libfurlong_malloc.so program
//! ```
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong_preload::{Batched, Checked, Inlined};

furlong_preload::symbols!(Checked, Inlined, Batched);
