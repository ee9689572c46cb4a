//! The work that a tree counts, compared with changes of its shape and calls of an augmentation.

use std::cell::RefCell;
use std::collections::BTreeSet;

use furlong::check::Check;
use furlong::rbtree::{
    Augment, Checked, Custom, Deferred, Eager, InsertError, NodeId, Nodes, Propagation, RbTree,
    Side, Tally, VecArena,
};
use furlong_spec::Random;

/// The number of nodes in a tree, half of which are linked on average.
const NODES: usize = 40;

thread_local! {
    /// Items whose halves have been computed.
    static COMPUTED: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

fn note(item: u64) {
    COMPUTED.with_borrow_mut(|computed| computed.insert(item));
}

/// The number of items whose halves have been computed since the last call.
fn computed() -> u64 {
    COMPUTED.take().len() as u64
}

/// An augmentation of numbers: the largest remainder on each side. Some changes do not affect it.
struct Noted;

impl Augment for Noted {
    type Item = u64;
    type Key = u64;
    type Halves = [u64; 2];
    type Summary = u64;

    fn key(item: &u64) -> u64 {
        *item
    }

    fn empty(item: &u64, _: Side) -> u64 {
        note(*item);
        0
    }

    fn half(item: &u64, _: Side, below: &u64) -> u64 {
        note(*item);
        *below
    }

    fn join(item: &u64, _: Side, half: &u64, other: &u64) -> u64 {
        (1 + 7 * item % 13).max(*half).max(*other)
    }

    /// Not noted: it computes no half of the node.
    fn leaf(item: &u64) -> u64 {
        1 + 7 * item % 13
    }
}

type Tree<P> = RbTree<VecArena<Noted>, Custom<P, Tally>>;

fn id(index: usize) -> NodeId {
    NodeId::from_index(index).expect("there are few nodes")
}

fn empty<P: Propagation>(nodes: usize) -> Tree<P> {
    RbTree::with_config((0..nodes as u64).collect())
}

/// A tree of `nodes` nodes, linked in this order.
fn grown<P: Propagation>(nodes: usize, order: impl IntoIterator<Item = usize>) -> Tree<P> {
    let mut tree = empty(nodes);
    for index in order {
        tree.insert(id(index)).expect("it is not linked");
    }
    tree
}

/// Augmentations, rotations and visits.
fn counted<P: Propagation>(tree: &Tree<P>) -> [u64; 3] {
    let tally = tree.counters();
    [tally.augmentations(), tally.rotations(), tally.visits()]
}

/// The ancestors of a node, from its parent up.
fn above<P: Propagation>(tree: &Tree<P>, at: NodeId) -> Vec<NodeId> {
    let up = |at: &NodeId| tree.nodes().place(*at).map(|(parent, _)| parent);
    std::iter::successors(Some(at), up).skip(1).collect()
}

/// The nodes that a search for a key visits until it finds no child.
fn way_to<P: Propagation>(tree: &Tree<P>, key: u64) -> Vec<NodeId> {
    let down = |at: &NodeId| {
        let right = *tree.item(*at) < key;
        tree.nodes().child(*at, Side::right_if(right))
    };
    std::iter::successors(tree.root(), down).collect()
}

/// All pairs of an ancestor and a descendant.
fn shape<P: Propagation>(tree: &Tree<P>) -> BTreeSet<(NodeId, NodeId)> {
    let pairs = |at| above(tree, at).into_iter().map(move |up| (up, at));
    tree.iter().flat_map(pairs).collect()
}

/// A change without rebalancing, and its expected cost.
struct Plain {
    shape: BTreeSet<(NodeId, NodeId)>,
    visits: usize,
    /// The lowest node whose subtree changes.
    lowest: Option<NodeId>,
}

fn plain_insert<P: Propagation>(tree: &Tree<P>, new: NodeId) -> Plain {
    let way = way_to(tree, *tree.item(new));
    let mut shape = shape(tree);
    shape.extend(way.iter().map(|up| (*up, new)));
    Plain {
        shape,
        visits: way.len(),
        lowest: Some(new),
    }
}

fn plain_remove<P: Propagation>(tree: &Tree<P>, old: NodeId) -> Plain {
    let [left, right] = Side::BOTH.map(|side| tree.nodes().child(old, side));
    let (Some(_), Some(right)) = (left, right) else {
        let mut shape = shape(tree);
        shape.retain(|(up, down)| *up != old && *down != old);
        return Plain {
            shape,
            visits: 0,
            lowest: above(tree, old).first().copied(),
        };
    };
    let heir = way_to(tree, *tree.item(old) + 1)
        .into_iter()
        .rfind(|at| tree.item(*at) > tree.item(old))
        .expect("there are nodes on its right");
    let steps = above(tree, heir);
    let visits = steps.iter().position(|up| *up == old).expect("it is above");
    let renamed = |at| if at == old { heir } else { at };
    let shape = shape(tree)
        .into_iter()
        .filter(|(up, down)| *up != heir && *down != heir)
        .map(|(up, down)| (renamed(up), renamed(down)))
        .collect();
    Plain {
        shape,
        visits,
        lowest: if heir == right {
            Some(heir)
        } else {
            steps.first().copied()
        },
    }
}

/// Toggles nodes at random. Each change must count exactly the nodes whose halves were computed,
/// the rotations visible in its shape, and the nodes that its search visited.
fn counts_what_it_does<P: Propagation>() {
    let mut tree = empty::<P>(NODES);
    let mut random = Random::new(7);
    for step in 0..6000 {
        let at = id(random.index(NODES));
        let plain = if tree.is_linked(at) {
            plain_remove(&tree, at)
        } else {
            plain_insert(&tree, at)
        };
        let before = counted(&tree);
        computed();
        if tree.is_linked(at) {
            tree.remove(at).expect("it is linked");
        } else {
            tree.insert(at).expect("it is not linked");
        }
        let computed = computed();
        let after = counted(&tree);
        assert_eq!(tree.check(), Ok(()), "step {step}");
        let [augmentations, rotations, visits] =
            [0, 1, 2].map(|index| after[index] - before[index]);
        assert_eq!(visits, plain.visits as u64, "step {step}");
        // A single rotation reverses one pair, a double one two.
        let turned = |(up, down): &&(NodeId, NodeId)| plain.shape.contains(&(*down, *up));
        let turned = shape(&tree).iter().filter(turned).count() as u64;
        assert_eq!(rotations, turned, "step {step}");
        if P::AT_ROTATION {
            // A walk to the root, and one node for each rotation, which moves down.
            let walk = plain
                .lowest
                .map_or(0, |at| 1 + above(&tree, at).len() as u64);
            assert_eq!(augmentations, walk + rotations, "step {step}");
        } else {
            assert_eq!(augmentations, computed, "step {step}");
        }
    }
}

#[test]
fn each_change_counts_the_work_that_it_does_on_every_arm() {
    counts_what_it_does::<Eager>();
    counts_what_it_does::<Deferred>();
    counts_what_it_does::<Checked>();
}

/// The result of a search or a step, and the number of nodes visited.
fn visited<P: Propagation, T>(tree: &Tree<P>, search: impl FnOnce(&Tree<P>) -> T) -> (T, u64) {
    let [.., before] = counted(tree);
    let found = search(tree);
    (found, tree.counters().visits() - before)
}

/// The path from a node's child on side `first` down on side `then`, which a step to a neighbour
/// visits.
fn below<P: Propagation>(tree: &Tree<P>, at: NodeId, first: Side, then: Side) -> Vec<NodeId> {
    let down = |at: &NodeId| tree.nodes().child(*at, then);
    std::iter::successors(tree.nodes().child(at, first), down).collect()
}

#[test]
fn a_search_visits_its_way_down_and_a_step_what_is_beyond_the_child() {
    // Only even nodes, so that there are keys between them.
    let order = [8, 2, 14, 20, 6, 26, 0, 30, 4, 10, 12, 28, 24];
    let tree = grown::<Checked>(32, order);
    for key in 0..33 {
        let ways = [key, key + 1].map(|key| way_to(&tree, key).len() as u64);
        let first = |from: u64| {
            order
                .into_iter()
                .filter(|at| *at as u64 >= from)
                .min()
                .map(id)
        };
        let found = order.contains(&(key as usize)).then(|| id(key as usize));
        assert_eq!(visited(&tree, |tree| tree.find(key)), (found, ways[0]));
        assert_eq!(
            visited(&tree, |tree| tree.lower_bound(key)),
            (first(key), ways[0])
        );
        assert_eq!(
            visited(&tree, |tree| tree.upper_bound(key)),
            (first(key + 1), ways[1])
        );
    }
    let root = tree.root().expect("there are nodes");
    for at in tree.iter() {
        let steps = [
            visited(&tree, |tree| tree.prev(at)).1,
            visited(&tree, |tree| tree.next(at)).1,
        ];
        for (side, steps) in Side::BOTH.into_iter().zip(steps) {
            let beyond = below(&tree, at, side, !side).len().saturating_sub(1);
            assert_eq!(steps, beyond as u64, "{at:?} {side:?}");
        }
    }
    let edge = |side| below(&tree, root, side, side).len() as u64;
    assert_eq!(
        visited(&tree, RbTree::first),
        (Some(id(0)), edge(Side::Left))
    );
    assert_eq!(
        visited(&tree, RbTree::last),
        (Some(id(30)), edge(Side::Right))
    );
}

#[test]
fn a_node_at_the_edge_of_a_subtree_is_its_outermost_and_needs_no_other_search() {
    let even = || (0..32).step_by(2);
    let tree = || grown::<Checked>(33, even().chain([31]));
    for at in tree().iter() {
        for side in Side::BOTH {
            let mut tree = tree();
            let way = below(&tree, at, side, side);
            let outermost = *way.last().unwrap_or(&at);
            let key = match side {
                Side::Left => outermost.index().wrapping_sub(1),
                Side::Right => outermost.index() + 1,
            };
            if key > 32 || tree.is_linked(id(key)) {
                continue;
            }
            let [.., before] = counted(&tree);
            assert_eq!(tree.insert_at_edge(Some((at, side)), id(key)), Ok(()));
            assert_eq!(tree.counters().visits() - before, way.len() as u64);
            assert_eq!((tree.check(), tree.len()), (Ok(()), 18));
            assert_eq!(tree.find(key as u64), Some(id(key)));
            let refused = tree.insert_at_edge(Some((at, side)), id(key));
            assert_eq!(refused, Err(InsertError::Linked));
            assert_eq!((tree.check(), tree.len()), (Ok(()), 18));
        }
    }
    let mut tree = empty::<Checked>(1);
    assert_eq!(tree.insert_at_edge(None, id(0)), Ok(()));
    assert_eq!((tree.check(), tree.root()), (Ok(()), Some(id(0))));
}

#[test]
fn a_node_beside_another_visits_what_is_between_them() {
    let even = || (0..32).step_by(2);
    for at in even() {
        for side in Side::BOTH {
            let mut tree = grown::<Checked>(33, even());
            let new = if side == Side::Left {
                at.wrapping_sub(1)
            } else {
                at + 1
            };
            if new > 32 {
                continue;
            }
            let between = below(&tree, id(at), side, !side).len().saturating_sub(1);
            let [.., before] = counted(&tree);
            let linked = match side {
                Side::Left => tree.insert_before(Some(id(at)), id(new)),
                Side::Right => tree.insert_after(Some(id(at)), id(new)),
            };
            assert_eq!((linked, tree.check()), (Ok(()), Ok(())));
            assert_eq!(tree.counters().visits() - before, between as u64);
        }
    }
    // Without a neighbour the place is at the end of the tree, and the search descends along that
    // edge.
    let mut tree = grown::<Checked>(33, (1..32).step_by(2));
    let root = tree.root().expect("there are nodes");
    for (side, new) in [(Side::Left, 0), (Side::Right, 32)] {
        let way = below(&tree, root, side, side).len() as u64;
        let [.., before] = counted(&tree);
        let linked = match side {
            Side::Left => tree.insert_after(None, id(new)),
            Side::Right => tree.insert_before(None, id(new)),
        };
        assert_eq!((linked, tree.check()), (Ok(()), Ok(())));
        assert_eq!(tree.counters().visits() - before, way);
    }
}

#[test]
#[should_panic(expected = "the edge is in no tree")]
fn the_edge_of_a_node_in_no_tree_is_refused() {
    let _ = grown::<Checked>(3, [0]).insert_at_edge(Some((id(1), Side::Left)), id(2));
}

#[test]
#[should_panic(expected = "the tree is not empty")]
fn no_edge_of_a_tree_with_nodes_is_refused() {
    let _ = grown::<Checked>(3, [0]).insert_at_edge(None, id(2));
}
