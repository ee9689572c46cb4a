//! Maps from extents to entries: a list that is searched from its start, the library's tree,
//! streams of operations for both, and a heap that counts the trees' bytes.
#![deny(unsafe_code)]

mod metered;
mod model;
mod operation;
#[cfg(feature = "trials")]
pub mod race;
mod shared;
mod stream;
mod tree;

pub use crate::mix::Mix;
pub use metered::Metered;
pub use model::Model;
pub use operation::{Operation, Outcome, Piece, Refusal};
pub use shared::{RCU, SharedTree};
pub use stream::{chosen, operations};
pub use tree::{Tree, Value};
