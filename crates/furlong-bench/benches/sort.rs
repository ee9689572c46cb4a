//! Benchmarks two sorts on random numbers: `cargo bench --bench sort`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use furlong_bench::{Bench, Random};

fn main() -> ExitCode {
    let mut bench = Bench::new();
    for count in [100, 10_000] {
        let numbers =
            move |random: &mut Random| -> Vec<u64> { (0..count).map(|_| random.bits()).collect() };
        let sort = bench.group(format!("sort {count} numbers"));
        sort.bench("stable", move |b| {
            b.iter_with(numbers, |all| {
                all.sort();
                all[0]
            });
        });
        sort.bench("unstable", move |b| {
            b.iter_with(numbers, |all| {
                all.sort_unstable();
                all[0]
            });
        });
    }
    bench.main()
}
