//! A result as a document and as data.
//!
//! # Files
//! - `markdown.rs`: a document
//! - `csv.rs`, `json.rs`: data
//! - `junit.rs`: test cases; `cases.rs`: a result as test programs
#![forbid(unsafe_code)]

pub(crate) mod cases;
pub mod csv;
pub mod json;
pub mod junit;
pub mod markdown;
