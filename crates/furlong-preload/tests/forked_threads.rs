//! A program with threads that forks while they allocate: the child allocates and frees, even
//! blocks of its parent's other threads.

mod library;

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, thread};

use library::library;

/// The environment variable that tells this test's program that it runs with the library.
const INSIDE: &str = "FURLONG_TEST_INSIDE";

const FORKS: usize = 12;

/// Boxes that all threads replace.
static SHARED: [Mutex<Vec<u8>>; 64] = [const { Mutex::new(Vec::new()) }; 64];

fn churn(seed: usize, until: impl Fn(usize) -> bool) {
    let mut x = seed * 2 + 1;
    for round in 0.. {
        if until(round) {
            return;
        }
        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let len = if round % 64 == 0 { x >> 45 } else { x >> 53 };
        let fresh = vec![len as u8; len];
        // A fork may have copied a lock whose holder does not exist in the child.
        if let Ok(mut place) = SHARED[x >> 40 & 63].try_lock() {
            assert!(place.iter().all(|byte| *byte == place.len() as u8));
            *place = fresh;
        }
    }
}

/// The work of a child: 0 if all is right.
fn child() -> i32 {
    // SAFETY: no contract. The alarm ends a child that hangs.
    unsafe { libc::alarm(20) };
    churn(99, |round| round == 1000);
    let many: Vec<Vec<usize>> = (0..500).map(|len| vec![len; len]).collect();
    i32::from(
        many.iter()
            .any(|numbers| numbers.iter().any(|number| *number != numbers.len())),
    )
}

fn fork_and_wait() -> i32 {
    // SAFETY: the child only allocates and frees, for which the library is prepared.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = child();
        // SAFETY: no contract.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: a child of this process, and a variable for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

fn inside() {
    let stop = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        for seed in 0..3 {
            let stop = &stop;
            scope.spawn(move || churn(seed, |_| stop.load(Ordering::SeqCst)));
        }
        let ends: Vec<i32> = (0..FORKS).map(|_| fork_and_wait()).collect();
        stop.store(true, Ordering::SeqCst);
        ends.into_iter().filter(|status| *status != 0).count()
    });
    assert_eq!(failed, 0, "children that did not end well");
}

#[test]
fn children_of_threaded_programs_allocate_and_end() {
    if env::var_os(INSIDE).is_some() {
        return inside();
    }
    let test = env::current_exe().expect("a test has a path");
    for name in [
        "furlong_malloc",
        "furlong_malloc_plain",
        "furlong_malloc_secure",
    ] {
        let output = Command::new(&test)
            .env("LD_PRELOAD", library(name))
            .env(INSIDE, "1")
            .output()
            .expect("this program can be run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{name}: {:?} {said}",
            output.status
        );
    }
}
