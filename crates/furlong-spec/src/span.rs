//! Versions of what a writer changes while others look.
//!
//! The writer writes down what will be before it changes anything, and that it has been done
//! afterwards. Who reads the *span* of versions before and after a look knows all that was true at
//! some moment of it: from the version that was settled before to the one that was begun after.
#![forbid(unsafe_code)]

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering, fence};

/// The version that is settled, and above it the last that has begun, 32 bits each.
pub(crate) struct Span(AtomicU64);

impl Span {
    /// Version 1 is settled.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(1 << 32 | 1))
    }

    pub(crate) fn settled(&self) -> u64 {
        self.0.load(Ordering::SeqCst) & u64::from(u32::MAX)
    }

    /// The last version that has begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.load(Ordering::SeqCst) >> 32
    }

    /// Up to `version` may be seen from now on: to be called when those are written down, before
    /// the change.
    pub(crate) fn begin(&self, version: u64) {
        let span = version << 32 | self.settled();
        self.0.store(span, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// The change is over.
    pub(crate) fn settle(&self) {
        fence(Ordering::SeqCst);
        let begun = self.begun();
        self.0.store(begun << 32 | begun, Ordering::SeqCst);
    }

    /// To be called before a look.
    pub(crate) fn before(&self) -> u64 {
        let before = self.settled();
        fence(Ordering::SeqCst);
        before
    }

    /// To be called after a look, with what was returned before it: the versions of its moments.
    pub(crate) fn after(&self, before: u64) -> RangeInclusive<u64> {
        fence(Ordering::SeqCst);
        before..=self.begun()
    }
}
