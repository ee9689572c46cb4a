//! What a stream does to what it works on.
#![forbid(unsafe_code)]

/// How likely it is that something comes (an insertion, a reservation, a map) against that
/// something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// There is more and more, until it is full.
    Growing,
    /// As much comes as goes.
    Steady,
    /// There is less and less, until it is empty.
    Shrinking,
}
