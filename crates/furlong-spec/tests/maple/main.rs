//! The library's B-tree of ranges compared with the model. Nodes have three slots or the default
//! size; entries are numbers or counted references.
#![deny(unsafe_code)]

mod collection;
mod cursor;
mod exhaustive;
mod interface;
mod ledger;
mod memory;
mod work;

use std::sync::Arc;

use furlong::addr::{Extent, VirtAddr};
use furlong::maple::{BulkError, Config, Custom, Fan, Heap, Maple, RcuMaple, Standard};
use furlong::rcu::RcuBox;
use furlong::sync::SpinLock;
use furlong_spec::maple::{Mix, Model, Operation, Outcome, RCU, SharedTree, Tree, operations};
use furlong_spec::{Subject, compare};

/// Few entries cause splits, merges and spanning stores.
type Tiny = Custom<Fan<3, 3, 48>, Heap>;
/// An even number of leaf slots, below nodes that are wider.
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

#[test]
fn nodes_of_the_smallest_and_the_largest_sizes_agree_with_the_model() {
    type Low = Custom<Fan<3, 255, 5>, Heap>;
    type High = Custom<Fan<16, 3, 32>, Heap>;
    type Large = Custom<Fan<16, 255, 5>, Heap>;
    agrees(Tree::<u32, Low>::new, 100_000, 3, 3000);
    agrees(Tree::<u32, High>::new, 100_000, 3, 3000);
    agrees(Tree::<u32, Large>::new, 100_000, 3, 6000);
    agrees(SharedTree::<u32, Low>::new, 100_000, 3, 3000);
    agrees(SharedTree::<u32, High>::new, 100_000, 3, 3000);
    agrees(SharedTree::<u32, Large>::new, 100_000, 3, 6000);
}

/// Copies a tree, and loads another one from its entries. Both agree with it, and with the model
/// afterwards.
fn copies_agree<C: Config>(space: u64, length: usize) {
    for seed in 0..20 {
        let (mut model, mut tree) = (Model::new(), Tree::<u32, C>::new());
        let grow = operations(space, Mix::Growing, length, seed);
        compare(&mut model, &mut tree, grow).unwrap();
        let copy = tree.0.duplicate(|_, entry| Ok::<_, ()>(entry)).unwrap();
        let loaded = Maple::from_sorted(tree.0.iter()).unwrap();
        assert_eq!(copy.nodes(), tree.0.nodes());
        for copy in [copy, loaded] {
            let (mut model, mut copy) = (model.clone(), Tree(copy));
            let all = Operation::Range(0, u64::MAX);
            let stream = operations(space, Mix::Steady, length, seed + 1000);
            compare(&mut model, &mut copy, std::iter::once(all).chain(stream))
                .unwrap_or_else(|divergence| panic!("seed {seed}: {divergence}"));
        }
    }
}

/// Loads a tree with readers, and copies it.
fn shared_copies_agree<C: Config>(space: u64, length: usize) {
    for seed in 0..20 {
        let (mut model, mut tree) = (Model::new(), Tree::<u32, C>::new());
        let grow = operations(space, Mix::Growing, length, seed);
        compare(&mut model, &mut tree, grow).unwrap();
        let boxed = || tree.0.iter().map(|(at, value)| (at, RcuBox::new(value)));
        let mut loaded = SharedTree::<RcuBox<u32>, C>::new();
        loaded.map.lock().load_sorted(boxed()).unwrap();
        let map = RcuMaple::from_sorted(&RCU, SpinLock::new(), boxed()).unwrap();
        let mut copied = SharedTree::new();
        let copy = |_, value: &u32| Ok::<_, ()>(RcuBox::new(*value));
        copied.map = map.lock().duplicate(&RCU, SpinLock::new(), copy).unwrap();
        drop(map);
        for shared in [&mut loaded, &mut copied] {
            let mut model = model.clone();
            let all = Operation::Range(0, u64::MAX);
            let stream = operations(space, Mix::Steady, length, seed + 1000);
            compare(&mut model, shared, std::iter::once(all).chain(stream))
                .unwrap_or_else(|divergence| panic!("seed {seed}: {divergence}"));
        }
    }
}

#[test]
fn copied_and_loaded_trees_with_readers_agree_with_the_model() {
    shared_copies_agree::<Tiny>(500, 300);
    shared_copies_agree::<Standard>(50_000, 2000);
}

#[test]
fn a_map_that_has_entries_is_not_loaded() {
    let map = SharedTree::<u32, Tiny>::new().map;
    let at = |start| Extent::from_len(VirtAddr::new(start), 10).unwrap();
    let mut session = map.lock();
    assert_eq!(
        session.load_sorted([(at(10), 1), (at(5), 2)]),
        Err(BulkError::Order(at(5), 2))
    );
    assert_eq!(session.load_sorted([]), Ok(()));
    assert_eq!(session.load_sorted([(at(10), 1), (at(30), 2)]), Ok(()));
    assert_eq!(
        session.load_sorted([(at(90), 3)]),
        Err(BulkError::Occupied(at(90), 3))
    );
    assert_eq!(session.view().len(), 2);
}

#[test]
fn copied_and_loaded_trees_agree_with_the_model() {
    copies_agree::<Tiny>(500, 300);
    copies_agree::<Odd>(2000, 500);
    copies_agree::<Standard>(50_000, 2000);
}

#[test]
fn entries_out_of_order_are_not_loaded() {
    let at = |start| Extent::from_len(VirtAddr::new(start), 10).unwrap();
    let overlapping = Maple::<_, _, Tiny>::from_sorted([(at(10), 1_u32), (at(19), 2)]);
    assert_eq!(overlapping.err(), Some(BulkError::Order(at(19), 2)));
    let last = Extent::from_len(VirtAddr::new(u64::MAX), 1).unwrap();
    let behind = Maple::<_, _, Tiny>::from_sorted([(last, 1_u32), (last, 2)]);
    assert_eq!(behind.err(), Some(BulkError::Order(last, 2)));
}
