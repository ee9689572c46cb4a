//! Allocators: operations of several threads, a naive model of the live blocks, streams of
//! operations, racing threads, zones, and the library's allocator in every arm as a subject.

mod block;
mod coverage;
mod model;
mod operation;
mod pages;
mod parts;
mod places;
mod stream;
mod stress;
mod subject;
mod trial;
mod zones;

pub use block::Giver;
pub use model::Model;
pub use operation::{Operation, Outcome, THREADS};
pub use pages::Pages;
pub use parts::{Numbered, Parts};
pub use places::Places;
pub use stream::{chosen, operations};
pub use stress::{Stressed, stress};
pub use subject::Allocator;
pub use trial::{TRIALS, Trial};
pub use zones::{Zoned, zones};
