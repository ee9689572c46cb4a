//! The library's B-tree of ranges against the model, with nodes of three slots and of the usual
//! size, with numbers and with counted references for entries.
#![forbid(unsafe_code)]

use std::sync::Arc;

use furlong::maple::{Custom, Fan, Heap, Standard};
use furlong::rcu::RcuBox;
use furlong_spec::maple::{Mix, Model, Operation, Outcome, SharedTree, Tree, operations};
use furlong_spec::{Subject, compare};

/// Splits, merges and spanning stores at once.
type Tiny = Custom<Fan<3, 3, 48>, Heap>;
/// An even number of slots, and wide nodes above few.
type Odd = Custom<Fan<4, 5, 32>, Heap>;

const MIXES: [Mix; 3] = [Mix::Growing, Mix::Steady, Mix::Shrinking];

fn agrees<S>(build: impl Fn() -> S, space: u64, streams: u64, length: usize)
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    for seed in 0..streams {
        let (mut model, mut subject) = (Model::new(), build());
        for (part, mix) in MIXES.into_iter().enumerate() {
            let stream = operations(space, mix, length, 3 * seed + part as u64);
            if let Err(divergence) = compare(&mut model, &mut subject, stream) {
                panic!("seed {seed}, {mix:?}, space {space}: {divergence}");
            }
        }
    }
}

#[test]
fn tiny_nodes_agree_with_the_model() {
    agrees(Tree::<u32, Tiny>::new, 60, 60, 300);
    agrees(Tree::<u32, Tiny>::new, 2000, 60, 600);
    agrees(Tree::<u32, Tiny>::new, 0, 30, 600);
}

#[test]
fn odd_nodes_agree_with_the_model() {
    agrees(Tree::<u32, Odd>::new, 2000, 60, 600);
}

#[test]
fn counted_references_agree_with_the_model() {
    agrees(Tree::<Arc<u32>, Tiny>::new, 300, 30, 400);
}

#[test]
fn wide_nodes_agree_with_the_model() {
    agrees(Tree::<u32, Standard>::new, 100_000, 6, 6000);
}

#[test]
fn tiny_nodes_with_readers_agree_with_the_model() {
    agrees(SharedTree::<u32, Tiny>::new, 60, 60, 300);
    agrees(SharedTree::<u32, Tiny>::new, 2000, 60, 600);
    agrees(SharedTree::<u32, Tiny>::new, 0, 30, 600);
    agrees(SharedTree::<RcuBox<u32>, Tiny>::new, 300, 30, 400);
}

#[test]
fn odd_nodes_with_readers_agree_with_the_model() {
    agrees(SharedTree::<u32, Odd>::new, 2000, 60, 600);
}

#[test]
fn wide_nodes_with_readers_agree_with_the_model() {
    agrees(SharedTree::<RcuBox<u32>, Standard>::new, 100_000, 6, 6000);
}
