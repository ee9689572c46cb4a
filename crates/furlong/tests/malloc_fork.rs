//! A program with threads that forks while they allocate: the child has a whole allocator, without
//! anybody having asked for that.
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

/// Blocks whose every way goes by a latch: of each class more than a heap keeps, and large ones.
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
                // SAFETY: it is live, and nobody uses it any more.
                unsafe { FORKS.free(block) };
            }
        }
        if until() {
            return true;
        }
    }
}

/// How a child of this process ends that allocates; 0 is well.
fn fork_and_wait() -> i32 {
    // SAFETY: the child does nothing but ask the allocator.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: no contract. A child that waits for a latch is ended by it.
        unsafe { libc::alarm(20) };
        let code = i32::from(!churn(|| true));
        // SAFETY: no contract.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: a child of this process, and a place for how it ended.
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
