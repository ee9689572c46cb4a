//! The required outcomes of a stream. A stream that never frees another thread's block does not
//! test such frees.
#![forbid(unsafe_code)]

use super::operation::Outcome;
use crate::Coverage;
use crate::coverage::Cell;

/// Cells that every long enough stream covers.
const ALWAYS: &[Cell] = &[
    ("allocate", "block"),
    ("allocate", "Refused"),
    ("allocate aligned", "block"),
    ("allocate zeroed", "block"),
    ("begin", "done"),
    ("become", "done"),
    ("count", "counted"),
    ("end", "done"),
    ("follow", "done"),
    ("fork", "done"),
    ("free", "own"),
    ("free", "another's"),
    ("free", "an ended thread's"),
    ("free", "without a heap"),
    ("free sized", "own"),
    ("look", "intact"),
    ("resize", "moved"),
    ("resize", "stayed"),
    ("trim", "done"),
];

/// The required cells that have not occurred. If memory may be short, some refusals are required
/// too.
pub(super) fn gaps(coverage: &Coverage, least: u64, short: bool) -> Vec<String> {
    let more: &[_] = if short { &[("resize", "Refused")] } else { &[] };
    coverage.missing(ALWAYS.iter().chain(more).copied(), least)
}

/// A name for the outcome, used if the operation gives no better one.
pub(super) const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Idle => "idle",
        Outcome::Refused => "Refused",
        Outcome::Block { .. } => "block",
        Outcome::Intact(_) => "intact",
        Outcome::Counted { .. } => "counted",
    }
}
