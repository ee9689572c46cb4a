//! Forgotten guards, ended threads, drop functions that retire, reclaim or panic.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::ToString;
use std::sync::Arc;
use std::{mem, thread};

use super::{Object, Tally, retire, small};
use crate::rcu::{Batch, Domain, NoFreeSlot, Progress, Rcu};

#[test]
fn a_forgotten_guard_holds_up_until_its_reader_is_dropped() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    mem::forget(reader.enter());
    retire(&rcu, 1, &tally);
    drop(reader.enter());
    assert!(reader.is_inside());
    assert_eq!(rcu.poll(usize::MAX), 0);
    drop(reader);
    assert_eq!(rcu.poll(usize::MAX), 1);
    // The slot is reset for its next reader.
    let next = rcu.register().unwrap();
    assert!(!next.is_inside());
    let guard = next.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.poll(usize::MAX), 0);
    drop(guard);
    assert_eq!(rcu.poll(usize::MAX), 1);
}

#[test]
fn a_forgotten_reader_keeps_its_slot_and_holds_nothing_up() {
    let (rcu, tally) = (small(), Tally::default());
    mem::forget(rcu.register().unwrap());
    let others = [rcu.register().unwrap(), rcu.register().unwrap()];
    let full = rcu.register().unwrap_err();
    assert_eq!(full, NoFreeSlot { slots: 3 });
    assert_eq!(
        full.to_string(),
        "all 3 reader slots of the domain are taken"
    );
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.poll(usize::MAX), 1);
    drop(others);
    assert!(rcu.register().is_ok());
}

#[test]
fn a_thread_that_panics_inside_leaves_and_gives_its_slot_back() {
    let (rcu, tally) = (small(), Tally::default());
    for _ in 0..2 * rcu.capacity() {
        let panicked = thread::scope(|scope| {
            scope
                .spawn(|| {
                    let reader = rcu.register().unwrap();
                    let _guard = reader.enter();
                    retire(&rcu, 1, &tally);
                    panic!("a reader that panics, on purpose");
                })
                .join()
        });
        assert!(panicked.is_err());
        assert_eq!(rcu.poll(usize::MAX), 1);
    }
}

#[test]
fn a_drop_function_may_retire_and_what_it_retires_waits_for_readers_again() {
    let (rcu, tally) = (Arc::new(small()), Tally::default());
    let mut batch = Batch::new();
    let (inner, count) = (Arc::clone(&rcu), tally.clone());
    Object::push_then(&mut batch, &tally, move || retire(&*inner, 1, &count));
    rcu.retire(batch);
    let reader = rcu.register().unwrap();
    assert_eq!(rcu.advance(), Progress::Ended);
    let guard = reader.enter();
    assert_eq!(rcu.reclaim(usize::MAX), 1);
    assert_eq!((rcu.poll(usize::MAX), rcu.pending()), (0, 1));
    drop(guard);
    assert_eq!(rcu.poll(usize::MAX), 1);
    assert_eq!((tally.get(), rcu.pending()), (2, 0));
}

#[test]
fn a_drop_function_may_advance_and_reclaim() {
    let (rcu, tally) = (Arc::new(small()), Tally::default());
    let mut batch = Batch::new();
    for _ in 0..3 {
        let inner = Arc::clone(&rcu);
        Object::push_then(&mut batch, &tally, move || {
            inner.poll(1);
        });
    }
    rcu.retire(batch);
    assert_eq!(rcu.advance(), Progress::Ended);
    // One here, and each reclaims one more.
    assert_eq!(rcu.reclaim(1), 1);
    assert_eq!((tally.get(), rcu.pending()), (3, 0));
}

#[test]
fn a_panicking_drop_function_does_not_keep_the_rest_from_being_reclaimed() {
    let (rcu, tally) = (small(), Tally::default());
    let mut batch = Batch::new();
    Object::push(&mut batch, &tally);
    Object::push_then(&mut batch, &tally, || {
        panic!("a drop function that panics, on purpose")
    });
    Object::push(&mut batch, &tally);
    rcu.retire(batch);
    let panicked = catch_unwind(AssertUnwindSafe(|| rcu.poll(usize::MAX)));
    assert!(panicked.is_err());
    assert_eq!((tally.get(), rcu.pending()), (3, 0));
    // Neither the grace period nor the hand is stuck.
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.barrier(|| panic!("nothing to wait for")), Ok(()));
    assert_eq!((tally.get(), rcu.pending()), (4, 0));
}

#[test]
fn a_reader_may_go_to_another_thread_between_guards() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    drop(reader.enter());
    let reader = thread::scope(|scope| {
        scope
            .spawn(move || {
                drop(reader.enter());
                reader
            })
            .join()
            .unwrap()
    });
    let _guard = reader.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.poll(usize::MAX), 0);
}

#[test]
fn guards_of_another_domain_are_told_apart() {
    let (one, two) = (small(), Domain::new());
    let (r1, r2) = (one.register().unwrap(), two.register().unwrap());
    assert!(one.covers(&r1.enter()));
    assert!(!one.covers(&r2.enter()));
    assert!(<&_ as Rcu>::covers(&&two, &r2.enter()));
}
