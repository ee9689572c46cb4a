//! The loops that are timed, each a function that is never inlined. A profiler that counts
//! instructions finds them by their names: `furlong_bench::timed::*`.

use std::hint::black_box;

/// Runs an operation a number of times.
#[inline(never)]
pub(crate) fn repeat<A>(operations: u64, work: &mut impl FnMut() -> A) {
    for _ in 0..operations {
        black_box(work());
    }
}

/// Runs an operation on every input. `results` has room for all answers.
#[inline(never)]
pub(crate) fn each<I, A>(
    inputs: &mut [I],
    results: &mut Vec<A>,
    work: &mut impl FnMut(&mut I) -> A,
) {
    for input in inputs {
        results.push(black_box(work(black_box(input))));
    }
}
