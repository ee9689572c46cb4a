//! The contract between structures that retire and callers that reclaim.

use core::ops::ControlFlow;

use crate::error::messages;

use super::Batch;

/// Read-copy-update, as the structures of this library use it.
///
/// A structure keeps a value of this type, often a reference or an `Arc`. It checks every guard
/// with [`covers`](Rcu::covers), and passes unlinked objects to [`retire`](Rcu::retire). Its users
/// enter in the implementation's own way (a [`Reader`], a CPU, a kernel's own `rcu_read_lock`).
/// They call [`poll`](Rcu::poll) at a convenient time, never under a lock that a drop function
/// takes.
///
/// A kernel implements the trait over its own primitives. `retire` pops the heads and queues them,
/// or queues the batch as a whole with one `call_rcu`. `advance` and `reclaim` do nothing if the
/// kernel drives grace periods itself. The callback calls [`RcuHead::reclaim`].
///
/// # Safety
///
/// An implementer promises:
///
/// - An object in a batch is reclaimed by [`RcuHead::reclaim`], once. For every guard that `covers`
///   accepts, one of two holds. Either the guard was dropped before, and everything that its owner
///   did under it happened before the reclaiming. Or its owner sees, from the creation of the guard
///   on, everything that happened before the call of `retire`.
/// - When `elapsed` returns true for a [`Period`], the same holds with this return in place of the
///   reclaiming, and `snapshot` in place of `retire`.
/// - When `is_quiet` returns true, the same holds with this return in place of the reclaiming, and
///   its call in place of `retire`.
/// - `barrier` returns `Ok` only when every object that was retired before the call has been
///   reclaimed.
///
/// [`Reader`]: super::Reader
/// [`RcuHead::reclaim`]: super::RcuHead::reclaim
pub unsafe trait Rcu {
    /// Proof that a reader is inside. In some implementations it means that preemption is off.
    type Guard<'r>;

    /// Returns true if `guard` delays the reclaiming of objects retired here. A structure refuses
    /// other guards.
    fn covers(&self, guard: &Self::Guard<'_>) -> bool;

    /// Takes unlinked objects; each is reclaimed after a grace period.
    ///
    /// Neither waits nor allocates. May be called under any lock, inside a guard and in a drop
    /// function.
    fn retire(&self, batch: Batch);

    /// The period that is over when all readers inside now have left.
    ///
    /// For callers that keep unlinked objects themselves. It does not start a grace period;
    /// alternating calls of [`elapsed`](Rcu::elapsed) and [`advance`](Rcu::advance) do.
    fn snapshot(&self) -> Period;

    /// Returns true if `period`, which came from here, is over. If not, it requests the next grace
    /// period, even if nothing was retired.
    fn elapsed(&self, period: Period) -> bool;

    /// Returns true if a quick look finds no reader inside. The caller may then reuse objects that
    /// it unlinked before the call: no reader holds them.
    ///
    /// For callers that keep unlinked objects themselves. An implementation whose look would take
    /// long returns false.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Ends the grace period if possible and starts the next, without waiting. Calls no drop
    /// function.
    fn advance(&self) -> Progress;

    /// Calls the drop functions of up to `max` objects whose grace period is over; returns their
    /// number. Does not wait for objects that another caller has already taken.
    fn reclaim(&self, max: usize) -> usize;

    /// Advances and reclaims. A user calls it after releasing its lock.
    fn poll(&self, max: usize) -> usize {
        self.advance();
        self.reclaim(max)
    }

    /// Waits until all objects retired before have been reclaimed, and reclaims ready ones itself.
    ///
    /// For tear-down. It calls `pause` whenever it has to wait: [`spin`], `yield_now` (feature
    /// `std`), or a closure that sleeps, or that gives up with `Break`.
    /// # Errors
    ///
    /// [`BarrierError`]; objects already reclaimed stay so, and the rest stays retired.
    ///
    /// [`spin`]: super::spin
    fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError>;

    /// Number of objects that were retired and not yet reclaimed.
    ///
    /// Only the caller bounds it: on a high value it can refuse, reclaim or wait. If other threads
    /// are active, the value is a snapshot.
    fn pending(&self) -> usize;
}

/// A point in time, as a number: see [`Rcu::snapshot`]. It belongs to one implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Period(usize);

impl Period {
    /// For implementers: the period with this number.
    pub const fn from_number(number: usize) -> Self {
        Self(number)
    }

    /// For implementers: the number.
    pub const fn number(self) -> usize {
        self.0
    }
}

/// Result of [`Rcu::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is retired or wanted.
    Idle,
    /// Another caller is advancing.
    Busy,
    /// A grace period runs and waits for this many readers.
    Waiting {
        /// Readers that were inside when it began and have not left since.
        readers: usize,
    },
    /// A grace period ended; its objects are ready. The next may have begun.
    Ended,
}

messages! {
    /// Reason why a barrier did not complete.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BarrierError {
        /// The caller is a reader and inside a guard: it would wait for itself. Nothing has
        /// changed.
        InsideGuard => "a barrier inside a guard would wait for itself";
        /// `pause` returned `Break`.
        GaveUp => "the barrier timed out before all retired objects were reclaimed";
    }
}

/// Implements [`Rcu`] for a pointer to one.
macro_rules! forwarded {
    ($pointer:ty) => {
        // SAFETY: everything is forwarded, and the promises concern calls and guards, not the type
        // that forwards them.
        unsafe impl<R: Rcu> Rcu for $pointer {
            type Guard<'r> = R::Guard<'r>;

            fn covers(&self, guard: &Self::Guard<'_>) -> bool {
                R::covers(self, guard)
            }

            fn retire(&self, batch: Batch) {
                R::retire(self, batch);
            }

            fn snapshot(&self) -> Period {
                R::snapshot(self)
            }

            fn elapsed(&self, period: Period) -> bool {
                R::elapsed(self, period)
            }

            fn is_quiet(&self) -> bool {
                R::is_quiet(self)
            }

            fn advance(&self) -> Progress {
                R::advance(self)
            }

            fn reclaim(&self, max: usize) -> usize {
                R::reclaim(self, max)
            }

            fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
                R::barrier(self, pause)
            }

            fn pending(&self) -> usize {
                R::pending(self)
            }
        }
    };
}

forwarded!(&R);
#[cfg(feature = "alloc")]
forwarded!(alloc::sync::Arc<R>);
