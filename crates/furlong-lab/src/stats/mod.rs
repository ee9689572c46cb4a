//! Statistics: samples in, tests, intervals and the verdict out. Pure functions.
//!
//! # What it is
//! Everything between the values that processes gave and the word that a person reads. Nothing in
//! here reads a clock, a file or the environment: the same samples give the same result.
//!
//! # Words
//! - **block**: every arm and the control once, in a random order; the unit that is replicated.
//! - **control**: the baseline again, in the same block.
//! - **floor**: how large a difference the control shows between the baseline and itself.
//! - **margin**: how large a difference has to be to matter; declared before measuring.
//!
//! # Files
//! - [`distribution`]: quantiles and tails of t, normal, chi-squared and F
//! - [`describe`]: what ministat prints of a sample, stable for values far from zero
//! - [`student`], [`welch`]: the two t tests on means, from values or from moments
//! - [`rank`]: Mann-Whitney; [`shift`]: Hodges-Lehmann
#![forbid(unsafe_code)]

pub mod describe;
pub mod distribution;
pub mod rank;
pub mod shift;
pub mod student;
pub mod welch;

pub use describe::{Moments, describe};
pub use rank::mann_whitney;
pub use shift::hodges_lehmann;
pub use student::student;
pub use welch::{welch, welch_interval};
