//! The inbox: batches that wait for the next grace period.

use core::ptr::{self, NonNull};

use crate::rcu::{Chain, RcuHead};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::const_unless_loom;

/// A stack of retired heads. Any thread pushes; the thread that advances takes all of it.
///
/// No thread pops a single head, so a head that is pushed again at the same address (ABA) does no
/// harm.
pub(crate) struct Inbox {
    /// Owns (I4) the heads from here on.
    top: AtomicPtr<RcuHead>,
}

impl Inbox {
    const_unless_loom! {
        pub(crate) const fn new() -> Self {
            Self { top: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Pushes all of `chain`. Lock-free: it retries only if another thread succeeded.
    pub(crate) fn push(&self, mut chain: Chain) {
        let Some(first) = chain.first() else { return };
        // Relaxed: the address is only compared and stored, never followed.
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: the chain is given away below, or linked elsewhere first.
            unsafe { chain.point_last_at(NonNull::new(top)) };
            // Release, `inbox-push`: pairs with `inbox-take`. The links, the writer's accesses to
            // the objects and their unlinking happen before the grace period. A push on top of
            // another's heads continues the release sequence of that other push, so the taker sees
            // those links too. A failed attempt only reads an address and may be relaxed.
            match self.top.compare_exchange_weak(
                top,
                first.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                // The inbox owns the heads now; a dropped chain leaves its own alone.
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// True if the inbox is empty.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: only a hint. A push that happened before is seen, since it is the same word.
        self.top.load(Ordering::Relaxed).is_null()
    }

    /// Takes all heads.
    pub(crate) fn take(&self) -> Chain {
        // Acquire, `inbox-take`: pairs with `inbox-push`. The grace period's fence that follows
        // would suffice; but then every taker would need one.
        let first = self.top.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the heads were pushed as chains, each linked to the heads below it at the
        // successful exchange. The swap makes them ours, and `inbox-push` is seen.
        unsafe { Chain::from_first(NonNull::new(first)) }
    }
}
