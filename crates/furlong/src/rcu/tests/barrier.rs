//! The barrier: its waits and its refusals.
#![forbid(unsafe_code)]

use std::ops::ControlFlow;
use std::string::ToString;
use std::sync::{Arc, mpsc};
use std::thread;

use super::{Object, Tally, retire, small};
use crate::rcu::{BarrierError, Batch, Domain, Rcu, ReaderSlot, spin};

/// Gives up at the `n`th pause.
fn give_up_after(n: usize) -> impl FnMut() -> ControlFlow<()> {
    let mut left = n;
    move || {
        left -= 1;
        if left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn a_barrier_reclaims_all_that_was_retired() {
    let (rcu, tally) = (small(), Tally::default());
    assert_eq!(
        rcu.barrier(give_up_after(1)),
        Ok(()),
        "with nothing to do it does not wait"
    );
    retire(&rcu, 2, &tally);
    rcu.advance();
    retire(&rcu, 3, &tally);
    assert_eq!(rcu.barrier(give_up_after(1)), Ok(()));
    assert_eq!((tally.get(), rcu.pending()), (5, 0));
}

#[test]
fn a_barrier_of_a_reader_inside_is_refused_and_changes_nothing() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    retire(&rcu, 1, &tally);
    let guard = reader.enter();
    let refused = reader.barrier(|| panic!("it must not wait"));
    assert_eq!(refused, Err(BarrierError::InsideGuard));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "a barrier inside a guard would wait for itself"
    );
    assert_eq!((tally.get(), rcu.pending()), (0, 1));
    drop(guard);
    assert_eq!(reader.barrier(spin), Ok(()));
    assert_eq!(tally.get(), 1);
}

#[test]
fn a_barrier_that_gives_up_leaves_everything_retired() {
    let (rcu, tally) = (small(), Tally::default());
    let reader = rcu.register().unwrap();
    let guard = reader.enter();
    retire(&rcu, 4, &tally);
    let refused = rcu.barrier(give_up_after(3));
    assert_eq!(refused, Err(BarrierError::GaveUp));
    assert_eq!((tally.get(), rcu.pending()), (0, 4));
    drop(guard);
    assert_eq!(rcu.barrier(give_up_after(1)), Ok(()));
    assert_eq!((tally.get(), rcu.pending()), (4, 0));
}

#[test]
fn a_barrier_waits_for_readers_on_other_threads() {
    let (rcu, tally) = (small(), Tally::default());
    let (inside, is_inside) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let rcu = &rcu;
        scope.spawn(move || {
            let reader = rcu.register().unwrap();
            let guard = reader.enter();
            inside.send(()).unwrap();
            may_go.recv().unwrap();
            drop(guard);
        });
        is_inside.recv().unwrap();
        retire(rcu, 1, &tally);
        let mut pauses = 0;
        let done = rcu.barrier(|| {
            assert_eq!(tally.get(), 0);
            pauses += 1;
            if pauses == 3 {
                go.send(()).unwrap();
            }
            thread::yield_now();
            ControlFlow::Continue(())
        });
        assert_eq!(done, Ok(()));
        assert!(pauses >= 3);
        assert_eq!(tally.get(), 1);
    });
}

/// Retires an object whose drop function, run on another thread, reports its start and returns on a
/// signal. The barrier must wait for it although nothing is ready any more.
#[test]
fn a_barrier_waits_for_drop_functions_that_run_elsewhere_but_not_for_later_ones() {
    let (rcu, tally) = (Arc::new(small()), Tally::default());
    let (begun, has_begun) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let (finished, has_finished) = mpsc::channel();
    let mut batch = Batch::new();
    Object::push_then(&mut batch, &tally, move || {
        begun.send(()).unwrap();
        may_go.recv().unwrap();
        finished.send(()).unwrap();
    });
    rcu.retire(batch);
    thread::scope(|scope| {
        scope.spawn(|| rcu.poll(usize::MAX));
        has_begun.recv().unwrap();
        assert_eq!(rcu.barrier(give_up_after(2)), Err(BarrierError::GaveUp));
        // Objects retired and taken now use the other hand.
        retire(&*rcu, 1, &tally);
        assert_eq!(rcu.poll(usize::MAX), 1);
        // A second barrier has to wait for the same drop function, too.
        assert_eq!(rcu.barrier(give_up_after(2)), Err(BarrierError::GaveUp));
        assert!(has_finished.try_recv().is_err());
        go.send(()).unwrap();
        assert_eq!(rcu.barrier(yield_now), Ok(()));
        assert!(
            has_finished.try_recv().is_ok(),
            "the drop function returned before the barrier"
        );
    });
    assert_eq!(tally.get(), 2);
}

#[test]
fn a_barrier_in_a_drop_function_ends_only_by_giving_up() {
    let (rcu, tally) = (Arc::new(small()), Tally::default());
    let inner = Arc::clone(&rcu);
    let (result, received) = mpsc::channel();
    let mut batch = Batch::new();
    Object::push_then(&mut batch, &tally, move || {
        result.send(inner.barrier(give_up_after(4))).unwrap();
    });
    rcu.retire(batch);
    assert_eq!(rcu.poll(usize::MAX), 1);
    assert_eq!(received.recv().unwrap(), Err(BarrierError::GaveUp));
    assert_eq!(rcu.barrier(give_up_after(1)), Ok(()));
}

#[test]
fn barriers_beside_each_other_and_beside_retiring_threads_all_end() {
    let rcu = Domain::with_slots(ReaderSlot::array::<4>());
    let tally = Tally::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mine = Tally::default();
                for round in 1..=50 {
                    retire(&rcu, 1, &mine);
                    retire(&rcu, 1, &tally);
                    assert_eq!(rcu.barrier(yield_now), Ok(()));
                    assert_eq!(mine.get(), round, "retired before, so reclaimed");
                }
            });
        }
    });
    assert_eq!((tally.get(), rcu.pending()), (150, 0));
}

fn yield_now() -> ControlFlow<()> {
    thread::yield_now();
    ControlFlow::Continue(())
}
