//! The device-address allocator: reservations under constraints in a small space, where every
//! place can be tried; and the spaces in which it is hard to find one.
//!
//! With an alignment or a boundary some policies promise only that they find a place wherever there
//! is one. So the model is a [`Judge`](crate::Judge): it allows what is promised, and goes on from
//! the place that was taken.
#![forbid(unsafe_code)]

mod geometry;
mod model;
mod operation;
mod places;
mod pruned;
mod ranges;
mod space;
pub mod spaces;
mod stream;
mod sweep;
mod trial;

pub use crate::mix::Mix;
pub use geometry::Geometry;
pub use model::{Model, Promise};
pub use operation::{Granted, Operation, Outcome, Place};
pub use space::SpaceSubject;
pub use stream::{all_operations, chosen, operations};
pub use sweep::{Questions, Swept, sequences};
pub use trial::{GEOMETRIES, Trial, trial, trial_of};
