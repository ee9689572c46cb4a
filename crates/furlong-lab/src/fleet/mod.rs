//! A run that several machines share. Slurm gives each task a node of its own. A task is a block of
//! every workload with all its arms, and any parts that arrive can be merged.
//!
//! # Words
//!
//! - *Node*: a machine of the fleet, by its name in Slurm.
//! - *Step*: the work of one task: the preparation (counts, calibrations) or all blocks of a
//!   number.
//! - *Order*: the schedule and the run, written once before anything is submitted.
//! - *Part*: the results of a step, in a separate file; *stint*: one process that worked at a step.
//! - *Missing*: a step without a whole part that no task works at any more.
//!
//! # Invariants
//!
//! - I1: all arms of a block ran on one node, so that effects of the node cancel.
//! - I2: a part is written under another name first, so that a reader finds a whole part or none.
//! - I3: the result has exactly the samples of the parts.
//! - I4: a finished block is never measured again, however often its task runs.
//!
//! # Files
//!
//! - `files/`: the files of a fleet's directory, and their paths.
//! - `step.rs`: the steps and their names.
//! - `work.rs`: one task, on its node.
//! - `slurm.rs`: calls of Slurm's programs; `slurm_parse.rs`: parsing of their output.
//! - `awaited.rs`: a task whose output decides what comes next.
//! - `gather.rs`: from parts to a ledger; `machine.rs`: common properties of the nodes.
//! - `wait.rs`: from submitting to the last part; `missing.rs`: the missing steps.
//! - `options.rs`: the command's options for a fleet.

mod awaited;
mod files;
mod gather;
mod machine;
mod missing;
pub mod options;
mod slurm;
pub mod slurm_parse;
pub mod step;
mod wait;
pub mod work;

use files::dir;
pub use files::{order, part};

pub use awaited::Awaited;
pub use dir::Dir;
pub use options::{Nodes, On, Where, submit};
pub use wait::{Patience, collect};
