//! The grace period: when it begins, whom it waits for, when it ends.
#![forbid(unsafe_code)]

use core::mem;

use super::{
    batch::Batch,
    chain::Chain,
    contract::{Period, Progress},
    inbox::Inbox,
    lot::Hands,
    slot::ReaderSlot,
};
use crate::sync::{
    TryLock,
    atomic::{AtomicUsize, Ordering, fence},
    const_unless_loom,
};

/// All that a domain has beside its slots.
///
/// What retiring threads write lies in lines of its own, away from what readers of the period and
/// reclaiming threads use.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) retired: Retired,
    /// Odd while a grace period runs (I7). Written by the keeper.
    period: AtomicUsize,
    /// The number of a period that somebody asked about and that was not over.
    wanted: AtomicUsize,
    /// Slots from here on were never claimed.
    used: AtomicUsize,
    pub(super) keeper: TryLock<Keeper>,
    pub(super) hands: Hands,
}

/// What retiring writes.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Retired {
    pub(super) inbox: Inbox,
    /// I5.
    pub(super) pending: AtomicUsize,
}

/// The state of the grace period, worked on by one caller at a time.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Objects that the running grace period is for.
    waiting: Chain,
    /// Objects whose grace period is over.
    pub(super) ready: Chain,
    /// Whether a grace period runs.
    running: bool,
    /// Slots that the running grace period looks at.
    slots: usize,
    /// Which of the two hands takes objects out; the barrier changes it.
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
                keeper: TryLock::new(Keeper {
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
        // Relaxed: a count. It goes up before the objects can be reclaimed, for `inbox-push` and
        // `inbox-take` lie between, so it never falls below zero.
        self.retired
            .pending
            .fetch_add(batch.len(), Ordering::Relaxed);
        self.retired.inbox.push(batch.into_chain());
    }

    pub(super) fn pending(&self) -> usize {
        // Relaxed: a count; see `Rcu::pending`.
        self.retired.pending.load(Ordering::Relaxed)
    }

    /// Finds a slot that no reader has, and claims it.
    pub(super) fn claim<'d>(&self, slots: &'d [ReaderSlot]) -> Option<&'d ReaderSlot> {
        let index = slots.iter().position(ReaderSlot::claim)?;
        // Relaxed, `used-raise`: the reader's next `reader-fence` publishes it. If that comes
        // before `keeper-fence`, the keeper looks far enough; if not, it need not look.
        self.used.fetch_max(index + 1, Ordering::Relaxed);
        Some(&slots[index])
    }

    pub(super) fn snapshot(&self) -> Period {
        // SeqCst, `snapshot-fence`: pairs with `keeper-fence`. If the keeper's comes first, the
        // load below sees its period, and the next one is asked for. If it comes later, then all
        // that happened before the snapshot is seen by readers that the keeper does not wait for.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        end_after(self.period.load(Ordering::Relaxed))
    }

    /// The period at whose end all that was retired before is ready. `None` if somebody advances.
    ///
    /// It asks for more than `snapshot` does: that the inbox is taken later. Somebody who has taken
    /// it, and not yet raised the number, must not be believed; hence the lock.
    pub(super) fn snapshot_for_barrier(&self) -> Option<Period> {
        let _keeper = self.keeper.try_lock()?;
        // Relaxed: only the keeper writes it.
        Some(end_after(self.period.load(Ordering::Relaxed)))
    }

    pub(super) fn elapsed(&self, period: Period) -> bool {
        // Acquire: pairs with `period-end`; all sections that it waited for happened before.
        let number = self.period.load(Ordering::Acquire);
        if is_over(period.number(), number) {
            return true;
        }
        // Relaxed: a wish, looked at by whoever advances next. Of two wishes the last one stands,
        // and the other is made again when its owner asks again.
        self.wanted.store(period.number(), Ordering::Relaxed);
        false
    }

    pub(super) fn is_quiet(&self, slots: &[ReaderSlot]) -> bool {
        // SeqCst, `quiet-fence`: pairs with `reader-fence`, see there. What is asked about was
        // unlinked by the caller, before.
        fence(Ordering::SeqCst);
        // Relaxed: pairs with `used-raise`, ordered by the fences.
        let used = self.used.load(Ordering::Relaxed).min(slots.len());
        slots[..used].iter().all(ReaderSlot::is_outside)
    }

    pub(super) fn advance(&self, slots: &[ReaderSlot]) -> Progress {
        let Some(mut keeper) = self.keeper.try_lock() else {
            return Progress::Busy;
        };
        let mut readers = 0;
        let mut ended = false;
        if keeper.running {
            readers = self.finish(&mut keeper, slots);
            ended = readers == 0;
        }
        if !keeper.running && self.start(&mut keeper, slots) {
            readers = self.finish(&mut keeper, slots);
            ended |= readers == 0;
        }
        match (ended, readers) {
            (true, _) => Progress::Ended,
            (false, 0) => Progress::Idle,
            (false, readers) => Progress::Waiting { readers },
        }
    }

    /// Begins a grace period for all that is in the inbox, if anything is, or if one is wanted.
    fn start(&self, keeper: &mut Keeper, slots: &[ReaderSlot]) -> bool {
        // Relaxed: only the keeper writes it.
        let number = self.period.load(Ordering::Relaxed);
        // Relaxed: see `elapsed`.
        let wanted = !is_over(self.wanted.load(Ordering::Relaxed), number);
        if self.retired.inbox.is_empty() && !wanted {
            return false;
        }
        keeper.waiting = self.retired.inbox.take();
        keeper.running = true;
        // Relaxed: `keeper-fence` publishes it to `snapshot`.
        self.period.store(number.wrapping_add(1), Ordering::Relaxed);
        // SeqCst, `keeper-fence`: pairs with `reader-fence`, see there, and `snapshot-fence`. What
        // was unlinked before it happened before, by `inbox-push` and `inbox-take`.
        fence(Ordering::SeqCst);
        // Relaxed: pairs with `used-raise`, ordered by the fences.
        keeper.slots = self.used.load(Ordering::Relaxed).min(slots.len());
        slots[..keeper.slots].iter().for_each(ReaderSlot::note);
        true
    }

    /// Ends the grace period if no straggler is left; returns how many there are.
    fn finish(&self, keeper: &mut Keeper, slots: &[ReaderSlot]) -> usize {
        let looked_at = &slots[..keeper.slots];
        let readers = looked_at.iter().filter(|slot| slot.is_straggler()).count();
        if readers == 0 {
            let waiting = mem::replace(&mut keeper.waiting, Chain::EMPTY);
            keeper.ready.push_front(waiting);
            keeper.running = false;
            // Relaxed: only the keeper writes it.
            let number = self.period.load(Ordering::Relaxed);
            // Release, `period-end`: pairs with the load in `elapsed`.
            self.period.store(number.wrapping_add(1), Ordering::Release);
        }
        readers
    }

    /// Sets the period's number, for tests that let it come round.
    #[cfg(all(test, not(loom)))]
    pub(super) fn set_period(&self, number: usize) {
        self.period.store(number, Ordering::SeqCst);
        self.wanted.store(number, Ordering::SeqCst);
    }

    /// All that is retired, whatever its grace period. For the domain's end, when no reader is.
    pub(super) fn take_all(&mut self) -> Chain {
        let mut all = self.retired.inbox.take();
        let keeper = self.keeper.get_mut();
        all.push_front(mem::replace(&mut keeper.waiting, Chain::EMPTY));
        all.push_front(mem::replace(&mut keeper.ready, Chain::EMPTY));
        all
    }
}

/// The end of the first grace period that begins after `number` was read. If one runs (odd) it may
/// have begun before, so it is the one after.
fn end_after(number: usize) -> Period {
    Period::from_number(number.wrapping_add(3) & !1)
}

/// Whether `period` is over at `number`: right if they lie less than half of all numbers apart.
fn is_over(period: usize, number: usize) -> bool {
    number.wrapping_sub(period) <= usize::MAX / 2
}
