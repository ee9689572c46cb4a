//! Tests beyond the specification: broken trees, and a caller's mistakes.

use core::cell::Cell;
use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::storage::nodes::INTERNAL;
use super::{
    Arena, Augment, Broken, Checked, Chunks, Custom, Eager, InsertError, NoMemory, Node, NodeId,
    Nodes, NotLinked, Ranks, RbTree, Side, Standard, Tally, VecArena,
};
use crate::check::Check;

/// Numbers, with the count of nodes on each side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count;

impl Augment for Count {
    type Item = u64;
    type Key = u64;
    type Halves = [usize; 2];
    type Summary = usize;

    fn key(item: &u64) -> u64 {
        *item
    }

    fn empty(_: &u64, _: Side) -> usize {
        0
    }

    fn half(_: &u64, _: Side, below: &usize) -> usize {
        *below
    }

    fn join(_: &u64, _: Side, half: &usize, other: &usize) -> usize {
        half + 1 + other
    }
}

type Tree = RbTree<VecArena<Count>>;

fn id(index: usize) -> NodeId {
    NodeId::from_index(index).expect("tests have few nodes")
}

/// Nodes 0 to 6, linked as a full tree with root 3, and node 7 unlinked.
fn full() -> Tree {
    let mut tree: Tree = RbTree::new((0..8).collect());
    for index in [3, 1, 5, 0, 2, 4, 6] {
        tree.insert(id(index)).expect("it is not linked");
    }
    assert_eq!(tree.root(), Some(id(3)));
    assert_eq!(tree.check(), Ok(()));
    tree
}

