//! The peers as arms of `bounce-area`, each under one lock, as an area of the pool is.
#![forbid(unsafe_code)]

use furlong_experiments::bounce::{SlotAllocator, run_allocator};
use furlong_lab::model::{Arm, Workload};

use super::{Bitmap, BuddyFrames, BuddyHeap, Offsets};

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "bounce-area";

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        arm::<BuddyFrames>("buddy-frames"),
        arm::<BuddyHeap>("buddy-heap"),
        arm::<Bitmap>("bitmap-allocator"),
        arm::<Offsets>("offset-allocator"),
    ]
}

fn arm<A: SlotAllocator>(name: &'static str) -> Arm {
    Arm {
        na,
        counts: false,
        ..Arm::new(name, run_allocator::<A>)
    }
}

/// The reason that an allocator of slots cannot run a workload.
fn na(load: &Workload) -> Option<String> {
    let lack = match load.name.split('-').next() {
        Some("memcpy") => "nothing is mapped",
        Some("pool") => "it has no areas to go through",
        _ => return None,
    };
    Some(lack.to_owned())
}
