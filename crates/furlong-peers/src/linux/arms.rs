//! Linux's structures as arms of the experiments.

use std::path::PathBuf;

use furlong_experiments::vmspace_index::{
    self, AreaIndex as _, has_readers, on_index, run_readers,
};
use furlong_experiments_devices::iova_gap::{self, Kind};
use furlong_experiments_devices::iova_magazine;
use furlong_experiments_devices::ordered::{self, Keyed};
use furlong_lab::model::{Arm, Failure, Outcome, Request, Workload};

use super::iova::{SharedDomain, Straight, Turned};
use super::library::{is_there, library};
use super::maple::{OwnedAreas, SharedAreas};
use super::place;
use super::rbtree::Nodes;
use crate::arm;

/// The reason that is shown if the library is missing.
pub const MISSING: &str = "furlong peers linux builds it";

type Magazines = SharedDomain<true>;
type NoMagazines = SharedDomain<false>;
type Summed = Nodes<true>;
type Bare = Nodes<false>;

/// The arms of an experiment; none if Linux has no structure for it. The steps of its search cannot
/// be counted.
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
            arm("linux-iova", iova_magazine::run::<Magazines>, |_| {
                not_built()
            }),
            arm("linux-iova-tree", iova_magazine::run::<NoMagazines>, |_| {
                not_built()
            }),
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

fn not_built() -> Option<String> {
    (!is_there()).then(|| MISSING.to_owned())
}

/// The reason that a mere index cannot run a workload.
fn index_only(load: &Workload) -> Option<String> {
    let is_able = on_index(load).is_some() || has_readers(load);
    (!is_able).then(|| "it is not an address space".to_owned())
}

/// The reason that a structure with one owner cannot run a workload.
fn one_owner(load: &Workload) -> Option<String> {
    has_readers(load).then(|| "it does not support threads".to_owned())
}

/// The reason that an allocator that chooses the place cannot run a workload, unless there is only
/// one place.
fn one_place_only(load: &Workload) -> Option<String> {
    let lack = match load.read() {
        Ok(Kind::Checkerboard | Kind::Aligned | Kind::AlignedRuns | Kind::Window32) => return None,
        Ok(Kind::Random) => "no random place",
        _ => "it chooses the place",
    };
    Some(lack.to_owned())
}

fn maple(request: &Request) -> Result<Outcome, Failure> {
    library()?;
    if has_readers(&request.workload) {
        run_readers(&SharedAreas::new(), request)
    } else {
        vmspace_index::run::<SharedAreas>(request)
    }
}

fn maple_mut(request: &Request) -> Result<Outcome, Failure> {
    library()?;
    vmspace_index::run::<OwnedAreas>(request)
}

/// Uses a turned space wherever the lowest place is requested: everywhere but for the limit of 32
/// bits.
fn gap(request: &Request) -> Result<Outcome, Failure> {
    match request.workload.read()? {
        Kind::Window32 => iova_gap::run::<Straight>(request),
        _ => iova_gap::run::<Turned>(request),
    }
}

fn rbtree<N: Keyed>(request: &Request) -> Result<Outcome, Failure> {
    library()?;
    ordered::run_keyed::<N>(request)
}
