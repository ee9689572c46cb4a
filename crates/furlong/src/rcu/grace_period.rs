//! The grace period: its start, its stragglers, its end.
#![forbid(unsafe_code)]

use core::mem;

use super::{Batch, Chain, Hands, Inbox, Period, Progress, ReaderSlot};
use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::{TryLock, const_unless_loom};

/// The state of a domain apart from its slots.
///
/// Words that retiring threads write lie in cache lines of their own, apart from those that callers
/// of `elapsed` and reclaiming threads use.
pub(super) struct Core {
    pub(super) retired: Retired,
    /// Odd while a grace period runs (I7). Written under the grace period's lock.
    period: AtomicUsize,
    /// The number of a requested period that was not over.
    wanted: AtomicUsize,
    /// Slots from this index on were never claimed.
    used: AtomicUsize,
    pub(super) grace_period: TryLock<GracePeriod>,
    pub(super) hands: Hands,
}

/// Words that retiring writes.
#[repr(align(128))]
pub(super) struct Retired {
    pub(super) inbox: Inbox,
    /// Number of pending objects (I5).
    pub(super) pending: AtomicUsize,
}

/// The state of the grace period, used by one caller at a time.
pub(super) struct GracePeriod {
    /// Objects of the running grace period.
    waiting: Chain,
    /// Objects whose grace period is over.
    pub(super) ready: Chain,
    /// True while a grace period runs.
    running: bool,
    /// Number of slots that the running grace period inspects.
    slots: usize,
    /// Index of the hand through which reclaim batches are taken; the barrier switches it.
    pub(super) hand: usize,
}

impl Core {
    const_unless_loom! {
        /// A domain's state. Slots from `used` on were never claimed.
        pub(super) const fn new(used: usize) -> Self {
            Self {
                retired: Retired { inbox: Inbox::new(), pending: AtomicUsize::new(0) },
                period: AtomicUsize::new(0),
                wanted: AtomicUsize::new(0),
                used: AtomicUsize::new(used),
                grace_period: TryLock::new(GracePeriod {
                    waiting: Chain::EMPTY,
                    ready: Chain::EMPTY,
                    running: false,
                    slots: 0,
                    hand: 0,
                }),
                hands: Hands::new(),
            }
        }
    }

    pub(super) fn retire(&self, batch: Batch) {
        if batch.is_empty() {
            return;
        }
        // Relaxed: a count. It is incremented before the objects can be reclaimed, since
        // `inbox-push` and `inbox-take` come between, so it never falls below zero.
        self.retired
            .pending
            .fetch_add(batch.len(), Ordering::Relaxed);
        self.retired.inbox.push(batch.into_chain());
    }

    pub(super) fn pending(&self) -> usize {
        // Relaxed: a count; see `Rcu::pending`.
        self.retired.pending.load(Ordering::Relaxed)
    }

