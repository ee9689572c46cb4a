//! The allocator's lock: two words and no value. Waiting is the system's.
#![forbid(unsafe_code)]

use crate::sync::{
    atomic::{AtomicU32, Ordering},
    const_unless_loom,
};

/// A lock of the allocator, for which its [`PageSource`](super::PageSource) waits. The record that
/// it is in says what it guards.
///
/// The caller's number in the first word is what a system needs to lend the holder the priority of
/// those who wait for it. A system that lets them sleep in two ways has the second word for the
/// other one.
#[derive(Debug)]
#[repr(C)]
pub struct Latch {
    holder: AtomicU32,
    sleepers: AtomicU32,
}

impl Latch {
    const_unless_loom! {
        pub(crate) const fn new() -> Self {
            Self { holder: AtomicU32::new(0), sleepers: AtomicU32::new(0) }
        }
    }

    /// Takes it if nobody has it. `caller` is the caller's number, and not 0.
    #[inline]
    pub fn try_lock(&self, caller: u32) -> bool {
        // Relaxed: a look.
        self.holder.load(Ordering::Relaxed) == 0
            && self
                .holder
                // SeqCst: pairs with unlock; a sleeper first says in the second word that it is
                // one, and then tries again. Relaxed: a failure says nothing.
                .compare_exchange(0, caller, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
    }

    /// Who has it: 0 for nobody, or the number of the caller that took it; the system may add bits
    /// from 2^30 on.
    #[must_use]
    pub const fn holder(&self) -> &AtomicU32 {
        &self.holder
    }

    /// A word of the system's. An odd number has [`PageSource::wake`](super::PageSource::wake)
    /// called when the latch is given back.
    #[must_use]
    pub const fn sleepers(&self) -> &AtomicU32 {
        &self.sleepers
    }

    /// Takes it, and has `wait` wait for it if another has it.
    #[inline]
    pub(crate) fn lock(&self, caller: u32, wait: impl FnOnce(&Self)) {
        if !self.try_lock(caller) {
            wait(self);
        }
    }

    /// Gives it back, and calls `wake` if somebody sleeps. Only its holder may.
    #[inline]
    pub(crate) fn unlock(&self, caller: u32, wake: impl FnOnce(&Self)) {
        // SeqCst: pairs with try_lock, for what was done under it, and because a sleeper that still
        // found it taken is seen below. Relaxed: a failure says that the system added bits.
        let given = self
            .holder
            .compare_exchange(caller, 0, Ordering::SeqCst, Ordering::Relaxed);
        // SeqCst: as above.
        if given.is_err() || self.sleepers.load(Ordering::SeqCst) & 1 == 1 {
            wake(self);
        }
    }

    /// Nobody has it or waits for it, as in a process that was just forked.
    pub(crate) fn reset(&self) {
        self.holder.store(0, Ordering::SeqCst);
        self.sleepers.store(0, Ordering::SeqCst);
    }
}
