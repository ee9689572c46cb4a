//! The verbs of the command, a file each; `enough.rs` has options that two of them share.

pub mod ab;
pub mod bisect;
pub mod ci;
pub mod collect;
pub mod compare;
pub mod completions;
pub mod diff;
pub mod doctor;
pub mod enough;
pub mod export;
pub mod history;
pub mod import;
pub mod link;
pub mod list;
pub mod man;
pub mod mark;
pub mod prune;
pub mod run;
pub mod sample;
pub mod serve;
pub mod show;
pub mod stat;
pub mod task;
