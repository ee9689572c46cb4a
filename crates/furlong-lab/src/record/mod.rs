//! What a run leaves behind.
//!
//! # Files
//!
//! - `measured.rs`: a finished block.
//! - `ledger.rs`: a run's result while it grows, and its copy in the store.
//! - `line.rs`: what a ledger is told, so that it can be told to another.
//! - `judged.rs`: the same with its verdicts.
//! - `store/`: the SQLite database.
//! - `machine.rs`: what the machine says of itself.
//! - `build.rs`: what this binary is.
//! - `place.rs`: where the user's data stands.
#![forbid(unsafe_code)]

pub mod build;
pub mod judged;
pub mod ledger;
pub mod line;
pub mod machine;
pub mod measured;
pub mod place;
pub mod store;