/// Harm to a full tree, the error of `check`, and the beginning of its text.
type Harm = (fn(&mut Tree), Broken<NodeId>, &'static str);

#[test]
fn a_byte_of_ranks_is_not_loaded_as_four() {
    assert_ne!(Node::<Count>::RANKS_AT % 4, 0);
}

#[test]
fn every_broken_invariant_is_named() {
    fn place(tree: &mut Tree, node: usize, (parent, side): (usize, Side)) {
        tree.nodes
            .set_place(id(node), Some((id(parent), side)), INTERNAL);
    }
    let harms: [Harm; 9] = [
        (
            |tree| place(tree, 3, (7, Side::Left)),
            Broken::RootHasParent(id(3)),
            "I1",
        ),
        (
            |tree| place(tree, 0, (5, Side::Left)),
            Broken::Parent(id(1)),
            "I2",
        ),
        (
            |tree| place(tree, 0, (1, Side::Right)),
            Broken::Parent(id(1)),
            "I2",
        ),
        (
            |tree| *tree.nodes.item_mut(id(2)) = 9,
            Broken::Order(id(3)),
            "I3",
        ),
        (
            |tree| *tree.nodes.item_mut(id(2)) = 1,
            Broken::Order(id(2)),
            "I3",
        ),
        (
            |tree| {
                tree.nodes
                    .set_ranks(id(1), Ranks::on(Side::Left, true), INTERNAL);
            },
            Broken::Rank(id(1)),
            "I4",
        ),
        (
            |tree| tree.nodes.set_ranks(id(4), Ranks::LONG, INTERNAL),
            Broken::Leaf(id(4)),
            "I5",
        ),
        (
            |tree| tree.nodes.set_half(id(3), Side::Left, 2, INTERNAL),
            Broken::Half(id(3), Side::Left),
            "I6",
        ),
        (|tree| tree.head.len = 8, Broken::Length(7), "I7"),
    ];
    for (harm, expected, text) in harms {
        let mut tree = full();
        harm(&mut tree);
        assert_eq!(tree.check(), Err(expected));
        assert!(expected.to_string().starts_with(text), "{expected}");
    }
}

#[test]
#[should_panic(expected = "the store has a node of this name")]
fn a_spare_node_of_a_chunk_is_no_node() {
    let mut tree = RbTree::<Arena<Count, Chunks<Count>>>::new(Arena::new(Chunks::new()));
    tree.try_reserve(2).unwrap();
    let _ = tree.insert(id(1));
}

#[test]
fn a_node_is_linked_only_once() {
    let mut tree = full();
    assert_eq!(tree.insert(id(0)), Err(InsertError::Linked));
    assert_eq!(
        tree.insert_after(Some(id(3)), id(0)),
        Err(InsertError::Linked)
    );
    assert_eq!((tree.len(), tree.check()), (7, Ok(())));
}

#[test]
fn an_unlinked_node_is_not_removed() {
    let mut tree = full();
    assert_eq!(tree.remove(id(7)), Err(NotLinked));
    assert_eq!(tree.refresh(id(7)), Err(NotLinked));
    assert_eq!((tree.next(id(7)), tree.prev(id(7))), (None, None));
    assert_eq!((tree.len(), tree.check()), (7, Ok(())));
}

#[test]
#[should_panic(expected = "the neighbour is in no tree")]
fn an_unlinked_neighbour_is_refused() {
    let mut tree: Tree = RbTree::new((0..3).collect());
    tree.insert(id(0)).expect("it is not linked");
    let _ = tree.insert_after(Some(id(2)), id(1));
}

#[test]
#[should_panic(expected = "the key of a linked node has left its place")]
fn a_key_does_not_pass_its_neighbour() {
    full().update(id(3), |item| *item = 9);
}

#[test]
#[should_panic(expected = "the key of a linked node has left its place")]
fn a_key_does_not_become_that_of_its_neighbour() {
    full().update(id(3), |item| *item = 2);
}

#[test]
#[should_panic(expected = "the key of a linked node has left its place")]
fn a_key_does_not_become_that_of_the_next_one() {
    full().update(id(3), |item| *item = 4);
}

#[test]
fn a_key_may_change_between_its_neighbours() {
    let mut tree: Tree = RbTree::new([10, 20, 30, 15].into_iter().collect());
    for index in 0..3 {
        tree.insert(id(index)).expect("it is not linked");
    }
    for (index, key) in [(1, 29), (1, 11), (0, 0), (2, u64::MAX)] {
        tree.update(id(index), |item| *item = key);
        assert_eq!(tree.check(), Ok(()));
        assert_eq!(tree.find(key), Some(id(index)));
    }
    tree.update(id(3), |item| *item = 99);
    assert_eq!(tree.item(id(3)), &99, "what is in no tree is in no order");
}

#[test]
#[should_panic(expected = "a node is in one tree at most")]
fn linked_nodes_make_no_new_arena() {
    let nodes: Vec<Node<Count>> = (0..2).map(Node::of).collect();
    let mut tree = RbTree::new(Arena::new(nodes));
    tree.insert(id(0)).expect("it is not linked");
    let _: VecArena<Count> = Arena::new(tree.nodes().store().clone());
}

#[test]
fn a_linked_node_keeps_its_item() {
    let mut tree = full();
    assert_eq!(tree.replace(id(0), 20), Err(20));
    assert_eq!(tree.replace(id(7), 20), Ok(7));
    assert_eq!(tree.insert(id(7)), Ok(()));
    assert_eq!(tree.last(), Some(id(7)));
    assert_eq!(*tree.item(id(7)), 20);
}

#[test]
fn a_restored_tree_is_the_tree_that_was() {
    let saved = full();
    let mut tree = saved.clone();
    let array = core::ptr::from_ref(tree.item(id(0)));
    for at in saved.iter() {
        tree.remove(at).expect("it is linked");
    }
    assert!(tree.is_empty() && tree.summary().is_none());
    tree.clone_from(&saved);
    assert_eq!(
        core::ptr::from_ref(tree.item(id(0))),
        array,
        "the same array"
    );
    assert_eq!(tree.check(), Ok(()));
    assert!(tree.iter().eq(saved.iter()));
}

/// A number whose copies fail as long as `fails`.
struct Fragile<'a>(u64, &'a Cell<bool>);

