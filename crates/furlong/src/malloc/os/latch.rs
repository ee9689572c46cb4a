//! The allocator's lock: two words and no value. The system implements waiting.
#![forbid(unsafe_code)]

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::record;

record! {
    /// A lock of the allocator, on which its [`PageSource`](crate::malloc::PageSource) waits. Each
    /// record says what its latch guards.
    ///
    /// The first word holds the holder's number, which a system needs to lend the holder the
    /// priority of its waiters. The second word is for a system that has a second way to sleep.
    #[derive(Debug)]
    #[repr(C)]
    pub struct Latch {
        holder: AtomicU32 = AtomicU32::new(0),
        sleepers: AtomicU32 = AtomicU32::new(0),
    }
    pub(crate) const fn new;
}

impl Latch {
    /// Takes the latch if it is free. `caller` is the caller's number, not 0.
    #[inline]
    pub fn try_lock(&self, caller: u32) -> bool {
        // Relaxed: only a hint.
        self.holder.load(Ordering::Relaxed) == 0
            && self
                .holder
                // SeqCst: pairs with unlock; a sleeper first marks the second word, and then tries
                // again. Relaxed: a failure reads nothing that is used.
                .compare_exchange(0, caller, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
    }

    /// The holder: 0 if the latch is free, or the number of the caller that took it. The system may
    /// add bits from 2^30 on.
    #[must_use]
    pub const fn holder(&self) -> &AtomicU32 {
        &self.holder
    }

    /// A word for the system. If it is odd, releasing the latch calls
    /// [`PageSource::wake`](crate::malloc::PageSource::wake).
    #[must_use]
    pub const fn sleepers(&self) -> &AtomicU32 {
        &self.sleepers
    }

    /// Takes the latch; calls `wait` to wait for it if another holds it.
    #[inline]
    pub(crate) fn lock(&self, caller: u32, wait: impl FnOnce(&Self)) {
        if !self.try_lock(caller) {
            wait(self);
        }
    }

    /// Releases the latch, and calls `wake` if there is a sleeper. Only its holder may.
    #[inline]
    pub(crate) fn unlock(&self, caller: u32, wake: impl FnOnce(&Self)) {
        // SeqCst: pairs with try_lock, for the data under the latch, and so that a sleeper that
        // still found it taken is seen below. Relaxed: a failure means that the system added bits.
        let given = self
            .holder
            .compare_exchange(caller, 0, Ordering::SeqCst, Ordering::Relaxed);
        // SeqCst: as above.
        if given.is_err() || self.sleepers.load(Ordering::SeqCst) & 1 == 1 {
            wake(self);
        }
    }

    /// Makes the latch free and without waiters, as in a process that was just forked.
    pub(crate) fn reset(&self) {
        // Relaxed: that process has one thread.
        self.holder.store(0, Ordering::Relaxed);
        // Relaxed: as above.
        self.sleepers.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Latch, Ordering};

    #[test]
    fn a_release_wakes_if_somebody_sleeps_or_the_system_marked_the_holder() {
        for (sleepers, mark, wakes) in [(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 1), (0, 1 << 31, 1)]
        {
            let latch = Latch::new();
            latch.lock(5, |_| panic!("it is free"));
            assert!(!latch.try_lock(6));
            latch.sleepers.store(sleepers, Ordering::SeqCst);
            latch.holder.fetch_or(mark, Ordering::SeqCst);
            let mut woken = 0;
            latch.unlock(5, |_| woken += 1);
            assert_eq!(woken, wakes, "{sleepers} {mark:x}");
            // With a mark the system makes it free.
            assert_eq!(latch.holder().load(Ordering::SeqCst) == 0, mark == 0);
            latch.reset();
            let words = [latch.holder(), latch.sleepers()].map(|word| word.load(Ordering::SeqCst));
            assert_eq!(words, [0, 0]);
        }
    }
}
