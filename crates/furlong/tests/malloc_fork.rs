//! A program with threads forks while they allocate: the child has a consistent allocator, without
//! any call by the program. Its handlers are called once a fork, in both processes.
#![cfg(target_os = "linux")]

mod allocators;

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use furlong::malloc::{self, Batched, Checked, Inlined};

allocators::allocators! {
    Forks, ForksThread, FORKS: Checked, Inlined, Batched;
}

const COUNT: usize = 40;

/// One test forks at a time: the handlers of all are called at each fork.
static ALONE: Mutex<()> = Mutex::new(());

/// Blocks whose paths all take a latch: of each class more than a heap keeps, and large ones.
fn churn(until: impl Fn() -> bool) -> bool {
    loop {
        for size in [16, 700, 5000, 40_000, 150_000, 900_000] {
            let blocks: Vec<*mut u8> = (0..64).map(|_| FORKS.allocate(size)).collect();
            for block in blocks {
                if block.is_null() {
                    return false;
                }
                // SAFETY: a block of this size.
                unsafe { block.write_bytes(7, 16) };
                // SAFETY: it is live, and no longer used.
                unsafe { FORKS.free(block) };
            }
        }
        if until() {
            return true;
        }
    }
}

/// Exit status of a child of this process that allocates; 0 is success.
fn fork_and_wait() -> i32 {
    // SAFETY: the child only calls the allocator.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: no contract. It ends a child that waits for a latch.
        unsafe { libc::alarm(20) };
        let code = i32::from(!churn(|| true));
        // SAFETY: no contract.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: a child of this process, and a place for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

#[test]
fn a_child_of_a_process_whose_threads_allocate_has_a_whole_allocator() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = AtomicBool::new(false);
    assert!(churn(|| true), "there is memory");
    let bad = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| churn(|| stop.load(Ordering::SeqCst)));
        }
        let bad = (0..COUNT)
            .map(|_| fork_and_wait())
            .find(|status| *status != 0);
        stop.store(true, Ordering::SeqCst);
        bad
    });
    assert_eq!(bad, None, "a child did not end well");
}

/// Calls of the handlers: before a fork 1, after it 10, and in the child 100.
static CALLS: AtomicI32 = AtomicI32::new(0);

extern "C" fn before() {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn after() {
    CALLS.fetch_add(10, Ordering::SeqCst);
}

extern "C" fn after_in_child() {
    CALLS.fetch_add(100, Ordering::SeqCst);
}

#[test]
fn fork_handlers_are_registered_once_and_called_in_both_processes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let forks = malloc::Forks::new();
    for _ in 0..3 {
        // SAFETY: they do no allocator's work, and there is no allocator to fork.
        unsafe { forks.watch(before, after, after_in_child) };
    }
    // SAFETY: the child only makes system calls.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let calls = CALLS.load(Ordering::SeqCst);
        // SAFETY: no contract.
        unsafe { libc::_exit(i32::from(calls != 101)) };
    }
    let mut status = -1;
    // SAFETY: a child of this process, and a place for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!((status, CALLS.load(Ordering::SeqCst)), (0, 11));
}
