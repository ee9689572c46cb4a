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
//! - [`value`]: the values that go in and come out
//! - [`judge`](mod@judge): a workload with samples goes in and comes out judged
//! - [`comparison`]: one arm against the baseline in one metric; [`blocks`]: its differences
//! - [`verdict`]: the rule; [`paired`]: the odds of its claims; [`control`]: the noise floor
//! - [`mod@geomean`]: several workloads as one ratio
//! - [`holm`]: several metrics or arms; [`nodes`]: several machines; [`exact`]: counts, compared
//!   without a test
//! - [`warnings`]: what a person should know first, from [`drift`] and [`outliers`]
//! - [`describe`](mod@describe): what ministat prints of a sample, stable for values far from zero
//! - [`student`](mod@student), [`welch`](mod@welch): t tests on means, from values or moments
//! - [`rank`]: Mann-Whitney; [`shift`]: Hodges-Lehmann; [`sign_flip`]: randomisation;
//!   [`variance`]: Brown-Forsythe
//! - [`ratio`]: Fieller and effect sizes; [`bootstrap`]: intervals without a formula
//! - [`stopping`]: when a workload has had enough; [`sequential`]: looking before the end;
//!   [`stein`]: an interval of a wanted width
//! - [`change`]: where a history of runs changed its level
//! - [`promise`]: what the verdict promises, checked by [`simulation`]
//! - [`distribution`]: quantiles and tails of t, normal, chi-squared and F; [`random`]: seeded
//!   numbers
#![forbid(unsafe_code)]

pub mod blocks;
pub mod bootstrap;
pub mod change;
pub mod comparison;
pub mod control;
pub mod describe;
pub mod distribution;
pub mod drift;
pub mod exact;
pub mod geomean;
pub mod holm;
pub mod judge;
#[cfg(test)]
mod judge_tests;
pub mod nodes;
pub mod outliers;
pub mod paired;
pub mod promise;
pub mod random;
pub mod rank;
pub mod ratio;
pub mod sequential;
pub mod share;
pub mod shift;
pub mod sign_flip;
pub mod simulation;
pub mod stein;
pub mod stopping;
pub mod student;
pub mod value;
pub mod variance;
pub mod verdict;
pub mod warnings;
pub mod welch;

pub use describe::{Moments, describe};
pub use judge::judge;
pub use rank::mann_whitney;
pub use shift::hodges_lehmann;
pub use student::student;
pub use welch::{welch, welch_interval};
