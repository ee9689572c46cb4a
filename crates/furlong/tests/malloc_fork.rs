//! A program with threads forks while they allocate: the child has a consistent allocator, without
//! any call by the program.
#![cfg(target_os = "linux")]

mod allocators;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use furlong::malloc::{Batched, Checked, Inlined};

allocators::allocators! {
    Forks, ForksThread, FORKS: Checked, Inlined, Batched;
}

const COUNT: usize = 40;

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
