//! Files of numbers compared: what ministat does, byte for byte or corrected.
//!
//! # What it is
//! FreeBSD's ministat is the tool by which the field compares two files of measurements. This
//! module reads what it reads and prints what it prints; and it draws the same picture without its
//! defects, with the tests that ministat lacks.
//!
//! # Words
//! - **set**: the values of one file; the first set is the base that the others are compared with.
//! - **classic**: exactly as Debian's ministat 20150715, defects included.
//! - **stack**: values of one set that fall into the same column of the picture.
//!
//! # Files
//! - [`input`]: files to sets; `scanner`: bytes to values, a stream; [`fault`]: what can be wrong
//! - [`foreign`]: what other tools write, as sets; `source`: both kinds of files
//! - [`number`]: words to numbers as `strtod` has them
//! - [`options`]: the values of ministat's options
//! - [`picture`]: the dot plot, corrected or classic
//! - [`classic`]: ministat's output; [`general`]: numbers as `%g` prints them
//! - [`report`]: more and better, as text and as data; [`comparison`]: one set against the base;
//!   `remark`: what to know before believing it
//!
//! # Sources
//! Behaviour of Debian's `ministat 20150715-1+b1`, found by running it.
#![forbid(unsafe_code)]

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
mod scanner;
pub mod source;

pub use classic::Classic;
pub use input::{InputError, Reading, Set};
pub use picture::Picture;
pub use report::Report;
