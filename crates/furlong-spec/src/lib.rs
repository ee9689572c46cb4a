//! The executable specification of furlong. For each structure it has the operations and their
//! outcomes, a naive model, streams of operations from a seed, and a comparison of any two
//! subjects, operation by operation.
//!
//! A [`Subject`] is anything that carries out the operations: the model, an arm, or another
//! implementation. Tests compare two subjects; the lab measures one.
#![deny(unsafe_code)]

pub mod bounce;
pub mod choices;
pub mod compare;
#[cfg(any(feature = "trials", target_os = "linux"))]
mod counts;
pub mod coverage;
pub mod cpu;
mod fault;
#[cfg(feature = "trials")]
pub mod fuzz;
pub mod heap;
pub mod hostile;
pub mod iova;
mod long_run;
#[cfg(target_os = "linux")]
pub mod malloc;
pub mod maple;
mod mix;
pub mod phys;
pub mod phys_map;
#[cfg(feature = "trials")]
mod race;
pub mod random;
pub mod subject;
pub mod tree;
#[cfg(feature = "trials")]
mod trial;
pub mod vmspace;

pub use choices::{Bytes, Choices};
pub use compare::{Divergence, Judge, compare, every_sequence, judge};
pub use coverage::Coverage;
pub use cpu::ThreadCpu;
pub use fault::Located;
pub use long_run::long_run;
pub use random::Random;
pub use subject::{Subject, Through};
#[cfg(feature = "trials")]
pub use trial::{Trial, try_out};
