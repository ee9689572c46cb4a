//! Where batches wait for the next grace period to take them.

use core::ptr::{self, NonNull};

use super::{chain::Chain, head::RcuHead};
use crate::sync::{
    atomic::{AtomicPtr, Ordering},
    const_unless_loom,
};

/// A stack of retired heads. Anyone pushes; who advances takes all of it.
///
/// Nobody takes a single head, so a head that comes back at the same address does no harm.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Owns (I4) the heads from here on.
    top: AtomicPtr<RcuHead>,
}

impl Inbox {
    const_unless_loom! {
        pub(super) const fn new() -> Self {
            Self { top: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Puts all of `chain` in. Lock-free: it tries again only when somebody else got through.
    pub(super) fn push(&self, mut chain: Chain) {
        let Some(first) = chain.first() else { return };
        // Relaxed: the address is only compared and stored, never followed.
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: the chain is given away below, or pointed elsewhere first.
            unsafe { chain.point_last_at(NonNull::new(top)) };
            // Release, `inbox-push`: pairs with `inbox-take`. The links, and whatever the writer
            // did to the objects and to unlink them, happens before the grace period. A push that
            // lands on another's heads continues the release sequence of that other push, so the
            // taker sees those links too. A failed attempt learns an address and may be relaxed.
            match self.top.compare_exchange_weak(
                top,
                first.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        // The inbox owns the heads now.
        let _ = chain.into_first();
    }

    /// Whether there is nothing to take.
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: a look only. A push that happened before is seen, for the word is the same.
        self.top.load(Ordering::Relaxed).is_null()
    }

    /// Takes all there is.
    pub(super) fn take(&self) -> Chain {
        // Acquire, `inbox-take`: pairs with `inbox-push`. The keeper's fence, which follows, would
        // do; but then nobody could take without one.
        let first = self.top.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the heads were pushed as chains, each linked to what was below it at the
        // successful exchange; the swap makes them ours, and `inbox-push` is seen.
        unsafe { Chain::from_first(NonNull::new(first)) }
    }
}
