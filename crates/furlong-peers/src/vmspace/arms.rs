//! The peers as arms of `vmspace-index`.

use furlong_experiments::vmspace_index::{AreaIndex, OnIndex, has_readers, on_index, run};
use furlong_lab::model::{Arm, Workload};

use super::{ByLast, ByStart, Intervals, Overlaps, Ranges};

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "vmspace-index";

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm::<ByStart>("btreemap", na),
        arm::<ByLast>("brie-tree", na),
        arm::<Ranges>("rangemap", na),
        arm::<Intervals>("nodit", na),
        arm::<Overlaps>("iset", |load| na(load).or_else(|| from_above(load))),
    ]
}

fn arm<I: AreaIndex>(name: &'static str, na: fn(&Workload) -> Option<String>) -> Arm {
    Arm {
        waits,
        ..crate::arm(name, run::<I>, na)
    }
}

/// The reason that a map of ranges cannot run a workload.
fn na(load: &Workload) -> Option<String> {
    let lack = match on_index(load) {
        Some(OnIndex::GapNone) if areas(load) >= 1 << 16 => WALKS,
        Some(OnIndex::Churn) if areas(load) >= 1 << 20 => WALKS,
        Some(_) => return None,
        None if has_readers(load) => "it does not support readers during writes",
        None => "it is not an address space",
    };
    Some(lack.to_owned())
}

/// The reason if an operation would walk so many areas that a sample takes minutes.
const WALKS: &str = "it goes through all areas for a gap";

fn areas(load: &Workload) -> u64 {
    load.params.get("areas").copied().unwrap_or(0)
}

/// The reason that a quick run leaves it out: an operation takes hundreds of times as long as the
/// tree's.
fn waits(load: &Workload) -> Option<String> {
    let is_slow = on_index(load) == Some(OnIndex::Churn) && areas(load) >= 1 << 16;
    is_slow.then(|| WALKS.to_owned())
}

/// The reason that an index that only ascends cannot run a workload.
fn from_above(load: &Workload) -> Option<String> {
    let is_from_above = matches!(on_index(load), Some(OnIndex::Churn | OnIndex::GapHigh));
    is_from_above.then(|| "no search from above".to_owned())
}
