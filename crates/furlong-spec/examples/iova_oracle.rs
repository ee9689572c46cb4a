//! Compares the address allocator with the model for as long as the caller likes. Runs random
//! operations on every arm, every request in small spaces, and every sequence of operations in a
//! space of 12 granules.
//!
//! `cargo run --release -p furlong-spec --example iova_oracle -- [OPERATIONS] [SEED]`: at least
//! OPERATIONS random operations, 10,000,000 by default, in streams from SEED on. Prints what
//! agreed, and stops at the first divergence.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::ops::Range;
use std::process::ExitCode;

use furlong::addr::Iova;
use furlong::iova::{Boundary, Config, Counts, Custom, Largest, Request, Runs, Standard};
use furlong::rbtree::{Checked, Deferred, Eager};
use furlong_spec::iova::{
    Geometry, Model, Operation, Place, Promise, Questions, SpaceSubject, sequences, trial, trial_of,
};
use furlong_spec::{Coverage, Trial, long_run, try_out};

/// Consecutive streams on one arm: a multiple of the number of seeds for spaces without memory.
const SEEDS: u64 = 18;

/// Every arm, and a space that has memory for a few extents only.
const ARMS: [Trial; 7] = [
    arm("checked", |seeds| of::<Standard>(Promise::Looks(0), seeds)),
    arm("eager", |seeds| {
        of::<Custom<Largest, Eager>>(Promise::Looks(0), seeds)
    }),
    arm("deferred", |seeds| {
        of::<Custom<Largest, Deferred>>(Promise::Looks(0), seeds)
    }),
    arm("runs", |seeds| {
        of::<Custom<Runs<4>, Checked>>(Promise::Looks(4), seeds)
    }),
    arm("counts", |seeds| {
        of::<Custom<Counts<4>, Checked>>(Promise::Looks(0), seeds)
    }),
    arm("boundary", |seeds| {
        of::<Custom<Boundary<2>, Checked>>(Promise::Bounded(2), seeds)
    }),
    arm("short of memory", short_of_memory),
];

/// An arm of which no outcome is required.
const fn arm(name: &'static str, run: fn(Range<u64>) -> Result<Coverage, String>) -> Trial {
    Trial::new(name, run, |_, _| Vec::new())
}

fn of<C: Config>(promise: Promise, seeds: Range<u64>) -> Result<Coverage, String> {
    trial_of(SpaceSubject::<C>::new, promise, seeds)
}

fn short_of_memory(seeds: Range<u64>) -> Result<Coverage, String> {
    let build = |geometry, seed| {
        let extents = seed as usize % 9;
        let model = Model::new(geometry, Promise::Looks(0)).with_room(extents);
        (
            SpaceSubject::<Standard, _>::with_room(geometry, extents),
            model,
        )
    };
    trial(build, seeds)
}

/// Runs every request in every small space.
fn questions() -> Result<(), String> {
    let geometries = [
        Geometry::low(6, 1),
        Geometry::high(6, 4096),
        Geometry::high(7, 1 << 20),
        Geometry::low(4, 1 << 62),
    ];
    for geometry in geometries {
        for (what, questions) in [
            ("windows", Questions::windows(geometry)),
            ("exclusions", Questions::exclusions(geometry)),
        ] {
            let build = SpaceSubject::<Standard>::new;
            let asked = questions.sweep(build, Promise::Looks(0))?;
            println!("{geometry:?}: {asked} questions about {what}");
        }
    }
    let geometry = Geometry::high(5, 4096);
    let questions = Questions::windows(geometry);
    let runs = questions.sweep(SpaceSubject::<Custom<Runs<3>>>::new, Promise::Looks(3))?;
    let counts = questions.sweep(SpaceSubject::<Custom<Counts<3>>>::new, Promise::Looks(0))?;
    let build = SpaceSubject::<Custom<Boundary<1>>>::new;
    let boundary = questions.sweep(build, Promise::Bounded(1))?;
    println!("{geometry:?}: {runs} questions to runs, {counts} to counts, {boundary} to boundary");
    Ok(())
}

/// Reservations of these sizes and alignments, in granules, by these policies.
fn reserves(granule: u64, sizes: &[u64], aligns: &[u64], places: &[Place]) -> Vec<Operation> {
    let mut reserves = Vec::new();
    for size in sizes {
        for align in aligns {
            let request = Request::new(size * granule).align(align * granule);
            reserves.extend(
                places
                    .iter()
                    .map(|place| Operation::Reserve(request, *place)),
            );
        }
    }
    reserves
}

/// Runs every sequence on 12 granules, at both ends of the 64-bit range.
fn every_sequence() -> Result<(), String> {
    for geometry in [Geometry::low(12, 1), Geometry::high(12, 4096)] {
        let near = Place::Near(Iova::new(geometry.byte(5) as u64));
        let all = [Place::Lowest, Place::Highest, Place::Best, near];
        let granule = geometry.granule;
        let alphabets = [
            (reserves(granule, &[1, 2, 3, 5], &[1, 2, 4], &all), 4),
            (reserves(granule, &[1, 3, 4], &[1], &all[..2]), 7),
        ];
        for (alphabet, length) in alphabets {
            let model = Model::new(geometry, Promise::Looks(0));
            let build = || SpaceSubject::<Standard>::new(geometry);
            let done = sequences(build, &model, &alphabet, length)?;
            let letters = alphabet.len();
            println!("{geometry:?}: {done} sequences of {letters} and releases, up to {length}");
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    long_run("OPERATIONS", 10_000_000, |operations, seed| {
        try_out(&ARMS, operations, seed, SEEDS)?;
        questions()?;
        every_sequence()
    })
}
