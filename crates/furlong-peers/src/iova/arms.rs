//! The peers as arms of `iova-gap`, and the workloads that each cannot run.

use furlong_experiments_devices::iova_gap::{Kind, run};
use furlong_lab::model::{Arm, Workload};

use super::{Buddy, FreeMap, OffsetAllocator, RangeAlloc, RangeMap, VmAllocator};
use crate::arm;

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "iova-gap";

/// The operation that a workload needs of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// A place for a size, if there is only one.
    Size,
    /// As `Size`, at a multiple of an alignment.
    Align,
    /// A place in a window.
    Window,
    /// The lowest or the highest place.
    Place,
    /// Any place, all equally likely.
    Random,
    /// An unknown workload.
    Unknown,
}

impl Need {
    fn of(workload: &Workload) -> Need {
        match workload.read() {
            Ok(Kind::Checkerboard) => Need::Size,
            Ok(Kind::Aligned | Kind::AlignedRuns) => Need::Align,
            Ok(Kind::Scattered | Kind::Window32) => Need::Window,
            Ok(Kind::ChurnUp | Kind::ChurnDown) => Need::Place,
            Ok(Kind::Random) => Need::Random,
            Err(_) => Need::Unknown,
        }
    }

    /// The reason that an arm without this operation cannot run the workload.
    fn lack(self) -> String {
        let lack = match self {
            Need::Size => "no size",
            Need::Align => "no alignment",
            Need::Window => "no window",
            Need::Place => "it chooses the place",
            Need::Random => "no random place",
            Need::Unknown => "its requests are unknown",
        };
        lack.to_owned()
    }
}

/// The operations of those arms that lack some.
const VM_ALLOCATOR: &[Need] = &[Need::Size, Need::Align, Need::Place];
const RANGE_ALLOC: &[Need] = &[Need::Size, Need::Align];
const OFFSET_ALLOCATOR: &[Need] = &[Need::Size];
const BUDDY: &[Need] = &[Need::Size, Need::Align];

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm("free-map", run::<FreeMap>, |_| None),
        arm("rangemap", run::<RangeMap>, |_| None),
        arm("range-alloc", run::<RangeAlloc>, |load| {
            na(load, RANGE_ALLOC)
        }),
        arm("vm-allocator", run::<VmAllocator>, |load| {
            na(load, VM_ALLOCATOR)
        }),
        arm("offset-allocator", run::<OffsetAllocator>, |load| {
            na(load, OFFSET_ALLOCATOR)
        }),
        arm("buddy-system", run::<Buddy>, |load| na(load, BUDDY)),
    ]
}

/// The reason that an arm with only the operations `able` cannot run a workload.
fn na(load: &Workload, able: &[Need]) -> Option<String> {
    let need = Need::of(load);
    (!able.contains(&need)).then(|| need.lack())
}
