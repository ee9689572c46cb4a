//! The peers as arms of `bounce-area`, each under one lock, as an area of the pool is.

use furlong_experiments_devices::bounce::{allocator_limit, run_allocator};
use furlong_lab::model::Arm;

use super::{Bitmap, BuddyFrames, BuddyHeap, Offsets};
use crate::arm;

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "bounce-area";

/// All peers. The steps of a peer's search cannot be counted.
#[must_use]
pub fn arms() -> Vec<Arm> {
    let arm = |name, run| arm(name, run, allocator_limit);
    vec![
        arm("buddy-frames", run_allocator::<BuddyFrames>),
        arm("buddy-heap", run_allocator::<BuddyHeap>),
        arm("bitmap-allocator", run_allocator::<Bitmap>),
        arm("offset-allocator", run_allocator::<Offsets>),
    ]
}
