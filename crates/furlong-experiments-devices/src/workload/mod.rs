//! Parts that several experiments share.
//!
//! # Files
//! - `gas.rs`, `ordered.rs`: workloads; `traffic.rs`: the traffic of devices
//! - `batches.rs`: operations in batches; `threads.rs`: workers on threads; `cpu_binding.rs`: their
//!   CPU numbers
#![forbid(unsafe_code)]

pub(super) mod batches;
pub(super) mod cpu_binding;
pub mod gas;
pub mod ordered;
pub(super) mod threads;
pub mod traffic;
