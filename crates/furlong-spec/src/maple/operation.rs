//! Operations on a map, and their outcomes.
#![forbid(unsafe_code)]

/// An extent (both ends inclusive) and its value.
pub type Piece = (u64, u64, u32);

/// An operation. Extents are given by their first and last index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Looks up the entry or the gap at an index, with its extent.
    Walk(u64),
    /// Finds the first entry that contains the index or lies above it.
    Find(u64),
    /// Finds the last entry that contains the index or lies below it.
    FindBack(u64),
    /// Lists all entries that overlap the extent.
    Range(u64, u64),
    /// Lists the same entries in reverse order.
    RangeBack(u64, u64),
    /// Stores a value in the extent if it is empty.
    Insert(u64, u64, u32),
    /// Stores a value in the extent and displaces any entries there.
    Store(u64, u64, u32),
    /// Removes the entry that contains the index.
    Erase(u64),
    /// Clears the extent.
    EraseRange(u64, u64),
    /// Gives the entry that contains the index another extent.
    Resize(u64, u64, u64),
    /// Finds the lowest place of that size in the extent.
    LowestGap(u64, u64, u64),
    /// Finds the highest place of that size in the extent.
    HighestGap(u64, u64, u64),
    /// Returns the length of the largest gap.
    LargestGap,
}

/// The reason that an operation changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An entry with this extent is in the way.
    Occupied(u64, u64),
    /// No entry contains the index.
    Vacant,
    /// Memory is short.
    NoMemory,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Entries in the requested order; for a change, the entries displaced.
    Pieces(Vec<Piece>),
    /// The extent of a gap.
    Gap(u64, u64),
    /// The extent found, if there is one.
    Room(Option<(u64, u64)>),
    /// A length.
    Length(u64),
    /// The operation was refused and changed nothing.
    Refused(Refusal),
}
