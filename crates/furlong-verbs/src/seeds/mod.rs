//! The five documents that the systems come from: their figures, correct tests of them, and this
//! machine's measurements.
//!
//! # Files
//!
//! - `documents.toml`: the documents' published figures, and nothing else.
//! - `document.rs`: the same, parsed; `judgement.rs`: tests of the figures.
//! - `measured.rs`: measurements in records; `page.rs`: all three side by side; `figures.rs`: the
//!   same for programs.

pub mod document;
pub mod figures;
pub mod judgement;
pub mod measured;
pub mod page;