impl Clone for Fragile<'_> {
    fn clone(&self) -> Self {
        assert!(!(self.0 == 2 && self.1.get()), "it is fragile");
        Self(self.0, self.1)
    }
}

/// The order of fragile numbers.
#[derive(Clone, Copy)]
struct ByNumber<'a>(PhantomData<&'a ()>);

impl<'a> Augment for ByNumber<'a> {
    type Item = Fragile<'a>;
    type Key = u64;
    type Halves = [(); 2];
    type Summary = ();

    fn key(item: &Fragile<'a>) -> u64 {
        item.0
    }
    fn empty(_: &Fragile<'a>, _: Side) {}
    fn half(_: &Fragile<'a>, _: Side, (): &()) {}
    fn join(_: &Fragile<'a>, _: Side, (): &(), (): &()) {}
}

#[test]
fn a_tree_whose_copy_failed_takes_all_its_nodes_again() {
    let fails = Cell::new(false);
    let nodes = (0..4).map(|number| Fragile(number, &fails));
    let mut tree: RbTree<VecArena<ByNumber<'_>>> = RbTree::new(nodes.collect());
    for index in 0..4 {
        tree.insert(id(index)).expect("it is not linked");
    }
    let saved = tree.clone();
    fails.set(true);
    let copied = catch_unwind(AssertUnwindSafe(|| tree.clone_from(&saved)));
    assert!(copied.is_err() && tree.is_empty() && tree.check().is_ok());
    for index in 0..4 {
        assert_eq!(tree.remove(id(index)), Err(NotLinked));
        assert_eq!(tree.insert(id(index)), Ok(()));
    }
    assert_eq!(tree.check(), Ok(()));
}

#[test]
fn nodes_that_come_back_are_in_no_tree() {
    let mut tree = RbTree::<_, Standard>::new(full().into_nodes());
    assert_eq!(tree.insert(id(3)), Ok(()));
    assert_eq!((tree.len(), tree.check()), (1, Ok(())));
}

#[test]
fn a_tree_over_borrowed_nodes_needs_no_allocator() {
    let mut nodes = [12, 10, 11].map(Node::<Count>::of);
    let mut tree: RbTree<_, Standard> = RbTree::new(Arena::new(&mut nodes[..]));
    for index in 0..3 {
        tree.insert(id(index)).expect("it is not linked");
    }
    assert!(tree.iter().map(NodeId::index).eq([1, 2, 0]));
    assert!(tree.iter().rev().map(NodeId::index).eq([0, 2, 1]));
    tree.clear();
    assert!(tree.is_empty() && tree.check().is_ok());
    assert_eq!(tree.insert(id(1)), Ok(()));
}

#[test]
fn an_iterator_meets_itself_in_the_middle() {
    let tree = full();
    let mut nodes = tree.iter();
    let ends = [
        nodes.next(),
        nodes.next_back(),
        nodes.next(),
        nodes.next_back(),
    ];
    assert_eq!(ends, [0, 6, 1, 5].map(|index| Some(id(index))));
    assert_eq!(nodes.len(), 3);
    assert!(nodes.map(NodeId::index).eq([2, 3, 4]));
}

#[test]
fn an_eager_rotation_counts_the_node_that_goes_down() {
    let mut tree: RbTree<VecArena<Count>, Custom<Eager, Tally>> =
        RbTree::with_config((0..3).collect());
    for index in 0..3 {
        tree.insert(id(index)).expect("it is not linked");
    }
    assert_eq!(tree.counters().rotations(), 1);
    // Three leaves; one walk of one node; another walk of one node, after a rotation that counts
    // one.
    assert_eq!(tree.counters().augmentations(), 3 + 1 + (1 + 1));
}

#[test]
fn a_node_that_only_leans_keeps_its_rank() {
    // Below the root, 5 becomes a leaf of rank 0, then 1 does.
    let mut tree = full();
    for index in [4, 6, 0, 2] {
        tree.remove(id(index)).expect("it is linked");
    }
    assert_eq!(tree.nodes.ranks(id(3)), Ranks::LONG);
    // The root's heir is its child, which has a single child and inherits the other child of the
    // root.
    let mut tree = full();
    for index in [0, 2, 4, 3] {
        tree.remove(id(index)).expect("it is linked");
    }
    assert_eq!((tree.root(), tree.check()), (Some(id(5)), Ok(())));
    assert_eq!(tree.nodes.ranks(id(5)), Ranks::LONG);
}

#[test]
fn a_node_has_a_mark_that_moves_with_nothing_else() {
    let mut tree = full();
    assert!(tree.nodes().ids().all(|at| tree.mark(at) == 0));
    tree.set_mark(id(2), 7);
    tree.remove(id(2)).expect("it is linked");
    tree.remove(id(3)).expect("it is linked");
    assert!(
        tree.nodes()
            .ids()
            .all(|at| tree.mark(at) == 7 * u8::from(at == id(2)))
    );
}

#[test]
fn an_arena_tells_whether_it_has_nodes() {
    let [none, one] = [0, 1].map(|count| (0..count).collect::<VecArena<Count>>());
    assert!(none.is_empty() && !one.is_empty());
    assert_eq!((none.len(), one.len()), (0, 1));
}

#[test]
fn a_tree_that_is_restored_has_the_counts_of_then() {
    let mut tree: RbTree<VecArena<Count>, Custom<Checked, Tally>> =
        RbTree::with_config((0..8).collect());
    for index in 0..7 {
        tree.insert(id(index)).expect("it is not linked");
    }
    let saved = tree.clone();
    let counts = |tree: &RbTree<_, Custom<Checked, Tally>>| {
        let counts: &Tally = tree.counters();
        [counts.augmentations(), counts.rotations(), counts.visits()]
    };
    assert_eq!(counts(&tree), counts(&saved));
    tree.remove(id(0)).expect("it is linked");
    assert_ne!(counts(&tree), counts(&saved));
    tree.clone_from(&saved);
    assert_eq!(counts(&tree), counts(&saved));
}

#[test]
fn an_array_takes_nodes_while_there_is_room_and_no_longer() {
    let mut tree: Tree = RbTree::new(VecArena::new(Vec::new()));
    assert_eq!((tree.push(1), tree.capacity()), (Err(NoMemory), 0));
    assert_eq!(tree.try_reserve(3), Ok(()));
    let room = tree.capacity();
    assert!(room >= 3);
    for index in 0..room {
        assert_eq!(tree.push(index as u64), Ok(id(index)));
        assert_eq!(*tree.item(id(index)), index as u64);
    }
    assert_eq!((tree.push(1), tree.nodes().len()), (Err(NoMemory), room));
    // A memory that is not larger is returned; in a larger one the nodes keep their names.
    tree.insert(id(1)).expect("it is not linked");
    let back = tree.grow_into(Vec::with_capacity(room));
    assert_eq!((back.capacity(), tree.capacity()), (room, room));
    let back = tree.grow_into(Vec::with_capacity(2 * room));
    assert_eq!((back.capacity(), back.len()), (room, 0));
    assert_eq!((tree.capacity(), tree.nodes().len()), (2 * room, room));
    assert_eq!((tree.find(1), tree.check()), (Some(id(1)), Ok(())));
    assert_eq!(tree.push(9), Ok(id(room)));
}

#[test]
fn an_array_that_cannot_grow_refuses_every_node() {
    let mut nodes = [Node::<Count>::of(0)];
    let mut tree: RbTree<_, Standard> = RbTree::new(Arena::new(&mut nodes[..]));
    assert_eq!(
        (tree.try_reserve(0), tree.push(1)),
        (Err(NoMemory), Err(NoMemory))
    );
    let nodes: Box<[Node<Count>]> = Box::new([Node::of(0)]);
    let mut tree: RbTree<_, Standard> = RbTree::new(Arena::new(nodes));
    assert_eq!(
        (tree.try_reserve(0), tree.push(1)),
        (Err(NoMemory), Err(NoMemory))
    );
}
