//! The commit that changed a figure: a search in a range of commits, by samples with noise.
//!
//! # What it is
//! Bayes' rule over hypotheses: no step, one step at any commit, or two steps. Levels, noise, drift
//! of the machine and the size of build effects are learned from the samples. The next commit to
//! measure is the one from which most is learned in a second, its build counted.
//!
//! # Words
//! - **range**: the commits after a first one, numbered from 1; the last one is compared first.
//! - **block**: a sample of the first commit and two of another, side by side in random order.
//! - **step**: a lasting change of level at one commit.
//! - **build effect**: a difference of one build without a cause in its source, such as its layout
//!   in memory. More samples of the same build do not remove it.
//! - **span**: commits that the measured ones do not tell apart: from behind one to the next.
//!
//! # Files
//! - `search.rs`: the blocks of a range, and the rules of the search
//! - `drift.rs`: levels of commits from blocks, beside a machine that drifts; `spikes.rs`: samples
//!   that count less
//! - `belief.rs`: the probabilities of the hypotheses; `evidence.rs`: how well one fits
//! - `choice.rs`: the commit to measure next

mod belief;
mod choice;
mod drift;
mod evidence;
mod search;
mod spikes;

pub use belief::{Belief, Candidate, Change};
pub use choice::{Cost, Next};
pub use search::{PILOT, Search, State};

#[cfg(test)]
mod tests;
