//! Work in rounds: the inputs of a round are drawn before its clock starts.
#![forbid(unsafe_code)]

use std::time::Duration;

use furlong_lab::model::Failure;

/// Runs `operations`, at most `at_once` of them in a round. Returns the total time of the rounds.
pub(super) fn in_rounds(
    operations: u64,
    at_once: u64,
    mut round: impl FnMut(usize) -> Result<Duration, Failure>,
) -> Result<Duration, Failure> {
    let mut timed = Duration::ZERO;
    let mut left = operations;
    while left > 0 {
        let now = left.min(at_once);
        timed += round(now as usize)?;
        left -= now;
    }
    Ok(timed)
}
