//! The five documents that the systems come from: their figures, what a correct test says of them,
//! and what this machine measured.
//!
//! # Files
//!
//! - `documents.toml`: what the documents publish, and nothing else.
//! - `document.rs`: the same, read; `judgement.rs`: what a test says of a figure.
//! - `measured.rs`: what records say; `page.rs`: all three side by side; `figures.rs`: the same for
//!   programs.
#![forbid(unsafe_code)]

pub mod document;
pub mod figures;
pub mod judgement;
pub mod measured;
pub mod page;
