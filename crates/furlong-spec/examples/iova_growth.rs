//! Measures the slowest reservation while a domain grows to two million extents. The sequence runs
//! five times; each reservation counts with its least time, and the greatest of these is the
//! result.
//!
//! `cargo run --release -p furlong-spec --example iova_growth`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its answer")]

use std::time::Instant;

use furlong::addr::{Extent, Iova};
use furlong::iova::{Domain, Highest, NoTlb, OneCpu, Request, VecSpace};

const EXTENTS: usize = 2_000_000;
const REPEATS: usize = 5;

/// Runs the sequence once. `least` keeps the least time of each reservation, in nanoseconds.
fn grow(least: &mut [u32]) {
    let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).expect("it is not empty");
    let space = VecSpace::new(all, 4096, Vec::new()).expect("it is in order");
    let domain = Domain::new(space, NoTlb, OneCpu, 1).expect("there is memory");
    for least in least {
        let begun = Instant::now();
        let grant = domain.reserve(&Request::new(4096), Highest);
        let took_ns = begun.elapsed().as_nanos();
        drop(grant.expect("there is room"));
        *least = (*least).min(u32::try_from(took_ns).unwrap_or(u32::MAX));
    }
}

fn main() {
    let mut least = vec![u32::MAX; EXTENTS];
    for _ in 0..REPEATS {
        grow(&mut least);
    }
    let slowest = least
        .iter()
        .enumerate()
        .max_by_key(|(_, took_ns)| **took_ns);
    let (at, slowest_ns) = slowest.expect("there was one");
    println!("slowest: {slowest_ns} ns, at {at} extents");
    least.sort_unstable();
    println!("median: {} ns", least[EXTENTS / 2]);
    println!("99.99 %: {} ns", least[EXTENTS / 10_000 * 9_999]);
}
