//! The model's state of a frame, and ranges of frames.

use core::ops::Range;

use super::super::operation::Name;

/// The model's state of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) owner: Option<Name>,
    pub(super) isolated: bool,
    pub(super) pinned: bool,
    /// True if it has a descriptor.
    pub(super) made: bool,
    /// The hosted range that it was plugged in.
    pub(super) host: Option<usize>,
}

pub(super) fn inside(part: &Range<u64>, whole: &Range<u64>) -> bool {
    whole.start <= part.start && part.start <= part.end && part.end <= whole.end
}

pub(super) fn meet(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

pub(super) fn len(frames: &Range<u64>) -> u64 {
    frames.end - frames.start
}
