//! The lab: the command `furlong` as a library, so that other binaries can bring further arms.
#![forbid(unsafe_code)]

pub mod cmd;
pub mod experiments;
pub mod measure;
pub mod ministat;
pub mod record;
pub mod report;
pub mod stats;
