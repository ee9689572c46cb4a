//! The library's tables of segments against the model: every arm, over random streams and small
//! spaces.
#![forbid(unsafe_code)]

use furlong::phys::{
    Array, BigFirst, BinarySearch, Branchless, Contiguous, Direct, Flat, Linear, Lookup, Tree,
};
use furlong_spec::phys::{Model, Operation, Outcome, TableSubject, operations};
use furlong_spec::{Subject, compare};

/// Where a stream's frames lie, and how many there are: within a block, within few, across a border
/// of sections, in many blocks, across the border of what has one leaf, in sections beyond, across
/// the border to high frames, at the very end.
const SPACES: &[(u64, u64)] = &[
    (0, 24),
    (0, 512),
    (4096 - 160, 512),
    (4096, 3 * 4096),
    ((1 << 18) - 200, 400),
    (1 << 20, 3 * 4096),
    ((1 << 28) - 200, 400),
    ((1 << 40) - 256, 256),
];

/// Compares an arm with the model over streams from seeds; `room` is how many pieces it can have.
fn agrees<L: Lookup>(
    room: Option<usize>,
    seeds: u64,
    spaces: &[(u64, u64)],
    build: fn() -> TableSubject<L>,
) {
    for (base, space) in spaces.iter().copied() {
        for seed in 0..seeds {
            let mut model = Model::new(base, space as usize, room);
            let stream = operations(base, space, 150, seed);
            if let Err(divergence) = compare(&mut model, &mut build(), stream) {
                panic!("seed {seed}, {space} frames from {base}: {divergence}");
            }
        }
    }
}

#[test]
fn the_direct_arm_agrees_with_the_model() {
    agrees::<Direct>(None, 60, SPACES, TableSubject::direct);
}

#[test]
fn the_sorted_and_the_tree_arm_agree_with_the_model() {
    agrees::<Branchless>(None, 30, SPACES, TableSubject::new);
    agrees::<Tree>(None, 30, SPACES, TableSubject::new);
}

#[test]
fn the_flat_arm_agrees_with_the_model_where_it_reaches() {
    agrees::<Flat>(None, 30, &SPACES[..5], TableSubject::new);
}

#[test]
fn the_static_array_agrees_with_the_model_in_every_strategy() {
    agrees::<Array<BinarySearch, 6>>(Some(6), 30, SPACES, TableSubject::new);
    agrees::<Array<Linear, 6>>(Some(6), 30, SPACES, TableSubject::new);
    agrees::<Array<BigFirst, 32>>(Some(32), 30, SPACES, TableSubject::new);
    agrees::<Array<Contiguous, 4>>(Some(1), 30, SPACES, TableSubject::new);
}

/// Every sequence of a plug, the start and two changes more, each followed by a look at everything.
fn holds_in_a_small_space<L: Lookup>(frames: u64, build: fn() -> TableSubject<L>) {
    let ranges = || {
        let to = move |start| (start + 1..=frames).map(move |end| start..end);
        (0..frames).flat_map(to)
    };
    let plug = |frames| Operation::Plug {
        frames,
        avail: None,
        node: 0,
        user: 0,
    };
    let changes: Vec<Operation> = ranges()
        .map(plug)
        .chain(ranges().map(Operation::Unplug))
        .chain(ranges().map(|frames| Operation::Isolate(0, frames)))
        .chain([Operation::Remove(0), Operation::Abort(0)])
        .collect();
    let looks = (0..=frames)
        .flat_map(|frame| [Operation::Find(frame), Operation::Page(frame)])
        .chain([Operation::List, Operation::Managed]);
    let looks: Vec<Operation> = looks.collect();
    for first in 0..ranges().count() {
        for rest in 0..changes.len().pow(2) {
            let picked = [first, rest % changes.len(), rest / changes.len()];
            let mut model = Model::new(0, frames as usize, None);
            let picked = picked.map(|at| changes[at].clone());
            let started = [picked[0].clone(), Operation::Start];
            let stream = started.into_iter().chain(picked[1..].iter().cloned());
            let ends = [Operation::Abort(0), plug(0..1)];
            let stream = stream
                .chain(ends)
                .flat_map(|change| core::iter::once(change).chain(looks.iter().cloned()));
            compare(&mut model, &mut build(), stream)
                .unwrap_or_else(|divergence| panic!("{picked:?}: {divergence}"));
        }
    }
}

#[test]
fn every_short_sequence_in_a_small_space_holds_on_every_arm() {
    holds_in_a_small_space::<Direct>(4, TableSubject::direct);
    holds_in_a_small_space::<Branchless>(3, TableSubject::new);
    holds_in_a_small_space::<Tree>(3, TableSubject::new);
    holds_in_a_small_space::<Flat>(3, TableSubject::new);
    holds_in_a_small_space::<Array<BinarySearch>>(3, TableSubject::new);
    holds_in_a_small_space::<Array<BigFirst>>(3, TableSubject::new);
    holds_in_a_small_space::<Array<Linear>>(3, TableSubject::new);
}

#[test]
fn a_wrong_subject_is_told_from_the_model() {
    struct Forgetful(Model);

    impl Subject for Forgetful {
        type Operation = Operation;
        type Outcome = Outcome;

        fn apply(&mut self, operation: &Operation) -> Outcome {
            match operation {
                Operation::Remove(_) => Outcome::Done,
                _ => self.0.apply(operation),
            }
        }

        fn check(&self) -> Result<(), String> {
            Ok(())
        }
    }

    let mut subject = Forgetful(Model::new(0, 64, None));
    let stream = operations(0, 64, 1000, 1);
    assert!(compare(&mut Model::new(0, 64, None), &mut subject, stream).is_err());
}
