//! The library's trees compared with the model: every arm, in an arena and through the caller's
//! structs.
#![forbid(unsafe_code)]

mod interrupted;
mod work;

use furlong::check::Check;
use furlong::iova::Reserved;
use furlong::rbtree::{
    Checked, Config, Counters, Custom, Deferred, Eager, Propagation, Standard, Tally,
};
use furlong_spec::tree::{
    ArenaTree, IntrusiveTree, Mix, Model, Operation, Outcome, extents, operations, pages,
};
use furlong_spec::{Random, Subject, Through, compare};

const MIXES: [Mix; 3] = [Mix::Growing, Mix::Steady, Mix::Shrinking];

/// Compares a subject with the model over streams from seeds, for several sizes.
fn agrees_with_the_model<S>(build: impl Fn(&[Reserved]) -> S, streams: u64)
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    for seed in 0..streams {
        for (mix, n) in MIXES
            .into_iter()
            .flat_map(|mix| [3, 17, 100].map(|n| (mix, n)))
        {
            let extents = extents(n, &mut Random::new(seed));
            let stream = operations(&extents, mix, 60 * n, seed);
            let result = compare(&mut Model::new(&extents), &mut build(&extents), stream);
            if let Err(divergence) = result {
                panic!("seed {seed}, {mix:?}, {n} extents: {divergence}");
            }
        }
    }
}

#[test]
fn the_eager_arm_agrees_with_the_model() {
    agrees_with_the_model(ArenaTree::<Custom<Eager>>::new, 12);
}

#[test]
fn the_deferred_arm_agrees_with_the_model() {
    agrees_with_the_model(ArenaTree::<Custom<Deferred>>::new, 12);
}

#[test]
fn the_checked_arm_agrees_with_the_model() {
    agrees_with_the_model(ArenaTree::<Standard>::new, 12);
}

#[test]
fn the_intrusive_tree_agrees_with_the_model_on_every_arm() {
    agrees_with_the_model(IntrusiveTree::<Custom<Eager>>::new, 4);
    agrees_with_the_model(IntrusiveTree::<Custom<Deferred>>::new, 4);
    agrees_with_the_model(IntrusiveTree::<Standard>::new, 8);
}

#[test]
fn a_wrong_subject_is_told_from_the_model() {
    let forgetful = |operation: &Operation, outcome| match operation {
        Operation::Remove(_) => Outcome::Done,
        _ => outcome,
    };
    let extents = extents(10, &mut Random::new(1));
    let stream = operations(&extents, Mix::Steady, 1000, 1);
    let mut subject = Through::new(Model::new(&extents), forgetful);
    assert!(compare(&mut Model::new(&extents), &mut subject, stream).is_err());
}

/// All orders of `0..n`.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let shorter = permutations(n - 1);
    let at_every_place = |order: &Vec<usize>| {
        let order = order.clone();
        (0..n).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, n - 1);
            longer
        })
    };
    shorter.iter().flat_map(at_every_place).collect()
}

/// Tries every order of insertion, and after each every order of removal, with a check at every
/// step.
fn holds_in_every_order<C: Config>(n: usize) {
    let extents: Vec<Reserved> = extents(n, &mut Random::new(7));
    let orders = permutations(n);
    for inserted in &orders {
        for removed in &orders {
            let mut model = Model::new(&extents);
            let mut tree = ArenaTree::<C>::new(&extents);
            let inserts = inserted.iter().map(|node| Operation::Insert(*node));
            let removes = removed.iter().map(|node| Operation::Remove(*node));
            let stream = inserts
                .chain(removes)
                .flat_map(|change| [change, Operation::Summary]);
            compare(&mut model, &mut tree, stream)
                .unwrap_or_else(|divergence| panic!("{inserted:?} {removed:?}: {divergence}"));
        }
    }
}

#[test]
fn every_order_of_five_nodes_holds_on_every_arm() {
    holds_in_every_order::<Custom<Eager>>(5);
    holds_in_every_order::<Custom<Deferred>>(5);
    holds_in_every_order::<Standard>(5);
}

