//! The pool of bounce buffers, tried under every rule in pools small enough to compare every slot
//! and every byte.
//!
//! The place of a run is specified exactly. Areas are searched in order; a search of an area begins
//! at the segment of the current CPU. The run goes to the first place that the rules allow. So the
//! tests compare model and subject directly, bytes included.

mod addresses;
mod machine;
mod model;
mod operation;
mod rules;
mod slots;
mod stream;
#[cfg(feature = "trials")]
mod stress;
mod subject;
#[cfg(feature = "trials")]
mod trial;
mod world;

pub use crate::mix::Mix;
pub use addresses::Addresses;
pub use machine::{Machine, RAM, Refusal};
pub use model::Model;
pub use operation::{Operation, Outcome, Side};
pub use rules::{Rules, longest};
pub use stream::{chosen, operations};
#[cfg(feature = "trials")]
pub use stress::{Stressed, stress};
pub use subject::{PoolSubject, SmallLockFree, SmallLocked, TestCpu, Tried};
#[cfg(feature = "trials")]
pub use trial::{devices, trial, world};
pub use world::{Path, World, digest};