    /// Finds a free slot, and claims it.
    pub(super) fn claim<'d>(&self, slots: &'d [ReaderSlot]) -> Option<&'d ReaderSlot> {
        let index = slots.iter().position(ReaderSlot::claim)?;
        // Relaxed, `used-raise`: the reader's next `reader-fence` publishes it. If that comes
        // before `period-fence`, the grace period inspects enough slots; if not, it need not
        // inspect this one.
        self.used.fetch_max(index + 1, Ordering::Relaxed);
        Some(&slots[index])
    }

    pub(super) fn snapshot(&self) -> Period {
        // SeqCst, `snapshot-fence`: pairs with `period-fence`. If the grace period's comes first,
        // the load below sees its period, and the snapshot names the next one. If it comes later,
        // all that happened before the snapshot is seen by readers that the grace period does not
        // wait for.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        end_after(self.period.load(Ordering::Relaxed))
    }

    /// The period at whose end all objects retired before are ready. `None` if another caller
    /// advances.
    ///
    /// It needs more than `snapshot`: the inbox must be taken later. A concurrent caller may have
    /// taken the inbox without having raised the number yet, hence the lock.
    pub(super) fn snapshot_for_barrier(&self) -> Option<Period> {
        let _grace_period = self.grace_period.try_lock()?;
        // Relaxed: written under this lock alone.
        Some(end_after(self.period.load(Ordering::Relaxed)))
    }

    pub(super) fn elapsed(&self, period: Period) -> bool {
        // Acquire: pairs with `period-end`; all sections of readers that it waited for happened
        // before.
        let number = self.period.load(Ordering::Acquire);
        if is_over(period.number(), number) {
            return true;
        }
        // Relaxed: a request, read by the next caller that advances. Of two requests the last one
        // stays; the owner of the other repeats it with its next call.
        self.wanted.store(period.number(), Ordering::Relaxed);
        false
    }

    pub(super) fn is_quiet(&self, slots: &[ReaderSlot]) -> bool {
        // SeqCst, `quiet-fence`: pairs with `reader-fence`, see there. The caller unlinked its
        // objects before this fence.
        fence(Ordering::SeqCst);
        // Relaxed: pairs with `used-raise`, ordered by the fences.
        let used = self.used.load(Ordering::Relaxed).min(slots.len());
        slots[..used].iter().all(ReaderSlot::is_outside)
    }

    pub(super) fn advance(&self, slots: &[ReaderSlot]) -> Progress {
        let Some(mut grace_period) = self.grace_period.try_lock() else {
            return Progress::Busy;
        };
        let mut readers = 0;
        let mut ended = false;
        if grace_period.running {
            readers = self.finish(&mut grace_period, slots);
            ended = readers == 0;
        }
        if !grace_period.running && self.start(&mut grace_period, slots) {
            readers = self.finish(&mut grace_period, slots);
            ended |= readers == 0;
        }
        match (ended, readers) {
            (true, _) => Progress::Ended,
            (false, 0) => Progress::Idle,
            (false, readers) => Progress::Waiting { readers },
        }
    }

    /// Begins a grace period for all objects in the inbox, if there are any, or if one is
    /// requested.
    fn start(&self, grace_period: &mut GracePeriod, slots: &[ReaderSlot]) -> bool {
        // Relaxed: written under this lock alone.
        let number = self.period.load(Ordering::Relaxed);
        // Relaxed: see `elapsed`.
        let wanted = !is_over(self.wanted.load(Ordering::Relaxed), number);
        if self.retired.inbox.is_empty() && !wanted {
            return false;
        }
        grace_period.waiting = self.retired.inbox.take();
        grace_period.running = true;
        // Release, a second `period-end`: pairs with the load in `elapsed`, which may read this
        // number and not the one before. `period-fence` publishes it to `snapshot`.
        self.period.store(number.wrapping_add(1), Ordering::Release);
        // SeqCst, `period-fence`: pairs with `reader-fence`, see there, and `snapshot-fence`.
        // Unlinking of the objects taken happened before it, by `inbox-push` and `inbox-take`.
        fence(Ordering::SeqCst);
        // Relaxed: pairs with `used-raise`, ordered by the fences.
        grace_period.slots = self.used.load(Ordering::Relaxed).min(slots.len());
        slots[..grace_period.slots]
            .iter()
            .for_each(ReaderSlot::note);
        true
    }

    /// Ends the grace period if no straggler is left; returns the number of stragglers.
    fn finish(&self, grace_period: &mut GracePeriod, slots: &[ReaderSlot]) -> usize {
        let looked_at = &slots[..grace_period.slots];
        let readers = looked_at.iter().filter(|slot| slot.is_straggler()).count();
        if readers == 0 {
            let waiting = mem::replace(&mut grace_period.waiting, Chain::EMPTY);
            grace_period.ready.push_front(waiting);
            grace_period.running = false;
            // Relaxed: written under this lock alone.
            let number = self.period.load(Ordering::Relaxed);
            // Release, `period-end`: pairs with the load in `elapsed`.
            self.period.store(number.wrapping_add(1), Ordering::Release);
        }
        readers
    }

    /// Sets the period's number, for tests of its wrap-around.
    #[cfg(all(test, not(loom)))]
    pub(super) fn set_period(&self, number: usize) {
        self.period.store(number, Ordering::SeqCst);
        self.wanted.store(number, Ordering::SeqCst);
    }

    /// All retired objects, regardless of their grace periods. For the end of the domain, when no
    /// reader exists.
    pub(super) fn take_all(&mut self) -> Chain {
        let mut all = self.retired.inbox.take();
        let grace_period = self.grace_period.get_mut();
        all.push_front(mem::replace(&mut grace_period.waiting, Chain::EMPTY));
        all.push_front(mem::replace(&mut grace_period.ready, Chain::EMPTY));
        all
    }
}

/// The end of the first grace period that begins after `number` was read. If one runs (odd), it may
/// have begun before, so the result is the end of the one after.
fn end_after(number: usize) -> Period {
    Period::from_number(number.wrapping_add(3) & !1)
}

/// True if `period` is over at `number`; correct if they are less than half the number range apart.
fn is_over(period: usize, number: usize) -> bool {
    number.wrapping_sub(period) <= usize::MAX / 2
}
