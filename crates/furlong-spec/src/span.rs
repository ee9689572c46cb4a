//! Versions of a state that one writer changes while readers look.
//!
//! The writer records the new state before it changes anything, and marks it settled after the
//! change. A reader takes the *span* of versions around a look: from the version settled before it
//! to the last version begun after it. The look must agree with a state of that span.
#![forbid(unsafe_code)]

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering, fence};

/// The settled version in the low 32 bits, the last version begun in the high 32 bits.
pub(crate) struct Span(AtomicU64);

impl Span {
    /// Version 1, settled.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(1 << 32 | 1))
    }

    pub(crate) fn settled(&self) -> u64 {
        self.0.load(Ordering::SeqCst) & u64::from(u32::MAX)
    }

    /// The last version begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.load(Ordering::SeqCst) >> 32
    }

    /// Lets readers see versions up to `version` from now on. Called after those are recorded and
    /// before the change.
    pub(crate) fn begin(&self, version: u64) {
        let span = version << 32 | self.settled();
        self.0.store(span, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Marks the last version begun as settled.
    pub(crate) fn settle(&self) {
        fence(Ordering::SeqCst);
        let begun = self.begun();
        self.0.store(begun << 32 | begun, Ordering::SeqCst);
    }

    /// Called before a look. Returns the settled version.
    pub(crate) fn before(&self) -> u64 {
        let before = self.settled();
        fence(Ordering::SeqCst);
        before
    }

    /// Called after a look, with the result of [`Span::before`]. Returns the versions that it may
    /// have seen.
    pub(crate) fn after(&self, before: u64) -> RangeInclusive<u64> {
        fence(Ordering::SeqCst);
        before..=self.begun()
    }
}
