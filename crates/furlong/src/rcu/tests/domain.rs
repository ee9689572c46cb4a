//! Reclamation: the objects and the times.
#![forbid(unsafe_code)]

use std::boxed::Box;

use super::{Object, Tally, retire, small};
use crate::rcu::{Batch, Domain, Progress, Rcu, ReaderSlot};

#[test]
fn an_object_waits_for_the_reader_that_entered_before_it_was_retired() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    let guard = reader.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    assert_eq!(
        (rcu.reclaim(usize::MAX), tally.get(), rcu.pending()),
        (0, 0, 1)
    );
    drop(guard);
    assert_eq!(rcu.advance(), Progress::Ended);
    assert_eq!(
        (tally.get(), rcu.pending()),
        (0, 1),
        "advancing drops nothing"
    );
    assert_eq!(
        (rcu.reclaim(usize::MAX), tally.get(), rcu.pending()),
        (1, 1, 0)
    );
    assert_eq!(rcu.advance(), Progress::Idle);
}

#[test]
fn without_readers_one_poll_reclaims_everything() {
    let (rcu, tally) = (small(), Tally::default());
    let _outside = rcu.register().unwrap();
    retire(&rcu, 5, &tally);
    assert_eq!(rcu.poll(usize::MAX), 5);
    assert_eq!((tally.get(), rcu.pending()), (5, 0));
}

#[test]
fn a_reader_that_enters_after_the_grace_period_began_holds_nothing_up() {
    let (rcu, tally) = (small(), Tally::default());
    let (early, late) = (rcu.register().unwrap(), rcu.register().unwrap());
    let guard = early.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    let _late = late.enter();
    drop(guard);
    assert_eq!(rcu.poll(usize::MAX), 1);
}

#[test]
fn a_reader_that_left_and_entered_again_is_not_waited_for() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    let first = reader.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    drop(first);
    let _second = reader.enter();
    assert_eq!(rcu.poll(usize::MAX), 1);
}

#[test]
fn a_section_ends_with_the_last_of_its_guards_in_whatever_order() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    let outer = reader.enter();
    let inner = reader.enter();
    retire(&rcu, 1, &tally);
    drop(outer);
    assert!(reader.is_inside());
    let third = reader.enter();
    drop(inner);
    assert_eq!(rcu.poll(usize::MAX), 0);
    drop(third);
    assert!(!reader.is_inside());
    assert_eq!(rcu.poll(usize::MAX), 1);
}

#[test]
fn every_straggler_is_counted_and_waited_for() {
    let (rcu, tally) = (small(), Tally::default());
    let readers = [(); 3].map(|()| rcu.register().unwrap());
    let [a, b, c] = readers.each_ref().map(|reader| reader.enter());
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 3 });
    drop(b);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 2 });
    drop(c);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    drop(a);
    assert_eq!(rcu.poll(1), 1);
}

#[test]
fn a_stalled_reader_does_not_stop_others_from_retiring() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    let guard = reader.enter();
    for already in 0..100 {
        assert_eq!(rcu.pending(), already);
        retire(&rcu, 1, &tally);
        assert_eq!(rcu.poll(usize::MAX), 0);
    }
    drop(guard);
    // The objects of the first grace period, and the rest with the next one, which no reader
    // delays.
    assert_eq!(rcu.poll(usize::MAX), 100);
}

#[test]
fn what_is_retired_during_a_grace_period_waits_for_the_next() {
    let (rcu, tally) = (small(), Tally::default());
    let (a, b) = (rcu.register().unwrap(), rcu.register().unwrap());
    let first = a.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    let second = b.enter();
    retire(&rcu, 10, &tally);
    drop(first);
    assert_eq!(
        rcu.poll(usize::MAX),
        1,
        "the second reader may hold the ten"
    );
    drop(second);
    assert_eq!(rcu.poll(usize::MAX), 10);
}

#[test]
fn reclaim_takes_no_more_than_it_was_asked_for() {
    let (rcu, tally) = (small(), Tally::default());
    retire(&rcu, 7, &tally);
    rcu.advance();
    assert_eq!(rcu.reclaim(0), 0);
    assert_eq!(rcu.reclaim(3), 3);
    assert_eq!((tally.get(), rcu.pending()), (3, 4));
    // More objects become ready behind those that are left.
    retire(&rcu, 2, &tally);
    assert_eq!(rcu.advance(), Progress::Ended);
    assert_eq!(rcu.reclaim(5), 5);
    assert_eq!(rcu.reclaim(usize::MAX), 1);
    assert_eq!((tally.get(), rcu.pending()), (9, 0));
}

#[test]
fn a_batch_counts_joins_and_gives_back() {
    let (rcu, tally) = (small(), Tally::default());
    let mut all = Batch::new();
    assert!(all.is_empty() && all.pop().is_none());
    rcu.retire(Batch::default());
    assert_eq!((rcu.pending(), rcu.advance()), (0, Progress::Idle));
    for size in [0, 1, 4] {
        let mut batch = Batch::new();
        (0..size).for_each(|_| Object::push(&mut batch, &tally));
        assert_eq!(batch.len(), size);
        all.append(batch);
    }
    assert_eq!(all.len(), 5);
    rcu.retire(all);
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.pending(), 6);
    assert_eq!(rcu.poll(usize::MAX), 6);
    assert_eq!(tally.get(), 6);
}

#[test]
fn a_dropped_domain_reclaims_what_waits_in_every_place() {
    let (rcu, tally) = (Box::new(small()), Tally::default());
    retire(&*rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Ended);
    let reader = rcu.register().unwrap();
    let guard = reader.enter();
    retire(&*rcu, 2, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    retire(&*rcu, 4, &tally);
    drop(guard);
    drop(reader);
    // One is ready, two are waiting, four are in the inbox.
    assert_eq!((tally.get(), rcu.pending()), (0, 7));
    drop(rcu);
    assert_eq!(tally.get(), 7);
}

#[test]
fn slots_may_lie_in_an_array_or_in_lent_memory() {
    let tally = Tally::default();
    let mut lent = ReaderSlot::array::<2>();
    let lent = Domain::with_slots(lent.as_mut_slice());
    assert_eq!((small().capacity(), lent.capacity()), (3, 2));
    assert_eq!(Domain::default().capacity(), 64);
    let reader = lent.register().unwrap();
    let _guard = reader.enter();
    retire(&lent, 1, &tally);
    assert_eq!(lent.poll(usize::MAX), 0);
}

#[test]
fn a_domain_without_slots_reclaims_at_once_and_registers_nobody() {
    let (rcu, tally) = (
        Domain::with_slots(ReaderSlot::array::<0>()),
        Tally::default(),
    );
    assert!(rcu.register().is_err());
    retire(&rcu, 2, &tally);
    assert_eq!(rcu.poll(usize::MAX), 2);
}
