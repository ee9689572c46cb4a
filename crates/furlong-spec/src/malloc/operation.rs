//! Operations on an allocator, and their outcomes.
#![forbid(unsafe_code)]

/// The number of threads in a stream.
pub const THREADS: usize = 4;

/// An operation of one of several threads. A block is named by the place where the program keeps
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Makes this thread, a number below [`THREADS`], the caller from now on.
    Become(usize),
    /// Ends the caller's heap. The thread's further calls are served without a heap.
    End,
    /// Begins a new thread under the caller's number, whose thread has ended.
    Begin,
    /// Allocates a block and keeps it in a place.
    Allocate {
        /// The place.
        place: usize,
        /// Size in bytes.
        size: usize,
        /// Alignment, a power of two.
        align: usize,
        /// True if the block has to be zero.
        zeroed: bool,
    },
    /// Resizes the block in a place.
    Resize {
        /// The place.
        place: usize,
        /// New size in bytes.
        size: usize,
    },
    /// Checks the contents of the block in a place.
    Look(usize),
    /// Frees the block in a place.
    Free(usize),
    /// Frees the block in a place, with its size given.
    FreeSized(usize),
    /// Returns retained memory to the system.
    Trim,
    /// Switches to another profile: the conservative one if true, else the standard one.
    Follow(bool),
    /// Passes through a fork, as the parent.
    Fork,
    /// Counts the blocks and bytes in use.
    Count,
}

/// The result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success without a value.
    Done,
    /// No effect: the place had a block already, or had none.
    Idle,
    /// Memory is short. The old block, if any, is unchanged.
    Refused,
    /// The new block in the place.
    Block {
        /// Address of its first byte.
        address: usize,
        /// Usable size in bytes.
        usable: usize,
        /// True if a zeroed block is all zero, or a resized one has kept its contents.
        intact: bool,
    },
    /// The contents of the block in the place; true if they are unchanged.
    Intact(bool),
    /// The blocks in use.
    Counted {
        /// Number of blocks.
        blocks: usize,
        /// Sum of their usable sizes, in bytes.
        bytes: usize,
    },
}

impl Operation {
    /// The name of its kind.
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
