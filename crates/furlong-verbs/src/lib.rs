//! The verbs of the command `furlong` about memory systems: they record programs, replay
//! recordings, and compare the figures of published documents with this machine's.
//!
//! # Files
//! - `cmd/`: the verbs `record`, `replay`, `malloc`, `seeds` and `peers`, a file each
//! - `recorder/`: records traces of real programs; `replay/`: replays them on subjects
//! - `prescribe/`: recommends an allocator to a program
//! - `seeds/`: the figures of the documents that the systems come from
//! - `malloc-record/` beside this folder: the library that is loaded into a recorded program
#![forbid(unsafe_code)]

pub mod cmd;
pub mod prescribe;
pub mod recorder;
pub mod replay;
pub mod seeds;

pub use cmd::Verb;
