//! Whole samples of all arms.
#![forbid(unsafe_code)]
