//! The trend of a stream: whether its structure grows or shrinks.
#![forbid(unsafe_code)]

/// The balance of additions (insertions, reservations, maps) and removals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// More additions than removals, until the structure is full.
    Growing,
    /// As many additions as removals.
    Steady,
    /// More removals than additions, until the structure is empty.
    Shrinking,
}
