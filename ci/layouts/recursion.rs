//! Recursion: queens on a board, and numbers that call for smaller ones.
#![forbid(unsafe_code)]

use std::hint::black_box;

const ROUNDS: u32 = 100;

#[inline(never)]
fn queens(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        found += queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    found
}

#[inline(never)]
fn ackermann(m: u64, n: u64) -> u64 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

#[inline(never)]
fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        u64::from(n)
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

fn main() {
    let mut sum = 0;
    for _ in 0..ROUNDS {
        sum += queens(black_box(127), 0, 0, 0) + ackermann(black_box(2), 60);
        sum += fibonacci(black_box(19));
    }
    println!("{sum}");
}
