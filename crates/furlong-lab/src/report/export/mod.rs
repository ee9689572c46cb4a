//! A result as a document and as data.
//!
//! # Files
//! - `markdown.rs`: a document; `comment.rs`: many benchmarks for a pull request
//! - `csv.rs`, `json.rs`: data
//! - `junit.rs`: test cases
//! - `timings.rs`: the times of commands in hyperfine's formats

mod comment;
pub mod csv;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod timings;
