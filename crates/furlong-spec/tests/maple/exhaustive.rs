//! Every sequence of changes from a small set, on nodes of three slots, compared with the model.
#![forbid(unsafe_code)]

use furlong::maple::{Custom, Fan, Heap};
use furlong_spec::maple::{Model, Operation, Outcome, SharedTree, Tree};
use furlong_spec::{Subject, compare, every_sequence};

type Tiny = Custom<Fan<3, 3, 32>, Heap>;

/// Stores and erasures that touch, cut, cover, span and restore each other's entries. They follow
/// enough insertions for three levels.
const CHANGES: [Operation; 9] = [
    Operation::Store(22, 22, 100),
    Operation::Store(38, 61, 101),
    Operation::Erase(30),
    Operation::Store(30, 34, 102),
    Operation::Resize(32, 30, 36),
    Operation::Erase(70),
    Operation::EraseRange(15, 52),
    Operation::EraseRange(0, u64::MAX),
    Operation::Resize(60, 56, 66),
];

fn holds_in_every_sequence<S>(build: impl Fn() -> S, length: u32)
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let grow = (1..=9_u64).map(|index| Operation::Insert(10 * index, 10 * index + 4, index as u32));
    for sequence in every_sequence(&CHANGES, length) {
        let looks = [Operation::Range(0, u64::MAX), Operation::LargestGap];
        let stream = grow.clone().chain(sequence.clone()).chain(looks);
        compare(&mut Model::new(), &mut build(), stream)
            .unwrap_or_else(|divergence| panic!("{sequence:?}: {divergence}"));
    }
}

#[test]
fn every_sequence_of_five_changes_holds() {
    holds_in_every_sequence(Tree::<u32, Tiny>::new, 5);
}

#[test]
fn every_sequence_of_five_changes_holds_beside_readers() {
    holds_in_every_sequence(SharedTree::<u32, Tiny>::new, 5);
}
