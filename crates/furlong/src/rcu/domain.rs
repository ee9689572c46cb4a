//! The domain: readers with slots of their own, and their retired objects.

use core::ops::ControlFlow;

use crate::error::messages;
use crate::forms::{debug_as, default_is_new};

use super::{
    BarrierError, Batch, Core, Guard, Period, Progress, Rcu, Reader, ReaderSlot, ReclaimBatch,
    SlotStore,
};
use crate::sync::const_unless_loom;

/// An implementation of [`Rcu`] for threads, or other owners of a [`Reader`].
///
/// It needs no allocator, no operating system and no thread-local storage. `S` stores its slots,
/// 128 bytes a reader; their number limits the number of readers at a time.
///
/// A dropped domain reclaims all pending objects: readers borrow the domain, so none can be left.
///
/// # Cost
///
/// Entering and leaving are wait-free: a few loads and stores and one fence, all on the reader's
/// own cache lines, and no fence when nested. Retiring is one addition and one compare-and-exchange
/// for a whole batch. Advancing reads each slot that was ever claimed. If earlier objects have not
/// been reclaimed yet, `advance` walks through the newly ready ones, each object once; `reclaim`
/// walks through the objects that it drops.
///
/// # Example
///
/// Without an allocator, with the head inside the object:
///
/// ```
/// use core::{ptr::NonNull, sync::atomic::{AtomicBool, Ordering}};
/// use furlong::rcu::{Batch, Domain, Rcu, RcuHead};
///
/// #[repr(C)]
/// struct Node {
///     head: RcuHead, // first, so that a pointer to it is one to the node
///     free: AtomicBool,
/// }
///
/// unsafe fn free(head: NonNull<RcuHead>) {
///     // SAFETY: the head is the first field of a Node, and the pointer was made from one to it.
///     let node = unsafe { head.cast::<Node>().as_ref() };
///     node.free.store(true, Ordering::Relaxed);
/// }
///
/// static RCU: Domain = Domain::new();
/// static NODE: Node = Node { head: RcuHead::new(), free: AtomicBool::new(false) };
///
/// let mut batch = Batch::new();
/// // SAFETY: the node is static, retired once, and no reader ever reaches it.
/// unsafe { batch.push(NonNull::from(&NODE).cast(), free) };
/// RCU.retire(batch);
/// assert_eq!(RCU.poll(usize::MAX), 1);
/// assert!(NODE.free.load(Ordering::Relaxed));
/// ```
pub struct Domain<S: SlotStore = [ReaderSlot; 64]> {
    core: Core,
    slots: S,
}

impl Domain {
    const_unless_loom! {
        /// A domain for up to 64 readers at a time, in 8 KiB.
        pub const fn new() -> Self {
            Self::with_slots(ReaderSlot::array())
        }
    }
}

default_is_new! { Domain }

impl<S: SlotStore> Domain<S> {
    const_unless_loom! {
        /// A domain whose readers use `slots`.
        ///
        /// # Example
        ///
        /// ```
        /// use furlong::rcu::{Domain, ReaderSlot};
        ///
        /// static SMALL: Domain<[ReaderSlot; 2]> = Domain::with_slots(ReaderSlot::array());
        /// let one = SMALL.register().unwrap();
        /// let two = SMALL.register().unwrap();
        /// assert!(SMALL.register().is_err());
        /// ```
        pub const fn with_slots(slots: S) -> Self {
            Self { core: Core::new(0), slots }
        }
    }

    const_unless_loom! {
        /// A domain that inspects all of its slots, claimed or not.
        pub(super) const fn with_all_slots_used(slots: S) -> Self {
            Self { core: Core::new(usize::MAX), slots }
        }
    }

    /// Registers a reader, with a slot of its own until it is dropped.
    ///
    /// # Errors
    ///
    /// [`NoFreeSlot`] if there are as many readers as slots.
    ///
    /// # Cost
    ///
    /// O(slots), once per thread.
    pub fn register(&self) -> Result<Reader<'_>, NoFreeSlot> {
        let slots = self.slots();
        let slot = self
            .core
            .claim(slots)
            .ok_or(NoFreeSlot { slots: slots.len() })?;
        Ok(Reader::new(slot, &self.core, slots))
    }

    /// The maximum number of readers at a time.
    pub fn capacity(&self) -> usize {
        self.slots().len()
    }

    pub(super) fn core(&self) -> &Core {
        &self.core
    }

    pub(super) fn slots(&self) -> &[ReaderSlot] {
        self.slots.slots()
    }
}

// SAFETY: `grace_period.rs` and `slot.rs` argue the promises about guards, `reclaim_batch.rs` the
// one about the barrier; loom models in tests/loom.rs check them.
unsafe impl<S: SlotStore> Rcu for Domain<S> {
    type Guard<'r> = Guard<'r>;

    fn covers(&self, guard: &Guard<'_>) -> bool {
        core::ptr::eq(guard.core(), &raw const self.core)
    }

    fn retire(&self, batch: Batch) {
        self.core.retire(batch);
    }

    fn snapshot(&self) -> Period {
        self.core.snapshot()
    }

    fn elapsed(&self, period: Period) -> bool {
        self.core.elapsed(period)
    }

    /// Reads every slot that was ever claimed, up to the first reader that is inside.
    fn is_quiet(&self) -> bool {
        self.core.is_quiet(self.slots())
    }

    fn advance(&self) -> Progress {
        self.core.advance(self.slots())
    }

    fn reclaim(&self, max: usize) -> usize {
        self.core.reclaim(max)
    }

    /// See [`Rcu::barrier`]. A domain does not know its caller: inside a guard of the same thread,
    /// or in a drop function, this waits until `pause` gives up. [`Reader::barrier`] refuses.
    fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
        self.core.barrier(self.slots(), pause)
    }

    fn pending(&self) -> usize {
        self.core.pending()
    }
}

impl<S: SlotStore> Drop for Domain<S> {
    fn drop(&mut self) {
        // Once is enough: a drop function that retires here would need a reference to this.
        let all = self.core.take_all();
        // SAFETY: readers and their guards borrow the domain, and so do the references that they
        // hand out: none is left.
        unsafe { ReclaimBatch::new(all, &self.core, None) }.run();
    }
}

debug_as! { Domain<S> where [S: SlotStore]:
    |it| Domain { capacity: it.capacity(), pending: it.pending(), .. }
}

/// All slots of the domain are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFreeSlot {
    /// Number of slots.
    pub slots: usize,
}

messages! { NoFreeSlot:
    Self { slots } => "all {} reader slots of the domain are taken", slots;
}
