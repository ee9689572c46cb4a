//! Readers of a domain, and their guards.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::ControlFlow;

use super::{BarrierError, Core, ReaderSlot};
use crate::forms::debug_as;

/// One reader of a [`Domain`](super::Domain): a thread, a task, or any other user that enters and
/// leaves.
///
/// It may move to another thread between two guards (`Send`), but is not shared (not `Sync`). On
/// drop it returns its slot, which also ends forgotten guards. A reader that is itself forgotten
/// keeps its slot.
///
/// ```compile_fail,E0277
/// # static RCU: furlong::rcu::Domain = furlong::rcu::Domain::new();
/// # let reader = RCU.register().unwrap();
/// fn share(_: impl Sync) {}
/// share(reader);
/// ```
#[must_use = "its slot is given back as soon as this is dropped"]
pub struct Reader<'d> {
    slot: &'d ReaderSlot,
    core: &'d Core,
    slots: &'d [ReaderSlot],
    /// Not `Sync`: one thread at a time writes the slot.
    alone: PhantomData<Cell<()>>,
}

impl<'d> Reader<'d> {
    /// Makes a reader of `slot`, which has been claimed for it.
    pub(super) fn new(slot: &'d ReaderSlot, core: &'d Core, slots: &'d [ReaderSlot]) -> Self {
        Self {
            slot,
            core,
            slots,
            alone: PhantomData,
        }
    }

    /// Enters: objects that the reader then reaches stay valid until the guard is dropped.
    ///
    /// Guards of one reader nest and may be dropped in any order; the section ends with the last.
    ///
    /// # Panics
    ///
    /// If `usize::MAX` guards of this reader are open, which takes a leak of guards.
    ///
    /// # Cost
    ///
    /// Wait-free; one fence, none when nested.
    #[inline]
    pub fn enter(&self) -> Guard<'_> {
        self.slot.enter();
        Guard {
            slot: self.slot,
            core: self.core,
            here: PhantomData,
        }
    }

    /// Returns true if a guard of this reader is open.
    pub fn is_inside(&self) -> bool {
        self.slot.depth() != 0
    }

    /// [`Rcu::barrier`](super::Rcu::barrier), refused inside a guard of this reader.
    ///
    /// # Errors
    ///
    /// [`BarrierError::InsideGuard`] if a guard of this reader is open or was forgotten;
    /// [`BarrierError::GaveUp`] if `pause` returned `Break`.
    pub fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
        if self.is_inside() {
            return Err(BarrierError::InsideGuard);
        }
        self.core.barrier(self.slots, pause)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // Guards borrow the reader, and references to objects borrow the guards. So only forgotten
        // guards can be left, and no one can use those.
        self.slot.release();
    }
}

debug_as! { Reader<'_>: |it| Reader { inside: it.is_inside(), .. } }

/// Proof that a reader is inside, for the guard's lifetime.
///
/// It stays on its thread:
///
/// ```compile_fail,E0277
/// # static RCU: furlong::rcu::Domain = furlong::rcu::Domain::new();
/// # let reader = RCU.register().unwrap();
/// fn send(_: impl Send) {}
/// send(reader.enter());
/// ```
#[must_use = "the section ends as soon as the guard is dropped"]
pub struct Guard<'r> {
    slot: &'r ReaderSlot,
    core: &'r Core,
    /// Not `Send`: only the thread that entered may write the slot.
    here: PhantomData<*const ()>,
}

impl Guard<'_> {
    pub(super) fn core(&self) -> &Core {
        self.core
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.exit();
    }
}

debug_as! { Guard<'_>: Guard { .. } }
