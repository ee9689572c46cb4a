//! Many threads at once. Values that they reach must be alive, and each must be reclaimed once.
//!
//! Under AddressSanitizer these tests find values that are freed too early; the loom models find
//! the reason.
#![forbid(unsafe_code)]

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use crate::{
    rcu::{Domain, Rcu, RcuBox, RcuCell, ReaderSlot},
    sync::{Lock, SpinLock},
};

const ROUNDS: usize = 2_000;

static CREATED: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Two numbers that belong together as long as the value is alive.
struct Value {
    number: usize,
    complement: usize,
}

impl Value {
    fn new(number: usize) -> RcuBox<Self> {
        CREATED.fetch_add(1, Ordering::SeqCst);
        RcuBox::new(Self {
            number,
            complement: !number,
        })
    }

    fn check(&self) -> usize {
        assert_eq!(
            self.number, !self.complement,
            "reached after it was dropped"
        );
        self.number
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.check();
        self.complement = self.number;
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

/// Two cells that a writer sets to the same number one after the other. A reader that loads the
/// second and then the first holds both, and the first is never older.
fn read(rcu: &Domain<[ReaderSlot; 4]>, cells: &[RcuCell<Value, &Domain<[ReaderSlot; 4]>>; 2]) {
    let reader = rcu.register().unwrap();
    for round in 0..ROUNDS {
        let guard = reader.enter();
        let second = cells[1].load(&guard);
        let nested = reader.enter();
        let first = cells[0].load(&guard);
        if round % 8 == 0 {
            thread::yield_now();
        }
        assert!(first.check() >= second.check());
        drop(guard);
        assert_eq!(cells[0].load(&nested).check() % 2, 0);
    }
}

#[test]
fn readers_writers_and_reclaimers_at_once_reach_only_what_is_alive() {
    let rcu: Domain<[ReaderSlot; 4]> = Domain::with_slots(ReaderSlot::array());
    {
        let cells = [
            RcuCell::new(&rcu, Value::new(0)),
            RcuCell::new(&rcu, Value::new(0)),
        ];
        let next = Lock::new(SpinLock::new(), 0);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            // Readers register anew, so that slots change owners.
            let readers = [(); 3].map(|()| {
                scope.spawn(|| {
                    read(&rcu, &cells);
                    read(&rcu, &cells);
                })
            });
            let writers = [(); 2].map(|()| {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let mut next = next.lock();
                        *next += 2;
                        cells
                            .iter()
                            .for_each(|cell| cell.replace(Value::new(*next)));
                        drop(next);
                        rcu.poll(7);
                    }
                })
            });
            let reclaimer = scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let period = rcu.snapshot();
                    rcu.poll(usize::MAX);
                    thread::yield_now();
                    rcu.elapsed(period);
                }
            });
            readers
                .into_iter()
                .for_each(|reader| reader.join().unwrap());
            writers
                .into_iter()
                .for_each(|writer| writer.join().unwrap());
            stop.store(true, Ordering::SeqCst);
            reclaimer.join().unwrap();
        });
        let barrier = rcu.barrier(|| panic!("nobody is left to wait for"));
        assert_eq!((barrier, rcu.pending()), (Ok(()), 0));
        let (created, dropped) = (&CREATED, &DROPPED);
        assert_eq!(created.load(Ordering::SeqCst), 2 + 4 * ROUNDS);
        assert_eq!(dropped.load(Ordering::SeqCst), 4 * ROUNDS);
    }
    assert_eq!(
        DROPPED.load(Ordering::SeqCst),
        CREATED.load(Ordering::SeqCst)
    );
}
