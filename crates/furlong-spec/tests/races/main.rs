//! Threads beside each other in every system but malloc, whose only program has its own.
//!
//! These tests are a program of their own, so that a sanitizer need not build all others.
#![forbid(unsafe_code)]

mod bounce;
mod iova;
mod maple;
mod phys;
mod vmspace;
