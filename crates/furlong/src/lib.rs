//! furlong.
#![cfg_attr(not(any(feature = "std", test)), no_std)]

pub mod sync;
