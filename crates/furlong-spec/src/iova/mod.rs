//! The device-address allocator. The tests reserve under constraints in small spaces, where a model
//! can try every place.
//!
//! With an alignment or a boundary, some policies promise only to find a place if one exists. So
//! the model is a [`Judge`](crate::Judge): it accepts every promised outcome, and continues from
//! the place that the subject took.
#![forbid(unsafe_code)]

mod geometry;
mod model;
mod operation;
mod places;
mod ranges;
mod space;
mod stream;
mod sweep;
#[cfg(feature = "trials")]
mod trial;

pub use crate::mix::Mix;
pub use geometry::Geometry;
pub use model::{Model, Promise};
pub use operation::{Granted, Operation, Outcome, Place};
pub use space::SpaceSubject;
pub use stream::{all_operations, chosen, operations};
pub use sweep::{Questions, Swept, sequences};
#[cfg(feature = "trials")]
pub use trial::{GEOMETRIES, trial, trial_of};
