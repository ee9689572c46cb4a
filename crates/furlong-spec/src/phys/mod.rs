//! Tables of physical segments: the operations, a naive model with a sorted list and a map of
//! frames, streams of operations, and the library's table in every arm.

mod ground;
mod list;
mod model;
mod operation;
#[cfg(feature = "trials")]
pub mod race;
mod sequences;
mod stream;
mod table;
#[cfg(feature = "trials")]
mod trial;

pub use list::SortedList;
pub use model::Model;
pub use operation::{HELD, Name, Operation, Outcome, Refusal, Shown};
pub use sequences::Small;
pub use stream::{Mix, chosen, mixed_operations, operations};
pub use table::{Page, TableSubject};
#[cfg(feature = "trials")]
pub use trial::TRIALS;
