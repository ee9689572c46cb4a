//! References and shared pointers to an implementation forward every call, and batches count.

use core::cell::RefCell;
use core::ops::ControlFlow;
use std::sync::Arc;
use std::vec::Vec;

use super::super::{BarrierError, Batch, Period, Progress, Rcu};
use super::{Object, Tally};

/// Notes each call, and gives answers that no default gives.
#[derive(Default)]
struct Spy(RefCell<Vec<&'static str>>);

impl Spy {
    fn note(&self, name: &'static str) {
        self.0.borrow_mut().push(name);
    }
}

// SAFETY: for tests that read nothing: nothing is reclaimed, no guard is covered that reads, and
// barriers wait for nothing that was retired.
unsafe impl Rcu for Spy {
    type Guard<'r> = bool;

    fn covers(&self, guard: &bool) -> bool {
        self.note("covers");
        *guard
    }

    fn retire(&self, mut batch: Batch) {
        self.note("retire");
        while batch.pop().is_some() {}
    }

    fn snapshot(&self) -> Period {
        self.note("snapshot");
        Period::from_number(17)
    }

    fn elapsed(&self, period: Period) -> bool {
        self.note("elapsed");
        period.number() == 17
    }

    fn is_quiet(&self) -> bool {
        self.note("is_quiet");
        true
    }

    fn advance(&self) -> Progress {
        self.note("advance");
        Progress::Ended
    }

    fn reclaim(&self, max: usize) -> usize {
        self.note("reclaim");
        max - 1
    }

    fn barrier(&self, mut pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
        self.note("barrier");
        match pause() {
            ControlFlow::Break(()) => Err(BarrierError::GaveUp),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn pending(&self) -> usize {
        self.note("pending");
        23
    }
}

/// Calls each method once, and checks that the spy's answers arrive.
fn calls(rcu: &impl for<'r> Rcu<Guard<'r> = bool>) {
    assert!(rcu.covers(&true) && !rcu.covers(&false));
    rcu.retire(Batch::new());
    assert!(rcu.elapsed(rcu.snapshot()) && !rcu.elapsed(Period::from_number(1)));
    assert!(rcu.is_quiet());
    assert_eq!(rcu.advance(), Progress::Ended);
    assert_eq!(rcu.reclaim(9), 8);
    assert_eq!(rcu.poll(5), 4);
    let barrier = rcu.barrier(|| ControlFlow::Break(()));
    assert_eq!(barrier, Err(BarrierError::GaveUp));
    assert_eq!(rcu.barrier(|| ControlFlow::Continue(())), Ok(()));
    assert_eq!(rcu.pending(), 23);
}

#[test]
fn references_and_shared_pointers_forward_every_call() {
    let direct = Spy::default();
    calls(&direct);
    let lent = Spy::default();
    calls(&&lent);
    #[expect(clippy::arc_with_non_send_sync, reason = "one thread")]
    let shared = Arc::new(Spy::default());
    calls(&shared);
    let noted = direct.0.take();
    assert_eq!(noted.len(), 14);
    assert_eq!(lent.0.take(), noted);
    assert_eq!(shared.0.take(), noted);
}

#[test]
fn a_batch_counts_what_is_in_it() {
    let tally = Tally::default();
    let mut batch = Batch::new();
    for count in 1..=3 {
        Object::push(&mut batch, &tally);
        assert_eq!(batch.len(), count);
    }
    for left in [2, 1, 0] {
        let head = batch.pop().unwrap();
        assert_eq!((batch.len(), batch.is_empty()), (left, left == 0));
        // SAFETY: it was popped, so nobody else has the object.
        unsafe { Object::reclaim(head) };
    }
    assert!(batch.pop().is_none());
    // After the last one is gone, others can come and go.
    Object::push(&mut batch, &tally);
    let mut other = Batch::new();
    Object::push(&mut other, &tally);
    Object::push(&mut other, &tally);
    batch.append(other);
    assert_eq!(batch.len(), 3);
    while let Some(head) = batch.pop() {
        // SAFETY: as above.
        unsafe { Object::reclaim(head) };
    }
    assert_eq!(tally.get(), 6);
}
