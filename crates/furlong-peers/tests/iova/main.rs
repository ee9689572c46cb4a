//! The peers against the model of the specification: agreement, and findings.
#![forbid(unsafe_code)]

mod agreement;
mod findings;
#[path = "../needed/mod.rs"]
mod needed;
mod smallest;
