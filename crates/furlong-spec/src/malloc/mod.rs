//! Allocators: operations of several threads, a naive model of the live blocks, streams of
//! operations, racing threads, zones, and the library's allocator in every arm as a subject.

mod block;
#[cfg(feature = "trials")]
mod coverage;
mod model;
mod operation;
mod pages;
mod parts;
mod places;
mod small;
mod small_subject;
mod stream;
#[cfg(feature = "trials")]
mod stress;
mod subject;
#[cfg(feature = "trials")]
mod trial;
mod zones;

pub use block::Giver;
pub use model::Model;
pub use operation::{Operation, Outcome, THREADS};
pub use pages::Pages;
pub use parts::{Numbered, Parts};
pub use places::Places;
pub use small::{SmallModel, SmallOperation, SmallOutcome, small_operations};
pub use small_subject::SmallAllocator;
pub use stream::{chosen, operations};
#[cfg(feature = "trials")]
pub use stress::{Stressed, stress};
pub use subject::Allocator;
#[cfg(feature = "trials")]
pub use trial::TRIALS;
pub use zones::{Zoned, zones};
