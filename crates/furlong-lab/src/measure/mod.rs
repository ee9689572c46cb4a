//! Measuring: what a run will do, in which order, and the processes that do it.
//!
//! An [`Agenda`](crate::model::Agenda) is decided before anything is measured. A [`Campaign`]
//! works through it block by block; each sample is a process that a [`Sampler`] runs, one at a
//! time. What comes out goes to the [`Ledger`](crate::record::ledger::Ledger) after every step, so
//! that an end at any moment loses no finished block.
//!
//! # Files
//!
//! - `select.rs`: from the command line's names to an agenda.
//! - `deal.rs`: a block's order, input and padding, from the seed.
//! - `sampler.rs`: the seam between the schedule and the processes.
//! - `process.rs`: one sample, one process.
//! - `calibrate.rs`: how many operations make a sample of the wanted length.
//! - `exact.rs`: the pass that counts instead of timing.
//! - `campaign.rs`: the schedule; `ending.rs`: when a workload has had enough.
//! - `counters.rs`: which counters were asked for; `pmu.rs`: those of processor and kernel.
//! - `interrupt.rs`: Ctrl-C ends the block, not the record.
//! - `progress.rs`: the bar.
//! - `words.rs`, `command.rs`: a user's command, made ready to run.
//! - `launcher.rs`, `finished.rs`: runs a command, and what it took.
//! - `contest.rs`: commands as arms; `parameter.rs`: sweeps over them.
//! - `output.rs`, `pattern.rs`: figures in what commands print.
//! - `callgrind.rs`, `instructions.rs`: instructions as a metric.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod callgrind;
pub mod campaign;
pub mod command;
pub mod contest;
pub mod counters;
pub mod deal;
mod ending;
pub mod exact;
pub mod finished;
pub mod instructions;
pub mod interrupt;
pub mod launcher;
mod output;
pub mod parameter;
pub mod pattern;
pub mod pmu;
pub mod process;
pub mod progress;
pub mod sampler;
pub mod select;
pub mod words;

pub use campaign::{Campaign, End};
pub use sampler::{Job, Miss, Sampler};
