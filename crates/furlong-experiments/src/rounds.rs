//! Work in rounds: what a round is about is drawn before its clock starts.
#![forbid(unsafe_code)]

use std::time::Duration;

use furlong_lab::model::Failure;

/// Goes through `operations`, at most `at_once` of them in a round; what the rounds took together.
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
