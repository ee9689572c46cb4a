//! Linux's structures as arms of the experiments.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use furlong_experiments::ordered::{self, ByKey};
use furlong_experiments::vmspace_index::{self, AreaIndex as _, on_index, run_readers};
use furlong_experiments::{iova_gap, iova_magazine};
use furlong_lab::model::{Arm, ArmFn, Failure, Outcome, Request, Workload};

use super::iova::{Magazines, Nothing, Paged, SharedDomain, Straight, Turned};
use super::library::{is_there, library};
use super::maple::{Access, Areas, Owned, Shared};
use super::place;
use super::rbtree::{Bare, Knowledge, Nodes, Summed};

/// The reason that is shown if the library is missing.
pub const MISSING: &str = "furlong peers linux builds it";

/// The arms of an experiment; none if Linux has no structure for it.
#[must_use]
pub fn arms(experiment: &str) -> Vec<Arm> {
    match experiment {
        "vmspace-index" => vec![
            arm("linux-maple", maple, |load| {
                index_only(load).or_else(not_built)
            }),
            arm("linux-maple-mut", maple_mut, |load| {
                one_owner(load)
                    .or_else(|| index_only(load))
                    .or_else(not_built)
            }),
        ],
        "iova-gap" => vec![arm("linux-iova", gap, |load| {
            one_place_only(load).or_else(not_built)
        })],
        "iova-magazine" => vec![
            arm(
                "linux-iova",
                iova_magazine::run::<SharedDomain<Magazines>>,
                |_| not_built(),
            ),
            arm(
                "linux-iova-tree",
                iova_magazine::run::<SharedDomain<Nothing>>,
                |_| not_built(),
            ),
        ],
        "tree-order" => vec![
            arm("linux-rbtree", rbtree::<Summed>, |_| not_built()),
            arm("linux-rbtree-bare", rbtree::<Bare>, |_| not_built()),
        ],
        _ => vec![],
    }
}

/// The library with all of them, for the record.
#[must_use]
pub fn files() -> Vec<(&'static str, PathBuf)> {
    const ARMS: [&str; 6] = [
        "linux-maple",
        "linux-maple-mut",
        "linux-iova",
        "linux-iova-tree",
        "linux-rbtree",
        "linux-rbtree-bare",
    ];
    let built = place::library().filter(|path| path.is_file());
    let each = |path: PathBuf| ARMS.map(|arm| (arm, path.clone())).to_vec();
    built.map(each).unwrap_or_default()
}

/// An arm that counts no steps, since those of Linux's search cannot be counted.
fn arm(name: &'static str, run: ArmFn, na: fn(&Workload) -> Option<String>) -> Arm {
    Arm {
        na,
        counts: false,
        ..Arm::new(name, run)
    }
}

fn not_built() -> Option<String> {
    (!is_there()).then(|| MISSING.to_owned())
}

fn has_readers(load: &Workload) -> bool {
    load.name.starts_with("readers-")
}

/// The reason that a mere index cannot run a workload.
fn index_only(load: &Workload) -> Option<String> {
    let is_able = on_index(load) || has_readers(load);
    (!is_able).then(|| "it is not an address space".to_owned())
}

/// The reason that a structure with one owner cannot run a workload.
fn one_owner(load: &Workload) -> Option<String> {
    has_readers(load).then(|| "it does not support threads".to_owned())
}

/// The reason that an allocator that chooses the place cannot run a workload, unless there is only
/// one place.
fn one_place_only(load: &Workload) -> Option<String> {
    let lack = match load.name.as_str() {
        "aligned" | "aligned-runs" | "window-32bit" => return None,
        name if name.starts_with("checkerboard-") => return None,
        "random-place" => "no random place",
        _ => "it chooses the place",
    };
    Some(lack.to_owned())
}

fn maple(request: &Request) -> Result<Outcome, Failure> {
    library()?;
    if has_readers(&request.workload) {
        run_readers(&Areas::<Shared>::new(), request)
    } else {
        index::<Shared>(request)
    }
}

fn maple_mut(request: &Request) -> Result<Outcome, Failure> {
    library()?;
    index::<Owned>(request)
}

fn index<A: Access>(request: &Request) -> Result<Outcome, Failure> {
    vmspace_index::run::<Areas<A>>(request)
}

/// Uses a turned space wherever the lowest place is requested: everywhere but for the limit of 32
/// bits.
fn gap(request: &Request) -> Result<Outcome, Failure> {
    match request.workload.name.as_str() {
        "window-32bit" => iova_gap::run::<Paged<Straight>>(request),
        _ => iova_gap::run::<Paged<Turned>>(request),
    }
}

fn rbtree<K: Knowledge>(request: &Request) -> Result<Outcome, Failure> {
    library()?;
    if request.workload.name.ends_with("-key") {
        ordered::run::<ByKey<Nodes<K>>>(request)
    } else {
        ordered::run::<Nodes<K>>(request)
    }
}
