//! Other people's allocators of addresses beside furlong's: held against the same specification,
//! and raced in the same experiments by the same command.
//!
//! README.md says what each of them offers and what tests found wrong with it. Their crates are
//! pinned and used nowhere else.
//!
//! # Files
//!
//! - `iova/`: the peers of [`furlong::iova`], and the arms that they are in its experiments.
#![forbid(unsafe_code)]

pub mod iova;

use furlong_lab::experiments::{self, Experiment};

/// The lab's experiments, with the peers as further arms of those that they can be in.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    let mut experiments = experiments::all();
    for experiment in &mut experiments {
        if experiment.plan.name == iova::EXPERIMENT {
            for arm in iova::arms() {
                experiment.plan.arms.push(arm.name.to_owned());
                experiment.arms.push(arm);
            }
        }
    }
    experiments
}
