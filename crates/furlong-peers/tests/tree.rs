//! The peers as arms of `tree-order`: they agree with the specification's model, and end in the
//! same state as the library's tree.
#![forbid(unsafe_code)]

mod beside;

use beside::{experiment, raced};
use furlong::iova::Reserved;
use furlong_experiments_devices::ordered::{ByKey, Ordered};
use furlong_peers::tree::{Brie, ByNode, EXPERIMENT, Overlaps, arms};
use furlong_spec::Subject as _;
use furlong_spec::tree::{Mix, Model, Operation, Outcome, operations, pages};

/// Checks that a peer holds the same nodes as the model.
fn holds_the_same<S: Ordered>(peer: &S, model: &mut Model, context: &str) {
    let nodes = peer.nodes().unwrap_or_else(|broken| panic!("{}", broken.0));
    let nodes = nodes.into_iter().map(|node| node as usize).collect();
    let expected = model.apply(&Operation::Forward);
    assert_eq!(Outcome::Nodes(nodes), expected, "{context}");
}

/// Applies the same operations to a peer and the model, as far as the peer offers them. A linked
/// node is not inserted again, and an unlinked one is not removed.
fn agrees_with_the_model<S: Ordered>() {
    let mixes = [Mix::Growing, Mix::Steady, Mix::Shrinking];
    for (seed, (mix, n)) in (0..).zip(mixes.iter().flat_map(|mix| [4, 18, 100].map(|n| (mix, n)))) {
        let extents: Vec<Reserved> = pages(n).collect();
        let (mut peer, mut model) = (S::new(n), Model::new(&extents));
        let mut other = S::new(n);
        let mut changes = 0;
        for (step, operation) in operations(&extents, *mix, 60 * n, seed).enumerate() {
            let context = format!("seed {seed}, {mix:?}, {n} nodes, step {step}");
            // The model has two nodes an extent, a peer has one.
            let operation = match operation {
                Operation::Insert(node) => Operation::Insert(node % n),
                Operation::Remove(node) => Operation::Remove(node % n),
                Operation::Clear | Operation::Forward => operation,
                _ => continue,
            };
            let is_done = model.apply(&operation) == Outcome::Done;
            changes += u32::from(is_done);
            match operation {
                Operation::Insert(node) if is_done => peer.insert(node as u32),
                Operation::Remove(node) if is_done => peer.remove(node as u32),
                Operation::Clear => peer.clear(),
                Operation::Forward => other.copy_from(&peer),
                _ => {}
            }
            holds_the_same(&peer, &mut model, &context);
            if operation == Operation::Forward {
                holds_the_same(&other, &mut model, &context);
                holds_the_same(&peer.copy(), &mut model, &context);
            }
        }
        assert!(changes as usize > 4 * n, "{n} nodes: {changes} changes");
    }
}

#[test]
fn every_peer_agrees_with_the_specification() {
    agrees_with_the_model::<ByNode>();
    agrees_with_the_model::<ByKey<ByNode>>();
    agrees_with_the_model::<Overlaps>();
    agrees_with_the_model::<Brie>();
}

#[test]
#[should_panic(expected = "the node is linked")]
fn a_node_that_is_in_no_tree_is_not_taken_out_of_one() {
    let mut tree = ByNode::new(4);
    tree.insert(1);
    tree.remove(2);
}

#[test]
fn every_peer_ends_with_what_the_library_ends_with() {
    let experiment = experiment(EXPERIMENT);
    let raced = raced(&experiment, &experiment.arms[1], &arms(), 3000);
    let all = arms().len() * experiment.plan.workloads.len();
    assert_eq!(raced.len(), all, "{raced:?}");
}
