//! Parts that several experiments share.
//!
//! # Files
//! - `gas.rs`, `ordered.rs`: workloads; `traffic.rs`: the traffic of devices
//! - `batches.rs`: operations in batches; `threads.rs`: workers on threads; `cpu_binding.rs`: their
//!   CPU numbers; `process.rs`: tools that are run to their end
//! - `agreement.rs`: assertions about whole samples, for tests
#![forbid(unsafe_code)]

#[cfg(test)]
pub(super) mod agreement;
pub(super) mod batches;
pub(super) mod cpu_binding;
pub mod gas;
pub mod ordered;
pub(super) mod process;
pub(super) mod threads;
pub mod traffic;
