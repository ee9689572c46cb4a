//! What a program asks of an allocator, and what the allocator may answer.
#![forbid(unsafe_code)]

/// The numbers of the threads that a stream tells apart.
pub const THREADS: usize = 4;

/// Something that one of several threads asks. Blocks are named by the place in which the program
/// keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// From now on the caller is this thread, below [`THREADS`].
    Become(usize),
    /// The caller's heap ends. What the thread still does is served without one.
    End,
    /// A thread begins under the number of the caller, which has ended.
    Begin,
    /// Allocates a block into a place.
    Allocate {
        /// The place.
        place: usize,
        /// Its bytes.
        size: usize,
        /// A power of two.
        align: usize,
        /// Whether all of it has to be zero.
        zeroed: bool,
    },
    /// Makes the block in a place longer or shorter.
    Resize {
        /// The place.
        place: usize,
        /// Its bytes from now on.
        size: usize,
    },
    /// Looks whether the block in a place still has its contents.
    Look(usize),
    /// Frees the block in a place.
    Free(usize),
    /// Frees the block in a place, and says how many bytes it has.
    FreeSized(usize),
    /// Gives back what is kept.
    Trim,
    /// Puts another profile in force: the conservative one, or the standard one.
    Follow(bool),
    /// Goes through a fork, as the parent.
    Fork,
    /// Counts what is in use.
    Count,
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// There was a block in the place already, or there was none.
    Idle,
    /// Memory is short. A block that was there is as before.
    Refused,
    /// The block that is in the place from now on.
    Block {
        /// Where it begins.
        address: usize,
        /// How many bytes it really has.
        usable: usize,
        /// Whether all that was asked to be zero is, or all that was there before is still there.
        intact: bool,
    },
    /// The block in the place: whether it has its contents.
    Intact(bool),
    /// What is in use.
    Counted {
        /// Blocks.
        blocks: usize,
        /// Bytes, by what the blocks really have.
        bytes: usize,
    },
}

impl Operation {
    /// Its kind, in a word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Become(_) => "become",
            Self::End => "end",
            Self::Begin => "begin",
            Self::Allocate { zeroed: true, .. } => "allocate zeroed",
            Self::Allocate { align: 17.., .. } => "allocate aligned",
            Self::Allocate { .. } => "allocate",
            Self::Resize { .. } => "resize",
            Self::Look(_) => "look",
            Self::Free(_) => "free",
            Self::FreeSized(_) => "free sized",
            Self::Trim => "trim",
            Self::Follow(_) => "follow",
            Self::Fork => "fork",
            Self::Count => "count",
        }
    }
}
