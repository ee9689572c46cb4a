//! The timed part of a work, which instruction counters also count.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// Runs `work` and returns its result and duration. Not inlined: an instruction counter is switched
/// on at this function's entry and off at its exit, by its name.
#[inline(never)]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let answer = work();
    (answer, began.elapsed())
}
