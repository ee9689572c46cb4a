//! Reports: a result for people and for programs.
//!
//! # Files
//! - `terminal`: tables, pictures and verdicts for a terminal
//! - `markdown`, `csv`, `json`, `html`: the same for a document, a program and a browser
//! - `junit`: the same as test cases; `cases`: a result as test programs
//! - `forms`: the same in other tools' formats
//! - `targets`: destinations of the reports
//! - `wording`: the sentences; `quantity`: the numbers; `text`: safe display of names
//! - `overview`: all workloads at a glance; `geomean`: one ratio per arm
//! - `sheet`: a page other than a run's result
//! - `outline`: lookups in a result; `finite`: removes non-finite numbers; `picture`: ministat's
#![forbid(unsafe_code)]

mod cases;
pub mod csv;
mod finite;
pub mod forms;
mod geomean;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub(crate) mod outline;
mod overview;
mod picture;
pub mod quantity;
pub mod sheet;
mod targets;
pub mod terminal;
pub mod text;
pub mod wording;

pub use finite::finite;
pub use forms::Form;
pub use targets::{Target, TargetError, Targets};
