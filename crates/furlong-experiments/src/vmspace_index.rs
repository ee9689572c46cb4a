//! `vmspace-index`: the areas of an address space in a tree of areas or a B-tree of ranges.
//!
//! Workloads on an index alone are generic over [`AreaIndex`], so that further arms can be added.
//! Recorded system calls and faults are replayed on whole spaces.
#![forbid(unsafe_code)]

mod calls;
mod driver;
mod index;
mod indexes;
mod layout;
mod ledger;
mod readers;
mod shape;
mod spaces;
#[cfg(test)]
mod tests;
mod trace;
mod work;

use indexes::{owned, rcu, shared_space, tree};

use furlong::maple::{Custom, Lines, Off, Standard, Tally, Wide};
use furlong::{rbtree, vmspace};
use furlong_spec::maple::Metered;

pub use driver::run;
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Request, Workload};
pub use index::{AreaIndex, Span};
use ledger::Tallied;
use owned::Owned;
use rcu::RcuIndex;
use readers::Locked;
pub use readers::{SharedIndex, time as run_readers};
use shape::{Kind, Shape};
pub use shape::{OnIndex, has_readers, on_index};
pub use shared_space::SharedSpace;
use tree::Tree;

const PLAN: &str = include_str!("../experiments/vmspace-index/plan.toml");

/// Builds the experiment.
#[must_use]
pub fn experiment() -> Experiment {
    let arm = |name, run| Arm {
        na: trace::missing,
        ..Arm::new(name, run)
    };
    let arms = vec![
        arm("rbtree", rbtree),
        arm("maple", maple),
        Arm {
            na: |load| without_readers(load).or_else(|| trace::missing(load)),
            ..Arm::new("maple-mut", maple_mut)
        },
    ];
    Experiment::compiled_in(PLAN, arms)
}

/// Refuses workloads with readers: a tree that changes in place has no readers beside its writer.
fn without_readers(load: &Workload) -> Option<String> {
    has_readers(load).then(|| "it does not support threads".to_owned())
}

/// Times the arm without counters, or counts without reading the clock.
fn rbtree(request: &Request) -> Result<Outcome, Failure> {
    type Space<K> = vmspace::Space<u32, vmspace::Custom<vmspace::Rbtree<K>>>;
    let exact = request.exact;
    match Shape::of(&request.workload)?.kind {
        Kind::Index(_) if exact => run::<Tree<rbtree::Tally>>(request),
        Kind::Index(_) => run::<Tree<rbtree::Off>>(request),
        Kind::Readers if exact => readers::count(&Locked::<rbtree::Tally>::new(), request),
        Kind::Readers => readers::time(&Locked::<rbtree::Off>::new(), request),
        _ if exact => spaces::count::<Space<rbtree::Tally>>(request),
        _ => spaces::time::<Space<rbtree::Off>>(request),
    }
}

/// The same. Nodes have cache lines of their own, as from a kernel's slab, if a writer changes them
/// beside readers.
fn maple(request: &Request) -> Result<Outcome, Failure> {
    let exact = request.exact;
    match Shape::of(&request.workload)?.kind {
        Kind::Index(_) if exact => run::<RcuIndex<Tallied>>(request),
        Kind::Index(_) => run::<RcuIndex<Standard>>(request),
        Kind::Readers if exact => readers::count(
            &RcuIndex::<Custom<Wide, Lines<Metered>, Tally>>::new(),
            request,
        ),
        Kind::Readers => readers::time(&RcuIndex::<Custom<Wide, Lines, Off>>::new(), request),
        _ if exact => spaces::count::<SharedSpace<Tallied>>(request),
        _ => spaces::time::<SharedSpace<Standard>>(request),
    }
}

/// The same.
fn maple_mut(request: &Request) -> Result<Outcome, Failure> {
    type Space<C> = vmspace::Space<u32, vmspace::Custom<vmspace::Maple<C>>>;
    let exact = request.exact;
    match Shape::of(&request.workload)?.kind {
        Kind::Index(_) if exact => run::<Owned<Tallied>>(request),
        Kind::Index(_) => run::<Owned<Standard>>(request),
        Kind::Readers => Err(Failure("it does not support threads".to_owned())),
        _ if exact => spaces::count::<Space<Tallied>>(request),
        _ => spaces::time::<Space<Standard>>(request),
    }
}
