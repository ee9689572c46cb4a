//! `phys-lookup`: finding a frame's descriptor by an array, a tree or tables.
#![forbid(unsafe_code)]

mod driver;
mod figures;
mod index;
mod layout;
mod lookup_arm;
mod page;
mod queries;
mod race;
mod random;
mod shape;
mod source;
#[cfg(test)]
mod tests;

use furlong::phys::{Array, Branchless, Direct, Flat, Tree};

use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request, Workload};
pub use index::{SegmentIndex, index_limit, run_index};
use lookup_arm::{LookupArm, Table};
use page::{Narrow, Wide};
use shape::{Kind, Shape};

const PLAN: &str = include_str!("../experiments/phys-lookup/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arms = vec![
        arm::<Array>("array"),
        arm::<Branchless>("array-branchless"),
        arm::<Tree>("rbtree"),
        arm::<Direct>("direct"),
        arm::<Flat>("flat"),
    ];
    Experiment::compiled_in(PLAN, arms)
}

fn arm<L: LookupArm>(name: &'static str) -> Arm
where
    Table<Wide, L>: Sync,
{
    Arm {
        na: limit::<L>,
        ..Arm::new(name, run::<L>)
    }
}

fn run<L: LookupArm>(request: &Request) -> Result<Outcome, Failure>
where
    Table<Wide, L>: Sync,
{
    let shape = Shape::of(&request.workload)?;
    match shape.kind {
        Kind::Fleet | Kind::Maps | Kind::Map(_) => driver::run::<L, Narrow>(&shape, request),
        Kind::Race(beside) => race::run::<L>(&shape, beside, request),
        _ => driver::run::<L, Wide>(&shape, request),
    }
}

/// The reason if the arm cannot run a workload, otherwise `None`. A faulty workload is reported
/// when it runs.
fn limit<L: LookupArm>(workload: &Workload) -> Option<String> {
    let layouts = Shape::of(workload).ok()?.layouts(0).ok()?;
    let segments = layouts.iter().map(|layout| layout.segments().len()).max()?;
    let top = layouts.iter().map(layout::Layout::top).max()?;
    if segments > L::SEGMENTS_MAX {
        return Some(format!("supports at most {} segments", L::SEGMENTS_MAX));
    }
    let gib_max = L::FRAMES_MAX >> (30 - layout::PAGE_BITS);
    (top > L::FRAMES_MAX).then(|| format!("supports frames below {gib_max} GiB only"))
}
