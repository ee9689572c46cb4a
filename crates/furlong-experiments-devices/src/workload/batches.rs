//! Work in batches: the inputs of a batch are drawn before its clock starts.

use std::time::Duration;

use furlong_lab::model::Failure;

/// Runs `operations`, at most `at_once` of them in a batch. Returns the total time of the batches.
pub(crate) fn in_batches(
    operations: u64,
    at_once: u64,
    mut batch: impl FnMut(usize) -> Result<Duration, Failure>,
) -> Result<Duration, Failure> {
    let mut timed = Duration::ZERO;
    let mut left = operations;
    while left > 0 {
        let now = left.min(at_once);
        timed += batch(now as usize)?;
        left -= now;
    }
    Ok(timed)
}
