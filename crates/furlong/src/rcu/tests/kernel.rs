//! An implementation outside the library: a kernel with `call_rcu` that drives grace periods
//! itself.

use std::{
    ops::ControlFlow,
    ptr::NonNull,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    vec::Vec,
};

use super::{Object, Tally};
use crate::rcu::{BarrierError, Batch, Period, Progress, Rcu, RcuBox, RcuCell, RcuHead};

/// A model kernel: one CPU, on which a grace period is over whenever no reader is inside.
#[derive(Default)]
struct Kernel {
    inside: AtomicUsize,
    callbacks: Mutex<Vec<Callback>>,
    ticks: AtomicUsize,
}

struct Callback(NonNull<RcuHead>);

// SAFETY: a head out of a batch may be reclaimed on any thread.
unsafe impl Send for Callback {}

struct PreemptionOff<'k>(&'k Kernel);

impl Drop for PreemptionOff<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Kernel {
    fn enter(&self) -> PreemptionOff<'_> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        PreemptionOff(self)
    }

    /// The timer interrupt.
    fn tick(&self) {
        if self.inside.load(Ordering::SeqCst) != 0 {
            return;
        }
        self.ticks.fetch_add(1, Ordering::SeqCst);
        let callbacks = core::mem::take(&mut *self.callbacks.lock().unwrap());
        for Callback(head) in callbacks {
            // SAFETY: popped in `retire`, called once; no reader is inside, on the one CPU.
            unsafe { RcuHead::reclaim(head) };
        }
    }
}

// SAFETY: callbacks are called only while no reader is inside, on the only thread.
unsafe impl Rcu for Kernel {
    type Guard<'r> = PreemptionOff<'r>;

    fn covers(&self, guard: &PreemptionOff<'_>) -> bool {
        core::ptr::eq(self, guard.0)
    }

    fn retire(&self, mut batch: Batch) {
        let mut callbacks = self.callbacks.lock().unwrap();
        while let Some(head) = batch.pop() {
            callbacks.push(Callback(head));
        }
    }

    fn snapshot(&self) -> Period {
        Period::from_number(self.ticks.load(Ordering::SeqCst) + 1)
    }

    fn elapsed(&self, period: Period) -> bool {
        self.ticks.load(Ordering::SeqCst) >= period.number()
    }

    fn advance(&self) -> Progress {
        Progress::Busy
    }

    fn reclaim(&self, _: usize) -> usize {
        0
    }

    fn barrier(&self, mut pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
        if self.inside.load(Ordering::SeqCst) != 0 {
            return Err(BarrierError::InsideGuard);
        }
        while self.pending() != 0 {
            if pause().is_break() {
                return Err(BarrierError::GaveUp);
            }
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        self.callbacks.lock().unwrap().len()
    }
}

#[test]
fn structures_run_on_a_kernels_own_implementation() {
    let (kernel, tally) = (Kernel::default(), Tally::default());
    let cell = RcuCell::new(&kernel, RcuBox::new(1));
    let guard = kernel.enter();
    let old = cell.load(&guard);
    cell.replace(RcuBox::new(2));
    let mut batch = Batch::new();
    Object::push(&mut batch, &tally);
    Object::push(&mut batch, &tally);
    kernel.retire(batch);
    let period = kernel.snapshot();
    kernel.tick();
    assert_eq!((*old, *cell.load(&guard), kernel.pending()), (1, 2, 3));
    assert_eq!(
        kernel.barrier(|| ControlFlow::Continue(())),
        Err(BarrierError::InsideGuard)
    );
    assert_eq!((kernel.poll(9), kernel.elapsed(period)), (0, false));
    drop(guard);
    let mut pauses = 0;
    let done = kernel.barrier(|| {
        pauses += 1;
        kernel.tick();
        ControlFlow::Continue(())
    });
    assert_eq!(
        (done, pauses, tally.get(), kernel.elapsed(period)),
        (Ok(()), 1, 2, true)
    );
}

/// The kernel leaves the default in place.
#[test]
fn nothing_is_known_to_be_quiet_unless_an_implementation_says_so() {
    assert!(!Kernel::default().is_quiet());
}
