//! Tables of physical segments: the operations, a naive model with a sorted list and a map of
//! frames, streams of operations, and the library's table in every arm as a subject.
#![forbid(unsafe_code)]

mod model;
mod operation;
mod stream;
mod table;

pub use model::Model;
pub use operation::{HELD, Name, Operation, Outcome, Refusal, Shown};
pub use stream::operations;
pub use table::{Page, TableSubject};
