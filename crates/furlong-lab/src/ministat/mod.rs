//! Comparison of files of numbers: ministat, byte for byte or corrected.
//!
//! # What it is
//! FreeBSD's ministat is the usual tool to compare two files of measurements. This module accepts
//! its input and prints its output. It also draws the same picture without its defects, and adds
//! the tests that ministat lacks.
//!
//! # Words
//! - **set**: the values of one file. The first set is the base of every comparison.
//! - **classic**: exactly as Debian's ministat 20150715, defects included.
//! - **stack**: values of one set in the same column of the picture.
//!
//! # Files
//! - [`input`]: files to sets, as a stream; [`fault`]: errors in a file
//! - [`foreign`]: other tools' output as sets; `source`: both kinds of files
//! - [`options`]: the values of ministat's options
//! - [`picture`]: the dot plot, corrected or classic
//! - [`classic`]: ministat's output
//! - [`number`]: words to numbers, as in `strtod`; [`general`]: numbers as `%g` prints them
//! - [`report`]: the full report, as text and as data; [`comparison`]: one set against the base;
//!   `remark`: caveats
//!
//! # Sources
//! Behaviour of Debian's `ministat 20150715-1+b1`, determined by experiment.

pub mod classic;
pub mod comparison;
pub mod fault;
pub mod foreign;
pub mod general;
pub mod input;
pub mod number;
pub mod options;
pub mod picture;
mod remark;
pub mod report;
pub mod source;

pub use classic::Classic;
pub use input::{Reading, Set};
pub use picture::Picture;
pub use report::Report;
