//! The nodes that a change obtains, and those that go back.
#![forbid(unsafe_code)]

use furlong::addr::VirtAddr;
use furlong::maple::{DuplicateError, Maple, Nodes, Reservation};
use furlong_spec::Subject;
use furlong_spec::maple::Tree;

use super::{BUDGET, Tiny, Wide, calls, extent, stream};

/// Numbers need no drop, so the leaves of displaced ones go back without a look at them.
#[test]
fn every_node_of_numbers_comes_back() {
    let before = calls();
    for seed in 0..10 {
        let mut tree = Tree::<u32, Tiny>::new();
        stream(seed).for_each(|operation| drop(tree.apply(&operation)));
        let mut wide = Tree::<u32, Wide>::new();
        stream(seed).for_each(|operation| drop(wide.apply(&operation)));
    }
    let after = calls();
    assert_eq!(after.0 - before.0, after.1 - before.1);
}

#[test]
fn a_large_copy_that_fails_frees_the_rest_of_its_blocks() {
    let mut tree = Maple::<VirtAddr, u32, Wide>::with_config();
    for index in 0..2000 {
        tree.insert(extent(10 * index), 7).unwrap();
    }
    let before = calls();
    for fails_at in (0..2000).step_by(37) {
        let mut copied = 0;
        let result = tree.duplicate(|_, entry| {
            copied += 1;
            (copied <= fails_at).then_some(entry).ok_or("no more")
        });
        assert_eq!(result.err(), Some(DuplicateError::Entry("no more")));
        let after = calls();
        assert_eq!(after.0 - before.0, after.1 - before.1, "{fails_at} entries");
    }
}

#[test]
fn a_tree_of_one_leaf_is_emptied_without_memory() {
    let mut tree = Maple::<VirtAddr, u32, Tiny>::with_config();
    tree.insert(extent(10), 7).unwrap();
    BUDGET.set(0);
    let erased = tree.erase(VirtAddr::new(10));
    BUDGET.set(usize::MAX);
    assert_eq!(erased.unwrap(), Some((extent(10), 7)));
}

#[test]
fn a_split_below_a_node_with_room_obtains_no_inner_node() {
    let mut tree = Maple::<VirtAddr, u32, Wide>::with_config();
    for index in 0..3000 {
        tree.insert(extent(20 * index), 7).unwrap();
    }
    let levels = tree.view().levels();
    assert_eq!(levels, 3);
    let (mut least, mut nodes) = (usize::MAX, tree.nodes());
    for index in 0..3000 {
        let before = calls();
        tree.insert(extent(20 * index + 10), 7).unwrap();
        let now = tree.nodes();
        if now != nodes {
            least = least.min(calls().0 - before.0);
        }
        nodes = now;
    }
    assert!(least <= 2, "{least} nodes");
}

#[test]
fn what_was_prepared_and_not_used_is_freed_by_trim() {
    let in_use = || {
        let (allocated, freed) = calls();
        allocated - freed
    };
    let begun = in_use();
    let mut tree = Maple::<VirtAddr, u32, Tiny>::with_config();
    for index in 0..40 {
        tree.insert(extent(10 * index), 7).unwrap();
    }
    tree.prepare(50).unwrap();
    let nodes = tree.nodes();
    let in_tree = nodes.leaves + nodes.inners;
    assert!(in_use() - begun > in_tree + 50);
    tree.trim();
    // One leaf stays for the next change.
    assert_eq!(in_use() - begun, in_tree + 1);
}

#[test]
fn no_change_needs_nodes_in_a_tree_of_any_height() {
    assert!(Reservation::<Wide>::new(0, 1000).is_ok());
    assert!(Reservation::<Wide>::new(1, 13).is_err());
    assert_eq!(Reservation::<Wide>::new(1, 12).unwrap().nodes().leaves, 3);
    assert_eq!(
        Reservation::<Wide>::new(0, 12).unwrap().nodes(),
        Nodes::default()
    );
}

#[test]
fn the_size_of_nodes_is_that_of_their_memory() {
    assert_eq!(Nodes::default().bytes::<Tiny>(), 0);
    let bytes = |leaves, inners| Nodes { leaves, inners }.bytes::<Wide>();
    // Three arrays of words, of 15 places in a leaf and 32 in an inner node, and notes.
    assert!(
        (3 * 15 * 8..3 * 15 * 8 + 64).contains(&bytes(1, 0)),
        "{}",
        bytes(1, 0)
    );
    assert!(
        (3 * 32 * 8..3 * 32 * 8 + 64).contains(&bytes(0, 1)),
        "{}",
        bytes(0, 1)
    );
    assert_eq!(bytes(5, 7), 5 * bytes(1, 0) + 7 * bytes(0, 1));
}
