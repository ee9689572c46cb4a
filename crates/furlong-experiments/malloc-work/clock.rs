//! What is timed, and counted by whoever counts instructions.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// Does the work that is measured, and says how long it took. A function that is not inlined: a
/// counter of instructions is switched on where it begins and off where it ends, by its name.
#[inline(never)]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let answer = work();
    (answer, began.elapsed())
}
