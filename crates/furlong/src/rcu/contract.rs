//! The contract between structures that retire and whoever reclaims.

use core::{error::Error, fmt, ops::ControlFlow};

use super::batch::Batch;

/// Read-copy-update, as the structures of this library use it.
///
/// A structure keeps a value of this type, often a reference or an `Arc`, asks
/// [`covers`](Rcu::covers) of every guard that it is shown, and hands what it unlinks to
/// [`retire`](Rcu::retire). Its users enter as the implementation has it (a [`Reader`], a CPU, a
/// kernel's own `rcu_read_lock`), and call [`poll`](Rcu::poll) where freeing suits them, never
/// under a lock that a drop function takes.
///
/// A kernel implements the trait over what it has. `retire` pops the heads and queues them, or
/// queues the batch as a whole with one `call_rcu`; `advance` and `reclaim` do nothing if the
/// kernel drives grace periods itself; the callback calls [`RcuHead::reclaim`].
///
/// # Safety
///
/// Whoever implements the trait promises that
///
/// - an object in a batch is reclaimed by [`RcuHead::reclaim`], once, and for every guard that
///   `covers` says yes to one of two holds: the guard was dropped before, and all that its owner
///   did under it happened before the reclaiming; or its owner sees, from the making of the guard
///   on, whatever happened before the call of `retire`;
/// - when `elapsed` says yes to a [`Period`], the same holds with the yes in place of the
///   reclaiming, and `snapshot` in place of `retire`;
/// - when `is_quiet` says yes, the same holds with the yes in place of the reclaiming, and its call
///   in place of `retire`;
/// - `barrier` returns `Ok` only when every object that was retired before the call has been
///   reclaimed.
///
/// [`Reader`]: super::Reader
/// [`RcuHead::reclaim`]: super::RcuHead::reclaim
pub unsafe trait Rcu {
    /// The proof that a reader is inside. It may mean that preemption is off.
    type Guard<'r>;

    /// Whether `guard` holds up what is retired here. A structure refuses other guards.
    fn covers(&self, guard: &Self::Guard<'_>) -> bool;

    /// Takes over objects that were unlinked; each is reclaimed after a grace period.
    ///
    /// Waits for nobody and allocates nothing, may be called under any lock, inside a guard and in
    /// a drop function.
    fn retire(&self, batch: Batch);

    /// The period that is over when all who are inside now have left.
    ///
    /// For those who keep unlinked things themselves. It does not start a grace period; asking
    /// [`elapsed`](Rcu::elapsed) and [`advance`](Rcu::advance) in turn does.
    fn snapshot(&self) -> Period;

    /// Whether `period`, which came from here, is over. If not, the next grace period is wanted
    /// even if nothing was retired.
    fn elapsed(&self, period: Period) -> bool;

    /// Whether nobody is inside, as far as can be said at once. What the caller has unlinked before
    /// it may then use again: no reader has it.
    ///
    /// For those who keep unlinked things themselves. An implementation that would have to look for
    /// long says no.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Does what can be done now, without waiting, for the grace period to end and the next to
    /// start. Calls no drop function.
    fn advance(&self) -> Progress;

    /// Calls the drop functions of up to `max` objects whose grace period is over; returns how
    /// many. What another caller has already taken is not waited for.
    fn reclaim(&self, max: usize) -> usize;

    /// Advances and reclaims: what a user calls after releasing its lock.
    fn poll(&self, max: usize) -> usize {
        self.advance();
        self.reclaim(max)
    }

    /// Waits until all that was retired before has been reclaimed, and reclaims what is ready.
    ///
    /// For tear-down. It calls `pause` whenever it has to wait: [`spin`], `yield_now` (feature
    /// `std`), or a closure that sleeps, or gives up by breaking.
    ///
    /// # Errors
    ///
    /// [`BarrierError`]; what was reclaimed by then stays reclaimed, and the rest stays retired.
    ///
    /// [`spin`]: super::spin
    fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError>;

    /// Objects that were retired and not yet reclaimed.
    ///
    /// Nothing bounds it but the caller: one who sees it too high can refuse, reclaim or wait.
    /// Beside other threads it is a snapshot.
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

/// What [`Rcu::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is retired or wanted.
    Idle,
    /// Another caller is at it.
    Busy,
    /// A grace period runs and waits for this many readers.
    Waiting {
        /// Readers that were inside when it began and have not left since.
        readers: usize,
    },
    /// A grace period ended; what it waited for is ready. The next may have begun.
    Ended,
}

/// Why a barrier did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierError {
    /// The caller is a reader and inside a guard: it would wait for itself. Nothing has changed.
    InsideGuard,
    /// `pause` broke off.
    GaveUp,
}

impl fmt::Display for BarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InsideGuard => "a barrier inside a guard would wait for itself",
            Self::GaveUp => "the barrier was given up before all retired objects were reclaimed",
        })
    }
}

impl Error for BarrierError {}

// SAFETY: everything is forwarded, and the promises are about calls and guards, not about who
// forwards them.
unsafe impl<R: Rcu> Rcu for &R {
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

#[cfg(feature = "alloc")]
// SAFETY: as for a reference.
unsafe impl<R: Rcu> Rcu for alloc::sync::Arc<R> {
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
