//! What a thread does beside others that is to be no trouble to them: it computes.
#![forbid(unsafe_code)]

use std::hint::black_box;

/// Steps of the computation between two looks at what others do: some 100 ns.
const STEPS: u32 = 100;

/// Computes for a moment, in registers alone.
pub(super) fn compute() {
    let step = |number: u64, _| black_box(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
    black_box((0..STEPS).fold(1, step));
}
