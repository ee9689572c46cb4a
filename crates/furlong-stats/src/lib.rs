//! Statistics of benchmarks: pure functions from samples to tests, intervals and verdicts.
//!
//! # What it is
//! All computation between a process's values and the final verdict. Nothing here reads a clock, a
//! file or the environment: the same samples give the same result.
//!
//! # Words
//! - **block**: every arm and the control once, in a random order; the unit of replication.
//! - **control**: the baseline again, in the same block.
//! - **floor**: the difference that the control shows between the baseline and itself.
//! - **margin**: the smallest difference that matters; it is declared before the measurement.
//!
//! # Files
//! - [`value`]: the input and output values
//! - [`judge`](mod@judge): from a workload's samples to its verdicts
//! - [`comparison`]: one arm against the baseline in one metric; [`blocks`]: its differences
//! - [`verdict`]: the rule; [`paired`]: the p of its claims; [`control`]: the noise floor
//! - [`mod@geomean`]: several workloads as one ratio
//! - [`holm`]: several metrics or arms; [`nodes`]: several machines; [`exact`]: counts, compared
//!   without a test
//! - [`warnings`]: caveats about the samples, from [`drift`] and [`outliers`]
//! - [`describe`](mod@describe): ministat's summary of a sample, stable for values far from zero
//! - [`student`](mod@student), [`welch`](mod@welch): t tests on means, from values or moments
//! - [`rank`]: Mann-Whitney; [`shift`]: Hodges-Lehmann; [`sign_flip`]: randomisation; [`variance`]:
//!   Brown-Forsythe
//! - [`ratio`]: Fieller and effect sizes; [`bootstrap`]: intervals without a formula
//! - [`stopping`]: rules for the number of blocks; [`sequential`]: interim looks; [`stein`]: an
//!   interval of a given width
//! - [`change`]: changes of level in a history of runs
//! - [`promise`]: the verdict's guarantees, checked by [`simulation`]
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
