//! Measuring: the schedule of a run, and the processes that execute it.
//!
//! An [`Agenda`](crate::model::Agenda) is decided before anything is measured. A [`Campaign`] works
//! through it block by block; each sample is a process that a [`Sampler`] runs, one at a time.
//! Results go to the [`Ledger`](crate::record::ledger::Ledger) after every step, so that an end at
//! any moment loses no finished block.
//!
//! # Files
//!
//! - `select.rs`: from the command line's names to an agenda.
//! - `deal.rs`: a block's order, input and padding, from the seed.
//! - `sampler.rs`: the interface between the schedule and the processes.
//! - `process.rs`: one process per sample.
//! - `calibrate.rs`: the number of operations for a sample of the wanted length.
//! - `exact.rs`: the pass that counts instead of timing.
//! - `campaign.rs`: the schedule; `ending.rs`: the end of a workload.
//! - `counters.rs`: the requested counters; `pmu.rs`: those of processor and kernel.
//! - `interrupt.rs`: Ctrl-C, which ends the block and keeps the record.
//! - `progress.rs`: the progress bar.
//! - `words.rs`, `command.rs`: a user's command, prepared to run.
//! - `launcher.rs`, `finished.rs`: runs a command, and the resources that it used.
//! - `contest.rs`: commands as arms; `parameter.rs`: sweeps over them.
//! - `output.rs`, `pattern.rs`: figures in the output of commands.
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
