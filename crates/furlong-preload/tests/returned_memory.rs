//! Freed memory goes back to the system: after a peak, and while blocks are allocated and freed.
#![forbid(unsafe_code)]

mod library;

use std::process::{Command, Output};
use std::time::Duration;
use std::{env, fs, thread};

use library::library;

/// The environment variable that tells this test's program what to do.
const INSIDE: &str = "FURLONG_TEST_INSIDE";

const MIB: usize = 1 << 20;

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/statm").expect("Linux says so there");
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    let pages: usize = pages.expect("the second number is of pages");
    pages * 4096
}

/// Sizes that depend only on a seed, mostly small.
fn size(random: &mut u64) -> usize {
    *random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    let x = (*random >> 33) as usize;
    match x % 100 {
        0 => 1 + x % 600_000,
        1..10 => 1 + x % 30_000,
        _ => 1 + x % 2000,
    }
}

/// A peak of 2 GB, of which a twentieth stays in use; then a little work.
fn peak() {
    let own = resident();
    let mut random = 7;
    let mut kept = Vec::new();
    let mut freed = Vec::new();
    let (mut live, mut all) = (0, 0);
    // Blocks that stay are adjacent, as long-lived blocks mostly are.
    while all < 2000 * MIB {
        let block = vec![1_u8; size(&mut random)];
        all += block.len();
        if all < 100 * MIB {
            live += block.len();
            kept.push(block);
        } else {
            freed.push(block);
        }
    }
    assert!(resident() > 1900 * MIB);
    drop(freed);
    // At most an eighth of the memory in use, or 16 MiB, is free and kept at once. The rest is
    // rounding, and free blocks between used ones.
    let most = own + live + live / 2;
    assert!(resident() < most, "{} of {live} live", resident());
    // Waits for memory to be given back, however slow the machine is. What stays is rounding and
    // free blocks between used ones, a tenth, and what the work below takes anew each time.
    let goal = own + live + live / 8;
    for _ in 0..1000 {
        if resident() < goal {
            break;
        }
        for _ in 0..100 {
            drop(vec![1_u8; size(&mut random)]);
        }
        thread::sleep(Duration::from_millis(5));
    }
    assert!(resident() < goal, "{} of {live} live", resident());
    assert!(kept.iter().all(|block| block.iter().all(|byte| *byte == 1)));
}

/// Many generations of a program with a bounded number of blocks.
fn churn() {
    let mut random = 9;
    let mut held: Vec<Vec<u8>> = (0..4000).map(|_| vec![1; size(&mut random)]).collect();
    let mut sizes = Vec::new();
    for _ in 0..12 {
        for _ in 0..40_000 {
            let fresh = vec![1; size(&mut random)];
            let at = fresh.len().wrapping_mul(0x9e37_79b9) % held.len();
            held[at] = fresh;
        }
        sizes.push(resident());
    }
    let (early, late) = (&sizes[2..6], &sizes[8..]);
    let most = |sizes: &[usize]| sizes.iter().copied().max().unwrap_or(0);
    assert!(most(late) < most(early) * 11 / 10, "{sizes:?}");
}

/// Small blocks fill nearly all addresses that the process may have, and are freed; then as much
/// memory is requested in large blocks.
fn limited() {
    let small: Vec<Box<[u8; 104]>> = (0..3_500_000).map(|_| Box::new([1; 104])).collect();
    assert!(resident() > 360 * MIB);
    drop(small);
    let mut large: Vec<Vec<u8>> = Vec::with_capacity(100);
    while large.len() < large.capacity() {
        let mut block = Vec::new();
        if block.try_reserve_exact(10 * MIB).is_err() {
            break;
        }
        large.push(block);
    }
    let fit = large.len() * 10;
    eprintln!("{fit} MiB of 10 MiB blocks");
    assert!((300..500).contains(&fit), "{fit} MiB fit");
    // And back: there is room for small blocks as soon as the large ones are freed.
    drop(large);
    let small: Vec<Box<[u8; 104]>> = (0..3_000_000).map(|_| Box::new([2; 104])).collect();
    assert!(small.iter().all(|block| block[103] == 2));
}

/// Runs a part of this program with a library, with the address space limited to `addresses` KiB.
fn inside(what: &str, test: &str, addresses: &str) -> Output {
    let program = env::current_exe().expect("a test has a path");
    let limit = format!("ulimit -v {addresses} && exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &limit])
        .arg(&program)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, what)
        .env("LD_PRELOAD", library("furlong_malloc"))
        .output()
        .expect("this program can be run")
}

fn holds(test: &str, body: fn()) {
    holds_within(test, "unlimited", body);
}

fn holds_within(test: &str, addresses: &str, body: fn()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    let output = inside("1", test, addresses);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
}

#[test]
fn after_a_peak_of_two_gigabytes_a_part_of_what_is_in_use_is_kept() {
    holds(
        "after_a_peak_of_two_gigabytes_a_part_of_what_is_in_use_is_kept",
        peak,
    );
}

#[test]
fn a_program_with_as_many_blocks_as_before_does_not_grow() {
    holds(
        "a_program_with_as_many_blocks_as_before_does_not_grow",
        churn,
    );
}

#[test]
fn addresses_of_small_blocks_that_were_freed_serve_large_ones() {
    holds_within(
        "addresses_of_small_blocks_that_were_freed_serve_large_ones",
        "500000",
        limited,
    );
}
