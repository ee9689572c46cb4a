//! A program with the allocator of one line: it allocates in threads, and a misuse ends it.
#![expect(unsafe_code, reason = "a wrong program is one that breaks a promise")]

use std::alloc::{GlobalAlloc, Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::process::Command;
use std::{env, slice, thread};

use furlong_malloc::{Furlong, Plain, Secure};

#[global_allocator]
static GLOBAL: Furlong = Furlong;

/// Names the misuse that a copy of this program commits.
const MISUSE: &str = "FURLONG_MALLOC_TEST_MISUSE";

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).expect("a power of two")
}

#[test]
fn collections_of_threads_come_from_it_and_go_back() {
    let used = || Furlong::malloc().statistics().used_bytes;
    let before = used();
    let kept: Vec<BTreeMap<u64, String>> = thread::scope(|scope| {
        let work = |seed: u64| move || (0..1000).map(|n| (n * seed, n.to_string())).collect();
        let threads: Vec<_> = (1..4).map(|seed| scope.spawn(work(seed))).collect();
        threads
            .into_iter()
            .map(|one| one.join().expect("no panic"))
            .collect()
    });
    assert!(
        used() >= before + 3 * 1000 * 24,
        "{} after {before}",
        used()
    );
    assert_eq!(kept[2][&2997], "999");
}

#[test]
fn each_grade_is_an_allocator_of_its_own() {
    fn lives<A: GlobalAlloc>(grade: &A) {
        for size in [1, 24, 4000, 70_000, 5_000_000] {
            // SAFETY: the layout is not empty.
            let block = unsafe { grade.alloc_zeroed(layout(size)) };
            assert!(!block.is_null());
            // SAFETY: it is live and as long as that.
            let bytes = unsafe { slice::from_raw_parts_mut(block, size) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{size}");
            bytes.fill(7);
            // SAFETY: it is live, and no longer used at this address.
            let block = unsafe { grade.realloc(block, layout(size), 2 * size) };
            assert!(!block.is_null());
            // SAFETY: the contents that were written, in a block that is longer.
            let bytes = unsafe { slice::from_raw_parts(block, size) };
            assert!(bytes.iter().all(|byte| *byte == 7), "{size}");
            // SAFETY: it is live, and no longer used.
            unsafe { grade.dealloc(block, layout(2 * size)) };
        }
    }
    lives(&Furlong);
    lives(&Secure);
    lives(&Plain);
    assert_eq!(Secure::malloc().statistics().used_blocks, 0);
    assert_eq!(Plain::malloc().statistics().used_blocks, 0);
}

/// A free as a wrong program does it.
fn free(block: *mut u8, size: usize) {
    // SAFETY: none; the allocator ends the process if the promise is broken.
    unsafe { dealloc(block, layout(size)) };
}

/// Does nothing unless it runs in a copy that the next test has started.
#[test]
fn a_copy_of_this_program_commits_its_misuse() {
    let Ok(misuse) = env::var(MISUSE) else {
        return;
    };
    // SAFETY: the layouts are not empty.
    let [block, large] = [100, 1 << 20].map(|size| unsafe { alloc(layout(size)) });
    match misuse.as_str() {
        "none" => free(large, 1 << 20),
        "double" => free(block, 100),
        "size" => free(block, 5000),
        "large size" => free(large, 1 << 22),
        "inside" => free(block.wrapping_add(16), 50),
        _ => unreachable!("there is no such misuse"),
    }
    free(block, 100);
}

#[test]
fn a_misuse_ends_the_process_with_its_name() {
    let program = env::current_exe().expect("this program");
    for (misuse, said) in [
        ("none", None),
        ("double", Some("freed twice")),
        ("size", Some("wrong size")),
        ("large size", Some("wrong size")),
        ("inside", Some("not the start of a live block")),
    ] {
        let mut copy = Command::new(&program);
        copy.args([
            "--exact",
            "a_copy_of_this_program_commits_its_misuse",
            "--nocapture",
        ])
        .env(MISUSE, misuse);
        let output = copy.output().expect("it can run itself");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), said.is_none(), "{misuse}: {text}");
        assert!(
            said.is_none_or(|said| text.contains(said)),
            "{misuse}: {text}"
        );
    }
}
