//! Measuring: the schedule of a run, and the processes that execute it.
//!
//! A [`Schedule`](crate::model::Schedule) is decided before anything is measured. A [`Campaign`]
//! works through it block by block; each sample is a process that a [`Sampler`] runs, one at a
//! time. Results go to the [`Ledger`](crate::record::ledger::Ledger) after every step, so that an
//! end at any moment loses no finished block.
//!
//! # Files
//!
//! - `select.rs`: from the command line's names to a schedule.
//! - `block_order.rs`: a block's order, input and padding, from the seed.
//! - `sampler.rs`: the interface between the campaign and the processes.
//! - `process.rs`: one process per sample.
//! - `campaign.rs`: the work of a schedule; `exact.rs` in it: the pass that counts instead of
//!   timing; `ending.rs` in it: the end of a workload.
//! - `launch`: other programs, run and measured.
//! - `commands`: a user's commands as arms.
//! - `benchmarks.rs`: benchmarks of `cargo bench` as workloads.
//! - `layouts.rs`: the place of a checkout's code layouts.
//! - `counters.rs`: the requested counters; `instructions.rs`: instructions as a metric.
//! - `interrupt.rs`: Ctrl-C, which ends the block and keeps the record.
//! - `progress.rs`: the progress bar.

pub mod benchmarks;
pub mod block_order;
pub mod campaign;
pub mod commands;
pub mod counters;
pub mod instructions;
pub mod interrupt;
pub mod launch;
pub mod layouts;
pub mod process;
pub mod progress;
pub mod sampler;
pub mod select;

pub use campaign::{Campaign, End};
pub use sampler::{Job, SampleError, Sampler};
