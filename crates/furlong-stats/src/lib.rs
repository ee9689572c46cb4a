//! Statistics of benchmarks: pure functions from samples to tests, intervals and verdicts.
//!
//! # What it is
//! All computation between a process's values and the final verdict. Nothing here reads a clock, a
//! file or the environment: the same samples give the same result.
//!
//! # Words
//! - **block**: every arm and the control once, in a random order; the unit of replication.
//! - **control**: the baseline again, in the same block.
//! - **floor**: the difference that the control shows between the baseline and itself. It is shown;
//!   the verdict depends on the interval and the margin alone.
//! - **margin**: the smallest difference that matters; it is declared before the measurement.
//!
//! # Files
//! - [`value`]: the input and output values
//! - [`judge`](mod@judge): from a workload's samples to its verdicts
//! - [`comparison`]: one arm against the baseline in one metric; [`blocks`]: its differences
//! - [`verdict`]: the rule; [`paired`]: the p of its claims; [`control`]: the noise floor
//! - [`mod@geomean`]: several workloads as one ratio
//! - [`holm`]: several metrics or arms; [`nodes`]: several machines; [`layouts`]: several code
//!   layouts; [`exact`]: counts, compared without a test
//! - [`warnings`]: caveats about the samples, from [`drift`] and [`outliers`]
//! - [`describe`](mod@describe): ministat's summary of a sample, stable for values far from zero
//! - [`student`](mod@student), [`welch`](mod@welch): t tests on means, from values or moments
//! - [`rank`]: Mann-Whitney; [`shift`]: Hodges-Lehmann; [`sign_flip`]: randomisation; [`variance`]:
//!   Brown-Forsythe
//! - [`ratio`]: Fieller's interval
//! - [`stopping`]: rules for the number of blocks; [`sequential`]: interim looks; [`stein`]: an
//!   interval of a given width; [`budget`]: one time for a family
//! - [`change`]: changes of level in a history of runs
//! - [`attribution`](mod@attribution): the functions that a difference comes from
//! - [`flame`]: the call stacks of two runs, with the cost of each
//! - [`bisect`]: the commit that changed a figure
//! - [`promise`]: the verdict's guarantees, checked by [`simulation`]; [`family`]: those on pull
//!   requests; [`bisection`]: those on the search for a commit
//! - [`distribution`]: quantiles and tails of t, normal, chi-squared and F; [`random`]: seeded
//!   numbers
#![forbid(unsafe_code)]

pub mod attribution;
pub mod bisect;
pub mod blocks;
pub mod change;
pub mod comparison;
pub mod control;
mod descriptive;
pub mod exact;
mod families;
pub mod flame;
mod hypothesis;
pub mod judge;
mod numeric;
mod sample_size;
pub mod share;
mod validation;
pub mod value;
pub mod verdict;
pub mod warnings;

pub use descriptive::{describe, drift, outliers};
pub use families::{geomean, holm, layouts, nodes};
pub use hypothesis::{paired, rank, ratio, shift, sign_flip, student, variance, welch};
pub use numeric::{distribution, random};
pub use sample_size::{budget, sequential, stein, stopping};
pub use validation::{bisection, family, promise, simulation};

pub use describe::{Moments, describe};
pub use judge::{judge, judge_together};
pub use rank::mann_whitney;
pub use shift::hodges_lehmann;
pub use student::student;
pub use welch::welch;
