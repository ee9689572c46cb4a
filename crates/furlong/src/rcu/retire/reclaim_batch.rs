//! Batches of ready objects: calls of drop functions, and the barrier's wait for them.

use core::ops::ControlFlow;

use crate::rcu::{BarrierError, Chain, Core, Progress, RcuHead, ReaderSlot};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::const_unless_loom;

/// Number of reclaim batches in progress, counted in one of two counters (hands).
///
/// Batches are taken through one hand. A barrier switches to the other hand, and waits until the
/// old one is empty, so reclaim batches taken later do not delay it.
pub(crate) struct Hands([AtomicUsize; 2]);

impl Hands {
    const_unless_loom! {
        pub(crate) const fn new() -> Self {
            Self([AtomicUsize::new(0), AtomicUsize::new(0)])
        }
    }

    fn take(&self, hand: usize) {
        // Relaxed: done under the grace period's lock, where the barrier switches hands.
        self.0[hand].fetch_add(1, Ordering::Relaxed);
    }

    fn put_down(&self, hand: usize) {
        // Release, `hand-down`: pairs with `hand-look`; the drop functions have returned.
        self.0[hand].fetch_sub(1, Ordering::Release);
    }

    fn is_empty(&self, hand: usize) -> bool {
        // Acquire, `hand-look`: pairs with `hand-down`, with every one of them, since they are
        // read-modify-writes and so continue each other's release sequences.
        self.0[hand].load(Ordering::Acquire) == 0
    }
}

/// Objects whose grace period is over, on their way to their drop functions (I6).
///
/// On drop, it reclaims the rest, also while a panic of a drop function unwinds.
pub(crate) struct ReclaimBatch<'d> {
    chain: Chain,
    core: &'d Core,
    /// The hand that counts it; `None` at the domain's end, when no barrier can wait.
    hand: Option<usize>,
    reclaimed: usize,
}

impl<'d> ReclaimBatch<'d> {
    /// # Safety
    ///
    /// All objects in `chain` were retired to `core`, and their grace period is over or no reader
    /// is left.
    pub(crate) unsafe fn new(chain: Chain, core: &'d Core, hand: Option<usize>) -> Self {
        Self {
            chain,
            core,
            hand,
            reclaimed: 0,
        }
    }

    /// Calls all drop functions; returns their number.
    pub(crate) fn run(mut self) -> usize {
        self.run_rest();
        self.reclaimed
    }

    fn run_rest(&mut self) {
        while let Some(head) = self.chain.pop() {
            // Counted first: a function that panics is not called again.
            self.reclaimed += 1;
            // SAFETY: popped, so it is reclaimed once. Its grace period is over, or there are no
            // readers, by the contract of `new`.
            unsafe { RcuHead::reclaim(head) };
        }
    }
}

impl Drop for ReclaimBatch<'_> {
    fn drop(&mut self) {
        self.run_rest();
        // Relaxed: a count; see `Core::retire`.
        self.core
            .retired
            .pending
            .fetch_sub(self.reclaimed, Ordering::Relaxed);
        if let Some(hand) = self.hand {
            self.core.hands.put_down(hand);
        }
    }
}

impl Core {
    /// See [`Rcu::reclaim`].
    pub(crate) fn reclaim(&self, max: usize) -> usize {
        self.take_ready(max).map_or(0, ReclaimBatch::run)
    }

    fn take_ready(&self, max: usize) -> Option<ReclaimBatch<'_>> {
        let mut grace_period = self.grace_period.try_lock()?;
        if grace_period.ready.is_empty() || max == 0 {
            return None;
        }
        let hand = grace_period.hand;
        self.hands.take(hand);
        let chain = grace_period.ready.split_front(max);
        // SAFETY: the objects were in `ready`, which takes them when their grace period is over
        // (I2, I3).
        Some(unsafe { ReclaimBatch::new(chain, self, Some(hand)) })
    }

    /// Takes all ready objects, and switches hands. `None` if the grace period is locked, or if
    /// another barrier still waits for the next hand.
    fn take_for_barrier(&self) -> Option<(ReclaimBatch<'_>, usize)> {
        let mut grace_period = self.grace_period.try_lock()?;
        let old = grace_period.hand;
        let new = 1 - old;
        if !self.hands.is_empty(new) {
            return None;
        }
        grace_period.hand = new;
        self.hands.take(new);
        let chain = grace_period.ready.split_front(usize::MAX);
        // SAFETY: as in `take_ready`.
        let batch = unsafe { ReclaimBatch::new(chain, self, Some(new)) };
        Some((batch, old))
    }

    /// See [`Rcu::barrier`](crate::rcu::Rcu::barrier). An object retired before is in the inbox, in
    /// the grace period or in a hand. After one whole grace period it is ready or in a hand. Then
    /// this takes all ready objects, and waits for the old hand.
    pub(crate) fn barrier(
        &self,
        slots: &[ReaderSlot],
        mut pause: impl FnMut() -> ControlFlow<()>,
    ) -> Result<(), BarrierError> {
        let mut wait_or_give_up = || match pause() {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(BarrierError::GaveUp),
        };
        let period = loop {
            match self.snapshot_for_barrier() {
                Some(period) => break period,
                None => wait_or_give_up()?,
            }
        };
        while !self.elapsed(period) {
            // Re-check: another request may have replaced ours.
            if self.advance(slots) != Progress::Ended || !self.elapsed(period) {
                wait_or_give_up()?;
            }
        }
        let (mine, hand) = loop {
            match self.take_for_barrier() {
                Some(taken) => break taken,
                None => wait_or_give_up()?,
            }
        };
        mine.run();
        while !self.hands.is_empty(hand) {
            wait_or_give_up()?;
        }
        Ok(())
    }
}
