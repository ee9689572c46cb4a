//! A computation for threads that must not disturb others.
#![forbid(unsafe_code)]

use std::hint::black_box;

/// Steps of the computation between two looks at the other threads: about 100 ns.
const STEPS: u32 = 100;

/// Computes for a moment, in registers only.
pub(super) fn compute() {
    let step = |number: u64, _| black_box(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
    black_box((0..STEPS).fold(1, step));
}
