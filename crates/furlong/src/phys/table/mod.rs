//! The table of segments: the data that readers share, the rest under a lock, and the views of
//! both.
//!
//! - `segment_table`: the type. `entry`: the bookkeeping of segments; `order`: their order.
//! - `hold`, `writer`: access under the lock. `view`: access of readers.
//! - `state`: a table as data, saved and restored; `listing`: a table as text.
//! - `check`: the invariants.
#![deny(unsafe_code)]

pub(super) mod check;
pub(super) mod entry;
mod hold;
pub(super) mod listing;
pub(super) mod order;
pub(super) mod segment_table;
#[cfg(feature = "alloc")]
pub(super) mod state;
pub(super) mod view;
pub(super) mod writer;
