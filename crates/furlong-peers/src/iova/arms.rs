//! The peers as arms of `iova-gap`, and what each cannot be asked.
#![forbid(unsafe_code)]

use furlong_lab::experiments::iova_gap::{AddressAllocator, run};
use furlong_lab::experiments::{Arm, Workload};

use super::{FreeMap, OffsetAllocator, RangeAlloc, RangeMap, VmAllocator};

/// The experiment that they are arms of.
pub const EXPERIMENT: &str = "iova-gap";

/// What a workload needs of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// A place for a size, where there is only one.
    Size,
    Align,
    Window,
    /// The lowest or the highest place.
    Place,
    /// Any place, all equally likely.
    Random,
}

impl Need {
    /// Nobody knows what a workload needs that is not known here: everything.
    fn of(workload: &Workload) -> Need {
        match workload.name.as_str() {
            name if name.starts_with("checkerboard-") => Need::Size,
            name if name.starts_with("scattered-") => Need::Window,
            "window-32bit" => Need::Window,
            "aligned" => Need::Align,
            "churn-bottom-up" | "churn-top-down" => Need::Place,
            _ => Need::Random,
        }
    }
}

/// All peers. Nobody can count the steps of another's search.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm::<FreeMap>("free-map", |_| None),
        arm::<RangeMap>("rangemap", |_| None),
        arm::<RangeAlloc>("range-alloc", |load| {
            let why = match Need::of(load) {
                Need::Size | Need::Align => return None,
                Need::Window => "no window",
                Need::Place | Need::Random => "it chooses the place, by best fit",
            };
            Some(why.to_owned())
        }),
        arm::<VmAllocator>("vm-allocator", |load| {
            let why = match Need::of(load) {
                Need::Size | Need::Align | Need::Place => return None,
                Need::Window => "no window",
                Need::Random => "no random place",
            };
            Some(why.to_owned())
        }),
        arm::<OffsetAllocator>("offset-allocator", |load| {
            let why = match Need::of(load) {
                Need::Size => return None,
                Need::Align => "no alignment",
                Need::Window => "no window",
                Need::Place | Need::Random => "it chooses the place",
            };
            Some(why.to_owned())
        }),
    ]
}

fn arm<A: AddressAllocator>(name: &'static str, na: fn(&Workload) -> Option<String>) -> Arm {
    Arm {
        na,
        counts: false,
        ..Arm::new(name, run::<A>)
    }
}
