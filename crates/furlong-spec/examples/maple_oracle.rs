//! Compares the B-tree of ranges with the model for as long as the caller likes. Runs random
//! operations on nodes of three slots, of four and of the default size, with one owner and with
//! readers. Runs also every sequence of a few changes.
//!
//! `cargo run --release -p furlong-spec --example maple_oracle -- [OPERATIONS] [SEED]`: at least
//! OPERATIONS random operations, 10,000,000 by default, in streams from SEED on. Prints what agreed
//! and the work that it took. Stops at the first divergence, or at a kind of work that never
//! occurred.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;
use std::sync::Arc;

use furlong::maple::{Config, Custom, Event, Fan, Heap, Tally, Wide};
use furlong::rcu::RcuBox;
use furlong_spec::long_run;
use furlong_spec::maple::{Mix, Model, Operation, Outcome, SharedTree, Tree, operations};
use furlong_spec::{Subject, compare};

type Tiny = Custom<Fan<3, 3, 48>, Heap, Tally>;
type Odd = Custom<Fan<4, 5, 32>, Heap, Tally>;
type Usual = Custom<Wide, Heap, Tally>;

const MIXES: [Mix; 3] = [Mix::Growing, Mix::Steady, Mix::Shrinking];

const EVENTS: [(&str, Event); 5] = [
    ("slot stores", Event::SlotStore),
    ("node stores", Event::NodeStore),
    ("splits", Event::Split),
    ("rebalances", Event::Rebalance),
    ("spanning stores", Event::SpanningStore),
];

/// The work that trees have done, by [`EVENTS`].
type Work = [u64; EVENTS.len()];

fn work(tally: &Tally) -> Work {
    EVENTS.map(|(_, event)| tally.of(event))
}

/// Runs three mixes of `length` operations each on one subject, from one seed.
fn streams<S>(
    mut subject: S,
    work: impl Fn(&S) -> Work,
    (space, length): (u64, usize),
    seed: u64,
) -> Result<Work, String>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let mut model = Model::new();
    for (mix, part) in MIXES.into_iter().zip(0..) {
        let stream = operations(space, mix, length, 3 * seed + part);
        compare(&mut model, &mut subject, stream)
            .map_err(|divergence| format!("seed {seed}, {mix:?}, space {space}: {divergence}"))?;
    }
    Ok(work(&subject))
}

fn owned<C: Config<Counters = Tally>>(size: (u64, usize), seed: u64) -> Result<Work, String> {
    let tree = Tree::<Arc<u32>, C>::new();
    streams(tree, |tree| work(tree.0.counters()), size, seed)
}

fn shared<C: Config<Counters = Tally>>(size: (u64, usize), seed: u64) -> Result<Work, String> {
    let tree = SharedTree::<RcuBox<u32>, C>::new();
    streams(tree, |tree| work(tree.map.counters()), size, seed)
}

/// Runs one stream, for a space and a length, from a seed.
type Stream = fn((u64, usize), u64) -> Result<Work, String>;

/// The arms, with their spaces and lengths. All get the same share of the operations.
const ARMS: [(&str, Stream, (u64, usize)); 8] = [
    ("3 slots, owned, 60 indices", owned::<Tiny>, (60, 1000)),
    ("3 slots, owned, 2,000 indices", owned::<Tiny>, (2000, 2000)),
    (
        "3 slots, beside readers, 2,000 indices",
        shared::<Tiny>,
        (2000, 2000),
    ),
    (
        "3 slots, beside readers, all indices",
        shared::<Tiny>,
        (0, 1000),
    ),
    ("4 slots, owned, 2,000 indices", owned::<Odd>, (2000, 2000)),
    (
        "4 slots, beside readers, 2,000 indices",
        shared::<Odd>,
        (2000, 2000),
    ),
    (
        "15 slots, owned, 30,000 indices",
        owned::<Usual>,
        (30_000, 3000),
    ),
    (
        "15 slots, beside readers, 30,000 indices",
        shared::<Usual>,
        (30_000, 3000),
    ),
];

/// The number of operations on an arm after which each event must have occurred.
const MANY: u64 = 500_000;

fn all_streams(operations: u64, first: u64) -> Result<(), String> {
    let share = operations.div_ceil(ARMS.len() as u64);
    let mut all = 0;
    for (name, stream, size) in ARMS {
        let (mut done, mut seed) = (0, first);
        let mut sum = Work::default();
        while done < share {
            let work = stream(size, seed).map_err(|wrong| format!("{name}: {wrong}"))?;
            sum.iter_mut()
                .zip(work)
                .for_each(|(sum, work)| *sum += work);
            done += 3 * size.1 as u64;
            seed += 1;
        }
        let events = EVENTS.iter().zip(sum);
        let said: Vec<_> = events
            .clone()
            .map(|((what, _), n)| format!("{n} {what}"))
            .collect();
        println!(
            "{name}: {done} operations, {}; seeds {first} to {}",
            said.join(", "),
            seed - 1
        );
        if let Some(((what, _), _)) = events.clone().find(|(_, n)| done >= MANY && *n == 0) {
            return Err(format!("{name}: no {what}"));
        }
        all += done;
    }
    println!("all: {all} operations agree");
    Ok(())
}

/// Changes that touch, cut, cover, span and restore each other's entries.
const CHANGES: [Operation; 10] = [
    Operation::Store(22, 22, 100),
    Operation::Store(38, 61, 101),
    Operation::Insert(46, 48, 102),
    Operation::Erase(30),
    Operation::Store(30, 34, 103),
    Operation::Resize(32, 30, 36),
    Operation::Erase(70),
    Operation::EraseRange(15, 52),
    Operation::EraseRange(0, u64::MAX),
    Operation::Resize(60, 56, 66),
];

/// Runs every sequence of `length` changes, after enough insertions for three levels.
fn every_sequence<S>(build: impl Fn() -> S, length: u32) -> Result<u64, String>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let choices = CHANGES.len() as u64;
    for sequence in 0..choices.pow(length) {
        let grow = (1..=9).map(|index| Operation::Insert(10 * index, 10 * index + 4, index as u32));
        let change = |step| CHANGES[(sequence / choices.pow(step) % choices) as usize];
        let looks = [Operation::Range(0, u64::MAX), Operation::LargestGap];
        let stream = grow.chain((0..length).map(change)).chain(looks);
        compare(&mut Model::new(), &mut build(), stream)
            .map_err(|divergence| format!("sequence {sequence}: {divergence}"))?;
    }
    Ok(choices.pow(length))
}

fn sequences() -> Result<(), String> {
    let owned = every_sequence(Tree::<u32, Tiny>::new, 6)?;
    let shared = every_sequence(SharedTree::<u32, Tiny>::new, 6)?;
    println!("every sequence of six changes: {owned} owned, {shared} beside readers");
    Ok(())
}

fn main() -> ExitCode {
    long_run("OPERATIONS", 10_000_000, |operations, seed| {
        all_streams(operations, seed)?;
        sequences()
    })
}
