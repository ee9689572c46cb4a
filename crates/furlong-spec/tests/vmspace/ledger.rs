//! The exact work of fixed streams of system calls: the nodes that each index of a space visits,
//! writes and keeps. A change that is meant to alter the work alters these figures and says why.
//! Any other difference is a mistake that no outcome shows.

use furlong::maple::{self, Event, Fan, Heap};
use furlong::rbtree;
use furlong::vmspace::{Config, Custom, Maple, Rbtree};
use furlong_spec::Subject;
use furlong_spec::vmspace::{Kept, Mix, Operation, SpaceSubject, WORLDS, World, operations};

const EVENTS: [Event; 6] = [
    Event::Visit,
    Event::SlotStore,
    Event::NodeStore,
    Event::Split,
    Event::Rebalance,
    Event::SpanningStore,
];

/// Worlds for many areas, searched from either side.
const LARGE: [World; 2] = [World::low(3000), World::high(3000, 4096).upwards()];

/// The spaces after a stream in each of these worlds. Forks are left out, because a child's counts
/// start from zero.
fn after<C: Config<Index<Kept>: Default>>(
    worlds: &[World],
    length: usize,
    mut note: impl FnMut(&SpaceSubject<C>),
) {
    for (seed, world) in worlds.iter().enumerate() {
        let mut subject = SpaceSubject::<C>::new(world.layout());
        for mix in [Mix::Growing, Mix::Steady, Mix::Growing] {
            operations(*world, mix, length, seed as u64)
                .filter(|operation| *operation != Operation::Fork)
                .for_each(|operation| {
                    subject.apply(&operation);
                });
        }
        subject.check().expect("nothing is broken");
        note(&subject);
    }
}

/// Nodes visited, halves computed, rotations, and bytes.
fn in_a_tree(worlds: &[World], length: usize) -> [u64; 4] {
    let mut sum = [0; 4];
    after::<Custom<Rbtree<rbtree::Tally>>>(worlds, length, |subject| {
        let index = subject.space().index();
        let tally = index.counters();
        sum[0] += tally.visits();
        sum[1] += tally.augmentations();
        sum[2] += tally.rotations();
        sum[3] += index.bytes() as u64;
    });
    sum
}

/// The tree's counts, and the bytes of records.
fn in_a_maple<G: maple::Geometry>(worlds: &[World], length: usize) -> ([u64; 6], u64) {
    let (mut sum, mut bytes) = ([0; 6], 0);
    after::<Custom<Maple<maple::Custom<G, Heap, maple::Tally>>>>(worlds, length, |subject| {
        let index = subject.space().index();
        let counts = EVENTS.map(|event| index.counters().of(event));
        sum.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
        bytes += index.record_bytes() as u64;
    });
    (sum, bytes)
}

#[test]
fn a_tree_of_areas_does_the_same_work_as_ever() {
    let work = [in_a_tree(&WORLDS, 400), in_a_tree(&LARGE, 3000)];
    let as_ever = [[78976, 12125, 1304, 26624], [436_130, 70816, 8196, 98304]];
    assert_eq!(work, as_ever);
}

#[test]
fn a_tree_of_ranges_does_the_same_work_as_ever() {
    let work = [
        in_a_maple::<maple::Wide>(&WORLDS, 400),
        in_a_maple::<maple::Wide>(&LARGE, 3000),
        in_a_maple::<Fan<3, 3, 32>>(&LARGE, 3000),
    ];
    let as_ever = [
        ([27681, 397, 1850, 2, 6, 27], 6656),
        ([119_857, 491, 6198, 498, 33, 149], 24576),
        ([405_812, 1095, 14104, 4366, 155, 264], 24576),
    ];
    assert_eq!(work, as_ever);
}
