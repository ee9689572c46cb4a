//! The address space: a naive model with one entry for each page, operations from a seed, and the
//! replay of recorded programs.
//!
//! # Files
//! - `operation`: operations and outcomes; `space`: the library's space as a subject.
//! - `model`, `gaps`, `moves`: the naive model.
//! - `world`: small spaces; `stream`: operations from a seed; `sweep`: all short sequences.
//! - `trial`: every arm compared with the model; `coverage`: counts of outcomes.
//! - `race`: lock-free look-ups concurrent with a writer, compared with an oracle of versions.
//! - `trace`: recordings of real programs, and their replay.
#![forbid(unsafe_code)]

#[cfg(feature = "trials")]
mod coverage;
mod gaps;
mod model;
mod moves;
mod operation;
#[cfg(feature = "trials")]
pub mod race;
mod ranges;
mod space;
mod stream;
pub mod trace;
#[cfg(feature = "trials")]
mod trial;
mod world;

pub use crate::mix::Mix;
#[cfg(feature = "trials")]
pub use coverage::NO_MEMORY;
pub use model::Model;
pub use operation::{Gone, Operation, Outcome, Refusal, Seen};
pub use space::{Kept, SharedSubject, SpaceSubject};
pub use stream::{chosen, operations};
#[cfg(feature = "trials")]
pub use trial::TRIALS;
pub use world::{WORLDS, World};
