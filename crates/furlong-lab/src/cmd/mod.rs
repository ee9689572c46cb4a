//! The verbs of the command, a file each.
#![forbid(unsafe_code)]

pub mod collect;
pub mod compare;
pub mod doctor;
pub mod list;
pub mod record;
pub mod replay;
pub mod run;
pub mod sample;
pub mod show;
pub mod stat;
pub mod task;