#[test]
fn every_sequence_of_toggles_of_four_nodes_holds() {
    const LENGTH: u32 = 7;
    let extents: Vec<Reserved> = extents(4, &mut Random::new(3));
    for sequence in 0..4_u32.pow(LENGTH) {
        let mut model = Model::new(&extents);
        let mut tree = ArenaTree::<Standard>::new(&extents);
        for step in 0..LENGTH {
            let node = (sequence / 4_u32.pow(step) % 4) as usize;
            let linked = model.apply(&Operation::Insert(node)) != Outcome::Done;
            let operation = if linked {
                Operation::Remove(node)
            } else {
                Operation::Insert(node)
            };
            if linked {
                model.apply(&operation);
            }
            assert_eq!(tree.apply(&operation), Outcome::Done, "sequence {sequence}");
            assert_eq!(tree.check(), Ok(()), "sequence {sequence}");
            assert_eq!(
                tree.apply(&Operation::Summary),
                model.apply(&Operation::Summary)
            );
        }
    }
}

#[test]
fn a_node_with_stale_halves_does_not_stop_the_walk() {
    // A leaf that is removed and linked again keeps its old halves. A walk that trusted them would
    // stop there.
    let extents: Vec<Reserved> = pages(64).collect();
    let mut tree = ArenaTree::<Standard>::new(&extents);
    for node in 0..64 {
        tree.apply(&Operation::Insert(node));
    }
    for round in 0..64 {
        for node in [round, 63 - round] {
            tree.apply(&Operation::Remove(node));
            assert_eq!(tree.check(), Ok(()));
            tree.apply(&Operation::Insert(node));
            assert_eq!(tree.check(), Ok(()), "node {node}");
        }
    }
}

/// Augmentations and rotations for each operation, over `rounds` random permutations of `n` pages.
fn work_per_insert<P: Propagation>(n: usize, rounds: u64) -> f64 {
    let extents: Vec<Reserved> = pages(n).collect();
    let mut random = Random::new(11);
    let mut order: Vec<usize> = (0..n).collect();
    let mut tree = ArenaTree::<Custom<P, Tally>>::new(&extents);
    for _ in 0..rounds {
        tree.apply(&Operation::Clear);
        random.shuffle(&mut order);
        for node in &order {
            tree.apply(&Operation::Insert(*node));
        }
    }
    tree.tree().check().expect("the tree holds");
    tree.tree().counters().augmentations() as f64 / (rounds * n as u64) as f64
}

#[test]
fn the_check_saves_two_augmentations_of_three_on_random_insertions() {
    let (deferred, checked) = (
        work_per_insert::<Deferred>(4096, 8),
        work_per_insert::<Checked>(4096, 8),
    );
    assert!(
        (checked - 5.53).abs() < 0.1,
        "the walk ends after {checked} nodes"
    );
    assert!(deferred > 11.0, "the walk to the root has {deferred} nodes");
}

#[test]
fn counters_that_are_off_take_no_space() {
    fn size<K: Counters>() -> usize {
        size_of::<K>()
    }
    assert_eq!(size::<furlong::rbtree::Off>(), 0);
}

#[test]
fn height_stays_within_twice_the_logarithm_after_removals() {
    let extents: Vec<Reserved> = pages(1 << 12).collect();
    let mut tree = ArenaTree::<Custom<Checked, Tally>>::new(&extents);
    for node in 0..1 << 12 {
        tree.apply(&Operation::Insert(node));
    }
    let mut order: Vec<usize> = (0..1 << 12).collect();
    Random::new(5).shuffle(&mut order);
    for node in &order[..(1 << 12) - 64] {
        tree.apply(&Operation::Remove(*node));
    }
    for key in pages(1 << 12).map(|page| page.last) {
        let before = tree.tree().counters().visits();
        tree.apply(&Operation::Find(key));
        let visited = tree.tree().counters().visits() - before;
        assert!(
            visited <= 2 * 6 + 2,
            "{visited} nodes for a search among 64"
        );
    }
}
