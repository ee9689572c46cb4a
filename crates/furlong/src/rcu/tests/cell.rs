//! The safe interface.
#![forbid(unsafe_code)]

use std::boxed::Box;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::{format, vec};

use super::{Tally, retire, small};
use crate::rcu::{Domain, Rcu, RcuBox, RcuCell, ReaderSlot};

/// Counts itself when it is dropped.
struct Counted(Tally, u32);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, crate::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn a_replaced_value_lives_as_long_as_a_guard_from_before() {
    let (rcu, tally) = (Arc::new(small()), Tally::default());
    let reader = rcu.register().unwrap();
    let cell = RcuCell::new(Arc::clone(&rcu), RcuBox::new(Counted(tally.clone(), 1)));
    let guard = reader.enter();
    let old = cell.load(&guard);
    cell.replace(RcuBox::new(Counted(tally.clone(), 2)));
    assert_eq!(
        (rcu.poll(usize::MAX), old.1, cell.load(&guard).1),
        (0, 1, 2)
    );
    drop(guard);
    assert_eq!((rcu.poll(usize::MAX), tally.get()), (1, 1));
    drop(cell);
    assert_eq!(
        (tally.get(), rcu.pending()),
        (2, 0),
        "the last value goes with the cell"
    );
}

#[test]
fn a_guard_of_another_domain_is_refused() {
    let (one, two) = (small(), small());
    let cell = RcuCell::new(&one, RcuBox::new(1));
    let other = two.register().unwrap();
    let guard = other.enter();
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| *cell.load(&guard)));
    assert!(refused.is_err());
    assert!(core::ptr::eq(*cell.rcu(), &raw const one));
}

#[test]
fn slots_may_lie_in_a_box() {
    let slots: Box<[ReaderSlot]> = (0..5).map(|_| ReaderSlot::new()).collect();
    let (rcu, tally) = (Domain::with_slots(slots), Tally::default());
    assert_eq!(rcu.capacity(), 5);
    let reader = rcu.register().unwrap();
    let guard = reader.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.poll(usize::MAX), 0);
    drop(guard);
    assert_eq!(rcu.poll(usize::MAX), 1);
}

#[test]
fn an_rcu_box_is_a_box() {
    let mut boxed = RcuBox::new(vec![1]);
    boxed.push(2);
    assert_eq!(format!("{boxed:?}"), "RcuBox([1, 2])");
    assert_eq!(boxed.into_inner(), [1, 2]);
    let tally = Tally::default();
    drop(RcuBox::try_new(Counted(tally.clone(), 0)));
    assert_eq!(tally.get(), 1);
    // An aligned and a zero-sized value.
    #[repr(align(64))]
    struct Aligned(u8);
    assert_eq!(RcuBox::new(Aligned(9)).0, 9);
    assert_eq!(*RcuBox::new(()), ());
    assert_eq!(**RcuBox::new(Box::new(3)), 3);
}
