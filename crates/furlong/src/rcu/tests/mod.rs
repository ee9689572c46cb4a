//! Tests of the domain with threads of `std`, and the objects that they retire.

mod barrier;
#[cfg(feature = "alloc")]
mod cell;
#[cfg(feature = "alloc")]
mod contract;
mod cpu;
mod domain;
#[cfg(feature = "alloc")]
mod kernel;
mod misuse;
mod period;
mod slot;
#[cfg(feature = "alloc")]
mod stress;

use std::{
    boxed::Box,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{Batch, Domain, Rcu, RcuHead, ReaderSlot};

/// Counts reclaimed objects.
#[derive(Clone, Default)]
struct Tally(Arc<AtomicUsize>);

impl Tally {
    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// An object with a head that is not its first field, and a closure to call when it is reclaimed.
struct Object {
    tally: Tally,
    head: RcuHead,
    then: Box<dyn FnOnce() + Send>,
}

impl Object {
    /// Puts a new object into `batch`, and counts it in `tally` when it is reclaimed.
    fn push(batch: &mut Batch, tally: &Tally) {
        Self::push_then(batch, tally, || ());
    }

    /// Same as `push`, and calls `then` when the object is reclaimed.
    fn push_then(batch: &mut Batch, tally: &Tally, then: impl FnOnce() + Send + 'static) {
        let object = Self {
            tally: tally.clone(),
            head: RcuHead::new(),
            then: Box::new(then),
        };
        let object = Box::into_raw(Box::new(object));
        // SAFETY: the box's memory is live; this only computes an address in it.
        let head = unsafe { &raw mut (*object).head };
        let head = NonNull::new(head).unwrap();
        // SAFETY: the object is boxed, in no structure, has no other owner, and is `Send`; the
        // pointer was made from the object's.
        unsafe { batch.push(head, Self::reclaim) };
    }

    unsafe fn reclaim(head: NonNull<RcuHead>) {
        // SAFETY: the head lies in an object, and the pointer is good for all of it.
        let object = unsafe { head.byte_sub(core::mem::offset_of!(Self, head)) };
        // SAFETY: it came out of a box, and is reclaimed once.
        let object = unsafe { Box::from_raw(object.cast::<Self>().as_ptr()) };
        object.tally.0.fetch_add(1, Ordering::SeqCst);
        (object.then)();
    }
}

/// Retires `count` new objects, one batch each.
fn retire(rcu: &impl Rcu, count: usize, tally: &Tally) {
    for _ in 0..count {
        let mut batch = Batch::new();
        Object::push(&mut batch, tally);
        rcu.retire(batch);
    }
}

/// A domain with few slots, so that running out of them is common.
fn small() -> Domain<[ReaderSlot; 3]> {
    Domain::with_slots(ReaderSlot::array())
}
