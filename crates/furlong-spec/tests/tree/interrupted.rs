//! A tree whose augmentation panics. The tree reports it, and the next change repairs it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use furlong::check::Check;
use furlong::rbtree::{Augment, NodeId, RbTree, Side, VecArena};

thread_local! {
    /// The number of calls before one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

fn burn() {
    let left = FUSE.get();
    FUSE.set(left.and_then(|left| left.checked_sub(1)));
    assert_ne!(left, Some(0), "the fuse has burnt");
}

/// An augmentation of numbers: a hash of the numbers on each side, in order, with its multiplier.
struct Fragile;

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

fn joined(parts: [(u64, u64); 3]) -> (u64, u64) {
    let both = |(hash, power): (u64, u64), (more, next): (u64, u64)| {
        let hash = hash.wrapping_mul(next).wrapping_add(more);
        (hash, power.wrapping_mul(next))
    };
    parts.into_iter().fold((0, 1), both)
}

impl Augment for Fragile {
    type Item = u64;
    type Key = u64;
    type Halves = [(u64, u64); 2];
    type Summary = (u64, u64);

    fn key(item: &u64) -> u64 {
        *item
    }

    fn empty(_: &u64, _: Side) -> (u64, u64) {
        burn();
        (0, 1)
    }

    fn half(_: &u64, _: Side, below: &(u64, u64)) -> (u64, u64) {
        burn();
        *below
    }

    fn join(item: &u64, side: Side, half: &(u64, u64), other: &(u64, u64)) -> (u64, u64) {
        burn();
        let own = (item + 1, BASE);
        match side {
            Side::Left => joined([*half, own, *other]),
            Side::Right => joined([*other, own, *half]),
        }
    }
}

type Tree = RbTree<VecArena<Fragile>>;

fn id(index: usize) -> NodeId {
    NodeId::from_index(index).expect("there are few nodes")
}

/// Fifteen even numbers, all linked, and unlinked odd ones.
fn tree() -> Tree {
    let mut tree: Tree = RbTree::new((0..31).collect());
    for index in (0..30).step_by(2) {
        tree.insert(id(index)).expect("it is not linked");
    }
    tree
}

type Change = fn(&mut Tree);

const CHANGES: [(&str, Change); 7] = [
    ("insert", |tree| assert_eq!(tree.insert(id(13)), Ok(()))),
    ("insert before", |tree| {
        assert_eq!(tree.insert_before(Some(id(16)), id(15)), Ok(()));
    }),
    ("insert after", |tree| {
        assert_eq!(tree.insert_after(Some(id(4)), id(5)), Ok(()));
    }),
    ("insert at edge", |tree| {
        let root = tree.root().expect("there are nodes");
        assert_eq!(
            tree.insert_at_edge(Some((root, Side::Right)), id(29)),
            Ok(())
        );
    }),
    ("remove", |tree| assert_eq!(tree.remove(id(10)), Ok(()))),
    ("refresh", |tree| assert_eq!(tree.refresh(id(2)), Ok(()))),
    ("update", |tree| tree.update(id(8), |item| *item += 1)),
];

#[test]
fn a_tree_is_interrupted_from_a_panic_to_the_next_change_of_any_kind() {
    for (name, first) in CHANGES {
        for (next, change) in CHANGES {
            if name == next {
                continue;
            }
            for calls in 0.. {
                let mut tree = tree();
                assert!(!tree.is_interrupted(), "{name} {next} {calls}");
                FUSE.set(Some(calls));
                let done = catch_unwind(AssertUnwindSafe(|| first(&mut tree)));
                FUSE.set(None);
                if done.is_ok() {
                    assert!(!tree.is_interrupted(), "{name} {next} {calls}");
                    assert_eq!(tree.check(), Ok(()), "{name} {next} {calls}");
                    break;
                }
                assert_eq!(tree.check(), Ok(()), "{name} {next} {calls}");
                change(&mut tree);
                assert!(!tree.is_interrupted(), "{name} {next} {calls}");
                assert_eq!(tree.check(), Ok(()), "{name} {next} {calls}");
            }
        }
    }
}

#[test]
fn an_interrupted_tree_is_made_whole_on_demand_and_summed_up_before() {
    for (name, change) in CHANGES {
        let mut tree = tree();
        FUSE.set(Some(3));
        let done = catch_unwind(AssertUnwindSafe(|| change(&mut tree)));
        FUSE.set(None);
        assert!(done.is_err() && tree.is_interrupted(), "{name}");
        let summary = tree.summary();
        let numbers = tree.iter().map(|at| (*tree.item(at) + 1, BASE));
        let naive = numbers.fold((0, 1), |all, one| joined([all, one, (0, 1)]));
        assert_eq!(summary, Some(naive), "{name}");
        tree.recover();
        assert!(!tree.is_interrupted(), "{name}");
        assert_eq!((tree.check(), tree.summary()), (Ok(()), summary), "{name}");
    }
}

#[test]
fn a_closure_that_panics_interrupts_a_linked_node_and_an_unlinked_one_until_the_next_change() {
    for at in [id(8), id(9)] {
        let mut tree = tree();
        let done = catch_unwind(AssertUnwindSafe(|| {
            tree.update(at, |_| panic!("no change"))
        }));
        assert!(done.is_err() && tree.is_interrupted());
        tree.update(id(9), |item| *item = 9);
        assert!(!tree.is_interrupted());
        assert_eq!(tree.check(), Ok(()));
    }
}
