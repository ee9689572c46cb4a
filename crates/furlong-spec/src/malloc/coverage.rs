//! Which answers were seen: a stream that frees nothing of another thread's has not shown that to
//! be right.
#![forbid(unsafe_code)]

use super::operation::Outcome;
use crate::Coverage;
use crate::coverage::Cell;

/// What every stream of some length shows.
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

/// What should have occurred and has not; where memory may be short also that.
pub(super) fn gaps(coverage: &Coverage, short: bool) -> Vec<String> {
    let more: &[_] = if short { &[("resize", "Refused")] } else { &[] };
    coverage.missing(ALWAYS.iter().chain(more).copied())
}

/// An outcome in a word, where the operation says no more.
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
