//! The pool of bounce buffers: maps under every rule in pools so small that every slot and every
//! byte can be watched.
//!
//! Where a run lies is promised exactly: the first place that the rules allow, from the segment on
//! with which the CPU begins in an area, in the first area that has one. So model and subject are
//! simply compared, bytes included.

mod addresses;
mod machine;
mod model;
mod operation;
mod rules;
mod slots;
mod stream;
mod stress;
mod subject;
mod trial;
mod world;

pub use crate::mix::Mix;
pub use addresses::Addresses;
pub use machine::{Machine, RAM, Refusal};
pub use model::Model;
pub use operation::{Operation, Outcome, Side};
pub use rules::{Rules, longest};
pub use stream::{chosen, operations};
pub use stress::{Stressed, ThreadCpu, stress};
pub use subject::{PoolSubject, SmallLockFree, SmallLocked, TestCpu, Tried};
pub use trial::{Trial, devices, trial, world};
pub use world::{Path, World, digest};
