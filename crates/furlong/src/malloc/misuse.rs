//! Mistakes of callers that would corrupt memory.
#![forbid(unsafe_code)]

use crate::error::messages;

/// A caller's mistake that would corrupt memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// A free of a block that is free already.
    DoubleFree,
    /// A free or resize of a pointer into the middle of a block or into free memory.
    NotABlock,
    /// A free or resize of a pointer that this allocator never handed out.
    Foreign,
    /// A write to a block after it was freed.
    WrittenAfterFree,
    /// A write behind the end of a block, or in front of the next one.
    Overrun,
    /// A free of a block with a size that it does not have.
    WrongSize,
    /// An access to a block with guard pages after it was freed.
    UsedAfterFree,
    /// An access past the pages of a block with guard pages, or in front of them.
    OutOfBounds,
}

messages! { Misuse:
    it => "{}", it.message();
}

impl Misuse {
    /// The message, in one line.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::DoubleFree => "block freed twice",
            Self::NotABlock => "pointer is not the start of a live block",
            Self::Foreign => "pointer was not allocated here",
            Self::WrittenAfterFree => "block written to after it was freed",
            Self::Overrun => "block written to past its end",
            Self::WrongSize => "block freed with a wrong size",
            Self::UsedAfterFree => "block used after it was freed",
            Self::OutOfBounds => "access outside of a block",
        }
    }
}

/// Calls a function of the user's. If it panics, the process ends: nothing may unwind through an
/// allocator. Under a latch it may wait for ever instead, if the panic allocates here.
#[inline]
pub(crate) fn without_unwinding<T>(call: impl FnOnce() -> T) -> T {
    struct Abort;

    impl Drop for Abort {
        fn drop(&mut self) {
            // A panic while another one unwinds aborts.
            panic!("an allocator's user must not unwind through it");
        }
    }

    let abort = Abort;
    let done = call();
    core::mem::forget(abort);
    done
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Misuse;

    #[test]
    fn each_misuse_has_a_line_of_its_own() {
        for (misuse, line) in [
            (Misuse::DoubleFree, "block freed twice"),
            (
                Misuse::NotABlock,
                "pointer is not the start of a live block",
            ),
            (Misuse::Foreign, "pointer was not allocated here"),
            (
                Misuse::WrittenAfterFree,
                "block written to after it was freed",
            ),
            (Misuse::Overrun, "block written to past its end"),
            (Misuse::WrongSize, "block freed with a wrong size"),
            (Misuse::UsedAfterFree, "block used after it was freed"),
            (Misuse::OutOfBounds, "access outside of a block"),
        ] {
            assert_eq!((misuse.message(), misuse.to_string()), (line, line.into()));
        }
    }
}
