//! A result as a person or a program reads it.
//!
//! # Files
//! - `terminal`: tables, pictures and verdicts for a terminal
//! - `markdown`, `csv`, `json`, `html`: the same for a document, a program and a browser
//! - `junit`: the same as test cases; `cases`: a result as test programs
//! - `forms`: the same as other tools print it
//! - `targets`: where the reports go
//! - `wording`: the sentences; `quantity`: the numbers; `text`: what names may do
//! - `overview`: all workloads at a glance; `geomean`: in one ratio an arm
//! - `sheet`: a page that is no run's result
//! - `outline`: lookups in a result; `finite`: keeps what is no number out; `picture`: ministat's
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
