//! The two words inside a retired object.

use core::ptr::NonNull;

use crate::forms::{debug_as, default_is_new};
use crate::sync::{UnsafeCell, const_unless_loom};

/// The function that reclaims a retired object, given its head.
///
/// It is called once, at a time and in a thread or interrupt that the reclaiming caller chooses.
pub type ReclaimFn = unsafe fn(NonNull<RcuHead>);

/// The field that makes an object retirable: a link and a function, two words.
///
/// While the object is in use the head has no meaning. Readers may hold shared references to the
/// whole object, head included, while a writer retires it: the two words are in cells.
pub struct RcuHead {
    link: UnsafeCell<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    next: Option<NonNull<RcuHead>>,
    reclaim: ReclaimFn,
}

// SAFETY: the link is private and reached only through the unsafe methods below, whose caller owns
// the head (I4); a shared reference gives access to nothing.
unsafe impl Sync for RcuHead {}

// SAFETY: the link points to another head that the same chain owns, and chains are `Send`.
unsafe impl Send for RcuHead {}

impl RcuHead {
    const_unless_loom! {
        /// A head that is in no batch.
        pub const fn new() -> Self {
            Self { link: UnsafeCell::new(Link { next: None, reclaim: unset }) }
        }
    }

    /// Calls the reclaim function of the object that contains `head`.
    ///
    /// For implementers of [`Rcu`](crate::rcu::Rcu), which get the head from
    /// [`Batch::pop`](crate::rcu::Batch::pop).
    ///
    /// # Safety
    ///
    /// The head was popped from a batch and has not been reclaimed since, and a grace period that
    /// began after the batch was retired is over. The object must not be used again.
    pub unsafe fn reclaim(head: NonNull<Self>) {
        // SAFETY: the object is alive, since the function that ends its life is only called below.
        let this = unsafe { head.as_ref() };
        let reclaim = this.link.with(|link| {
            // SAFETY: the caller owns the head, so nothing writes the link.
            unsafe { (*link).reclaim }
        });
        // SAFETY: the function and the head came together in `Batch::push`, whose caller promised
        // that the function may be called with the head after a grace period, from any thread.
        unsafe { reclaim(head) };
    }

    /// Makes `head` a chain of its own, with `reclaim` as its reclaim function.
    ///
    /// # Safety
    ///
    /// The head is alive and owned by the caller alone (I4).
    pub(super) unsafe fn prepare(head: NonNull<Self>, reclaim: ReclaimFn) {
        // SAFETY: the caller promises that the head is alive.
        let this = unsafe { head.as_ref() };
        this.link.with_mut(|link| {
            // SAFETY: the caller owns the head; readers of the object have no way to the link.
            unsafe {
                *link = Link {
                    next: None,
                    reclaim,
                }
            };
        });
    }

    /// The head after this one.
    ///
    /// # Safety
    ///
    /// The head is alive and owned by the caller alone (I4).
    pub(crate) unsafe fn next(head: NonNull<Self>) -> Option<NonNull<Self>> {
        // SAFETY: the caller promises that the head is alive.
        let this = unsafe { head.as_ref() };
        this.link.with(|link| {
            // SAFETY: the caller owns the head, so nothing writes the link.
            unsafe { (*link).next }
        })
    }

    /// Links `next` after this head.
    ///
    /// # Safety
    ///
    /// The head is alive and owned by the caller alone (I4).
    pub(super) unsafe fn set_next(head: NonNull<Self>, next: Option<NonNull<Self>>) {
        // SAFETY: the caller promises that the head is alive.
        let this = unsafe { head.as_ref() };
        this.link.with_mut(|link| {
            // SAFETY: the caller owns the head; readers of the object have no way to the link.
            unsafe { (*link).next = next };
        });
    }
}

default_is_new! { RcuHead }

debug_as! { RcuHead: RcuHead { .. } }

/// The function of a head that is in no batch. Never called: `Batch::push` sets another.
unsafe fn unset(_: NonNull<RcuHead>) {
    unreachable!("a head is reclaimed only after it was pushed");
}
