//! The peers against the model of the specification: where they agree, and what they get wrong.
#![forbid(unsafe_code)]

mod agreement;
mod findings;
#[path = "../needed/mod.rs"]
mod needed;
mod smallest;
