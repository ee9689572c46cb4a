//! Readers that are CPUs; here a CPU is a thread with a number.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::thread;

use super::{Tally, retire};
use crate::rcu::{BarrierError, CurrentCpu, PerCpu, Progress, Rcu, ReaderSlot, spin};

std::thread_local! {
    static CPU: Cell<usize> = const { Cell::new(usize::MAX) };
    static PINS: Rc<Cell<usize>> = Rc::new(Cell::new(0));
}

struct Threads;

struct Pin(Rc<Cell<usize>>);

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

// SAFETY: each thread of a test sets a number of its own and keeps it.
unsafe impl CurrentCpu for Threads {
    type Pin = Pin;

    fn pin(&self) -> (usize, Pin) {
        let pins = PINS.with(Rc::clone);
        pins.set(pins.get() + 1);
        (CPU.get(), Pin(pins))
    }
}

fn pins() -> usize {
    PINS.with(|pins| pins.get())
}

fn two_cpus() -> PerCpu<Threads, [ReaderSlot; 2]> {
    PerCpu::new(Threads, ReaderSlot::array())
}

#[test]
fn a_guard_pins_its_cpu_and_nested_ones_do_too() {
    CPU.set(1);
    let (rcu, tally) = (two_cpus(), Tally::default());
    let outer = rcu.enter();
    let inner = rcu.enter();
    assert!(rcu.covers(&inner) && !two_cpus().covers(&inner));
    assert_eq!(pins(), 2);
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    drop(outer);
    assert_eq!((pins(), rcu.poll(usize::MAX), rcu.pending()), (1, 0, 1));
    drop(inner);
    assert_eq!((pins(), rcu.poll(usize::MAX), tally.get()), (0, 1, 1));
}

#[test]
fn quiet_means_that_no_cpu_has_a_guard() {
    CPU.set(1);
    let rcu = two_cpus();
    assert!(rcu.is_quiet());
    let (outer, inner) = (rcu.enter(), rcu.enter());
    assert!(!rcu.is_quiet());
    drop(outer);
    // Another CPU sees the guard as well, and does not count as a reader itself.
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            CPU.set(0);
            rcu.is_quiet()
        });
        assert!(!other.join().unwrap());
    });
    drop(inner);
    assert!(rcu.is_quiet());
}

#[test]
fn a_barrier_inside_a_guard_on_the_same_cpu_is_refused() {
    CPU.set(0);
    let (rcu, tally) = (two_cpus(), Tally::default());
    retire(&rcu, 1, &tally);
    let guard = rcu.enter();
    assert_eq!(rcu.barrier(spin), Err(BarrierError::InsideGuard));
    drop(guard);
    assert_eq!(rcu.barrier(spin), Ok(()));
    assert_eq!(
        (tally.get(), pins()),
        (1, 0),
        "a barrier does not hold its CPU"
    );
}

#[test]
fn a_cpu_without_a_slot_is_refused_and_not_left_pinned() {
    CPU.set(2);
    let rcu = two_cpus();
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| drop(rcu.enter())));
    let refused = refused.unwrap_err();
    let said = refused.downcast_ref::<String>().unwrap();
    assert_eq!(said, "CPU 2 has no reader slot: the domain has 2");
    assert_eq!(pins(), 0);
}

#[test]
fn a_period_waits_for_every_cpu() {
    let rcu = two_cpus();
    thread::scope(|scope| {
        let rcu = &rcu;
        for number in 0..2 {
            let waits = scope.spawn(move || {
                CPU.set(number);
                let guard = rcu.enter();
                let period = rcu.snapshot();
                assert!(!rcu.elapsed(period));
                assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
                drop(guard);
                assert_eq!(rcu.advance(), Progress::Ended);
                rcu.elapsed(period) && rcu.reclaim(usize::MAX) == 0
            });
            assert!(waits.join().unwrap());
        }
    });
}
