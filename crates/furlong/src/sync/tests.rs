//! The locks, outside loom.
#![forbid(unsafe_code)]

use std::thread;
use std::vec::Vec;

use super::{Held, Lock, RawLock, SpinLock, TryLock};

/// Threads that add, read and write again; lost updates would show in the sum.
fn count_under<L: RawLock + Sync>(raw: L) -> u64 {
    let sum = Lock::new(raw, 0_u64);
    thread::scope(|scope| {
        let adders: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let mut guard = sum.lock();
                        let before = *guard;
                        *guard = before + 1;
                    }
                })
            })
            .collect();
        for adder in adders {
            adder.join().unwrap();
        }
    });
    sum.into_inner()
}

#[test]
fn a_spin_lock_loses_no_update() {
    assert_eq!(count_under(SpinLock::new()), 3_000);
}

#[cfg(feature = "std")]
#[test]
fn a_std_mutex_is_a_raw_lock_and_a_panicking_holder_does_not_poison_it() {
    let lock = Lock::new(std::sync::Mutex::new(()), 1);
    let panicked = thread::scope(|scope| {
        scope
            .spawn(|| {
                let _guard = lock.lock();
                panic!("a holder that panics, on purpose");
            })
            .join()
    });
    assert!(panicked.is_err());
    assert_eq!(*lock.lock(), 1);
    assert_eq!(count_under(std::sync::Mutex::new(())), 3_000);
}

#[test]
fn held_releases_the_raw_lock_when_it_is_dropped() {
    let raw = SpinLock::new();
    drop(Held::lock(&raw));
    // Would spin forever if the first guard had not released.
    drop(Held::lock(&raw));
}

#[test]
fn a_taken_try_lock_refuses_and_a_panic_gives_it_back() {
    let lock = TryLock::new(5);
    let held = lock.try_lock().unwrap();
    assert!(lock.try_lock().is_none());
    drop(held);
    let panicked = thread::scope(|scope| {
        scope
            .spawn(|| {
                let _held = lock.try_lock().unwrap();
                panic!("a holder that panics, on purpose");
            })
            .join()
    });
    assert!(panicked.is_err());
    assert_eq!(*lock.try_lock().unwrap(), 5);
}
