//! What can be asked of a map, and what it can answer.
#![forbid(unsafe_code)]

/// An extent, both ends inclusive, and its value.
pub type Piece = (u64, u64, u32);

/// One operation; extents are given by their first and last index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// What is at the index: an entry or a gap, with its extent.
    Walk(u64),
    /// The first entry that has the index or lies behind it.
    Find(u64),
    /// The last entry that has the index or lies before it.
    FindBack(u64),
    /// All entries that overlap the extent.
    Range(u64, u64),
    /// The same, from the last on.
    RangeBack(u64, u64),
    /// Gives the extent a value, if nothing is there.
    Insert(u64, u64, u32),
    /// Gives the extent a value, over whatever is there.
    Store(u64, u64, u32),
    /// Takes out the entry that has the index.
    Erase(u64),
    /// Leaves nothing in the extent.
    EraseRange(u64, u64),
    /// Gives the entry that has the index another extent.
    Resize(u64, u64, u64),
    /// The lowest place of that size in the extent.
    LowestGap(u64, u64, u64),
    /// The highest place of that size in the extent.
    HighestGap(u64, u64, u64),
    /// The length of the largest gap.
    LargestGap,
}

/// Why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This extent is in the way.
    Occupied(u64, u64),
    /// No entry has the index.
    Vacant,
    /// There was no memory.
    NoMemory,
}

/// What an operation answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These entries, in the order asked for; of a change, those that it has displaced.
    Pieces(Vec<Piece>),
    /// A gap with this extent.
    Gap(u64, u64),
    /// Where there is room, if there is.
    Room(Option<(u64, u64)>),
    /// A length.
    Length(u64),
    /// Nothing has changed.
    Refused(Refusal),
}
