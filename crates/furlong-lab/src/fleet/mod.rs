//! A run that several machines share: Slurm gives each task a node to itself, a task is a block of
//! every workload with all its arms, and whatever of it arrived can be merged.
//!
//! # Words
//!
//! - *Node*: a machine of the fleet, by the name that Slurm has for it.
//! - *Step*: what one task does: the preparation (counts, calibrations) or all blocks of a number.
//! - *Order*: what is run and for which run, written once before anything is submitted.
//! - *Part*: what a step found, a file of its own; *stint*: one process that worked at a step.
//! - *Missing*: a step without a whole part that no task works at any more.
//!
//! # Invariants
//!
//! - I1: all arms of a block ran on one node: what a node adds to all of them cancels.
//! - I2: a part is written whole under another name first; what is read is a whole part or none.
//! - I3: what is in the parts is in the result, sample by sample, and nothing else is.
//! - I4: a finished block is never measured again, however often its task is.
//!
//! # Files
//!
//! - `order.rs`, `part.rs`: the files of a fleet's directory; `dir.rs`: where they are.
//! - `step.rs`: the steps and their names.
//! - `work.rs`: one task, on its node.
//! - `slurm.rs`: what Slurm is told and what it says; `words.rs`: its programs' output.
//! - `gather.rs`: from parts to a ledger; `machine.rs`: what the nodes have in common.
//! - `wait.rs`: from submitting to the last part; `missing.rs`: what did not come.
//! - `options.rs`: the command's options for all this.
#![forbid(unsafe_code)]

mod dir;
mod gather;
mod machine;
mod missing;
pub mod options;
pub mod order;
pub mod part;
mod slurm;
pub mod step;
mod wait;
pub mod words;
pub mod work;

pub use dir::Dir;
pub use options::{On, Where, submit};
pub use wait::{Patience, collect};
