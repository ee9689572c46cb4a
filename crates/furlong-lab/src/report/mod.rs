//! Reports: a result for people and for programs.
//!
//! # Files
//! - `terminal`: tables, pictures and verdicts for a terminal
//! - `html`: the same for a browser
//! - `export`: the same as a document and as data
//! - `targets`: destinations of the reports
//! - `wording`: the sentences; `told`: those about two commands
//! - `quantity`: the numbers; `text`: safe display of names
//! - `overview`: all workloads at a glance; `geomean`: one ratio per arm
//! - `sheet`: a page other than a run's result
//! - `family`: the answer to many benchmarks; `causes`: the functions behind a difference
//! - `outline`: lookups in a result; `finite`: removes non-finite numbers; `picture`: ministat's

pub(crate) mod causes;
pub mod export;
mod family;
mod finite;
mod geomean;
pub mod html;
pub(crate) mod outline;
mod overview;
mod picture;
pub mod quantity;
pub mod sheet;
mod targets;
pub mod terminal;
pub mod text;
mod told;
pub mod wording;

pub use export::timings::RowOrder;
pub use export::{csv, json, junit, markdown};
pub use finite::finite;
pub use quantity::TimeUnit;
pub use targets::{Exports, Target, Targets};
