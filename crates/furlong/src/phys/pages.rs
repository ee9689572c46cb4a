//! Where descriptors are, by the number of their frame.

use core::ptr::NonNull;

/// Where the descriptor of frame 0 would be: that of frame f is f strides further on. One value
/// serves all segments whose descriptors lie in an array as their frames do in memory.
pub(super) struct Pages<D>(*mut D);

// SAFETY: an address; only unsafe code makes a reference of it.
unsafe impl<D: Sync> Send for Pages<D> {}
// SAFETY: as above.
unsafe impl<D: Sync> Sync for Pages<D> {}

impl<D> Clone for Pages<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Pages<D> {}

impl<D> PartialEq for Pages<D> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl<D> Pages<D> {
    pub(super) fn at(start: *mut D) -> Self {
        Self(start)
    }

    pub(super) fn start(self) -> *mut D {
        self.0
    }

    /// So that the descriptor of `frame` is at `page`.
    pub(super) fn with(page: *mut D, frame: u64) -> Self {
        Self(page.wrapping_sub(frame as usize))
    }

    /// The descriptor of `frame`.
    #[inline]
    pub(super) fn of(self, frame: u64) -> Option<NonNull<D>> {
        NonNull::new(self.0.wrapping_add(frame as usize))
    }
}
