//! Benchmarks for `cargo bench`: is B faster than A, by how much, and how sure is that?
//!
//! ```
//! use furlong_bench::{Bench, Random};
//!
//! fn numbers(random: &mut Random) -> Vec<u64> {
//!     (0..1000).map(|_| random.bits()).collect()
//! }
//!
//! let mut bench = Bench::new();
//! let sort = bench.group("sort 1000 numbers");
//! sort.bench("stable", |b| b.iter_with(numbers, |all| { all.sort(); all[0] }));
//! sort.bench("unstable", |b| b.iter_with(numbers, |all| { all.sort_unstable(); all[0] }));
//! // fn main() -> std::process::ExitCode { .. bench.main() }
//! ```
//!
//! The target in `Cargo.toml` has `harness = false`. The first benchmark of a group is its
//! baseline; a group of one is measured without a comparison.
//!
//! `cargo bench` runs each sample in a process of its own. In each block every benchmark of the
//! group runs once, in random order, and the baseline twice.
//!
//! - `cargo bench --bench NAME -- FILTER` selects groups.
//! - `cargo bench --bench NAME -- --help` lists the options.
//! - `cargo test --benches` runs each benchmark once.
//!
//! # Files
//! - `bencher.rs`: a sample; `timed.rs`: the loops that are timed
//! - `run.rs`: blocks, and a process for each sample; `options.rs`: the command line
//! - `calibrate.rs`: the length of a sample
//! - `protocol.rs`: requests of a program that measures, such as `furlong ab`
//! - `report.rs`: the lines on the terminal
//! - `machine.rs`, `build.rs`, `hash.rs`: properties of machine and binary, for the record
#![forbid(unsafe_code)]

mod bencher;
pub mod build;
pub mod calibrate;
pub mod hash;
pub mod machine;
mod options;
pub mod protocol;
mod report;
mod run;
mod timed;

use std::fmt;
use std::process::ExitCode;

pub use bencher::Bencher;
pub use furlong_stats::random::Random;

/// Benchmarks in groups.
#[derive(Debug, Default)]
pub struct Bench {
    groups: Vec<Group>,
}

/// Benchmarks that are compared with the first of them.
#[derive(Debug)]
pub struct Group {
    name: String,
    arms: Vec<Arm>,
}

/// A benchmark: a name, and the closure that calls one of the bencher's loops.
struct Arm {
    name: String,
    run: Box<dyn Fn(&mut Bencher)>,
}

impl fmt::Debug for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Bench {
    /// No groups.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group, or returns the one of that name.
    pub fn group(&mut self, name: impl Into<String>) -> &mut Group {
        let name = name.into();
        let at = self.groups.iter().position(|group| group.name == name);
        let at = at.unwrap_or_else(|| {
            let arms = Vec::new();
            self.groups.push(Group { name, arms });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    /// Does what the command line says: all of a benchmark's `fn main`.
    #[must_use]
    pub fn main(&self) -> ExitCode {
        run::main(&self.groups)
    }
}

impl Group {
    /// Adds a benchmark. `run` calls one of the bencher's loops once; code before that call runs
    /// once for each sample, and is not timed.
    pub fn bench(
        &mut self,
        name: impl Into<String>,
        run: impl Fn(&mut Bencher) + 'static,
    ) -> &mut Self {
        self.arms.push(Arm {
            name: name.into(),
            run: Box::new(run),
        });
        self
    }
}
