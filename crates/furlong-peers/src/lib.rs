//! Other people's trees, indexes and allocators beside furlong's: checked against the same
//! specification, and measured in the same experiments by the same command.
//!
//! README.md describes each of them and the faults that tests found. Their crates are pinned and
//! used nowhere else. Linux's structures come from the user's own machine.
//!
//! # Files
//!
//! - `bounce/`: the peers of [`furlong::bounce`], and their arms in its experiments.
//! - `iova/`: those of [`furlong::iova`].
//! - `linux/`: Linux's own structures, which the user builds.
//! - `malloc`: allocators that are preloaded.
//! - `phys/`: those of [`furlong::phys`].
//! - `tree/`: those of [`furlong::rbtree`].
//! - `vmspace/`: those of [`furlong::vmspace`].
#![deny(unsafe_code)]

pub mod bounce;
pub mod iova;
pub mod linux;
pub mod malloc;
pub mod phys;
pub mod tree;
pub mod vmspace;

use furlong_lab::model::{Arm, ArmFn, Experiment, Workload};

/// The lab's experiments, with the peers as further arms.
#[must_use]
pub fn experiments() -> Vec<Experiment> {
    let mut experiments = furlong_experiments::all();
    for experiment in &mut experiments {
        let name = experiment.plan.name.as_str();
        let linux = linux::arms(name);
        if !linux.is_empty() {
            experiment.files = linux::files;
        }
        let arms = match name {
            bounce::EXPERIMENT => bounce::arms(),
            iova::EXPERIMENT => iova::arms(),
            malloc::EXPERIMENT => malloc::arms(),
            phys::EXPERIMENT => phys::arms(),
            tree::EXPERIMENT => tree::arms(),
            vmspace::EXPERIMENT => vmspace::arms(),
            _ => Vec::new(),
        };
        for arm in arms.into_iter().chain(linux) {
            experiment.plan.arms.push(arm.name.to_owned());
            experiment.arms.push(arm);
        }
    }
    experiments
}

/// An arm that counts no exact metric.
fn arm(name: &'static str, run: ArmFn, na: fn(&Workload) -> Option<String>) -> Arm {
    Arm {
        na,
        counts: false,
        ..Arm::new(name, run)
    }
}
