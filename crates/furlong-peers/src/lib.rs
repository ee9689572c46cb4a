//! Other people's allocators of addresses and maps of ranges beside furlong's: held against the
//! same specification, and raced in the same experiments by the same command.
//!
//! README.md says what each of them offers and what tests found wrong with it. Their crates are
//! pinned and used nowhere else.
//!
//! # Files
//!
//! - `iova/`: the peers of [`furlong::iova`], and the arms that they are in its experiments.
//! - `malloc`: allocators to be preloaded.
//! - `vmspace/`: those of [`furlong::vmspace`].
#![forbid(unsafe_code)]

pub mod iova;
pub mod malloc;
pub mod vmspace;

use furlong_lab::experiments::{self, Experiment};

/// The lab's experiments, with the peers as further arms of those that they can be in.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    let mut experiments = experiments::all();
    for experiment in &mut experiments {
        let arms = match experiment.plan.name.as_str() {
            iova::EXPERIMENT => iova::arms(),
            malloc::EXPERIMENT => malloc::arms(),
            vmspace::EXPERIMENT => vmspace::arms(),
            _ => Vec::new(),
        };
        for arm in arms {
            experiment.plan.arms.push(arm.name.to_owned());
            experiment.arms.push(arm);
        }
    }
    experiments
}
