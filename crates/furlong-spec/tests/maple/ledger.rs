//! The exact work of fixed streams: the nodes that each kind of tree visits, writes, splits and
//! merges, and its final shape. A change that is meant to alter the work alters these figures and
//! says why. Any other difference is a mistake that no outcome shows.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, VirtAddr};
use furlong::maple::{
    Config, Custom, Event, Fan, Heap, Maple, Nodes, RcuMaple, Reservation, Tally, Wide,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::Subject;
use furlong_spec::maple::{Mix, SharedTree, Tree, operations};

type Of<G> = Custom<G, Heap, Tally>;
type Tiny = Fan<3, 3, 48>;
type Odd = Fan<4, 5, 32>;
type Even = Fan<8, 8, 24>;

const EVENTS: [Event; 6] = [
    Event::Visit,
    Event::SlotStore,
    Event::NodeStore,
    Event::Split,
    Event::Rebalance,
    Event::SpanningStore,
];

fn counts(tally: &Tally) -> [u64; 6] {
    EVENTS.map(|event| tally.of(event))
}

/// The numbers of leaves, inner nodes and levels.
type Shape = [usize; 3];

fn shape(nodes: Nodes, levels: usize) -> Shape {
    [nodes.leaves, nodes.inners, levels]
}

/// A stream that grows, stays, grows again, and shrinks.
fn worked(space: u64, mut apply: impl FnMut(furlong_spec::maple::Operation)) {
    for (seed, mix) in [Mix::Growing, Mix::Steady, Mix::Growing, Mix::Shrinking]
        .into_iter()
        .enumerate()
    {
        operations(space, mix, 1500, seed as u64).for_each(&mut apply);
    }
}

fn owned<C: Config<Counters = Tally>>(space: u64) -> ([u64; 6], Shape) {
    let mut tree = Tree::<u32, C>::new();
    worked(space, |operation| {
        tree.apply(&operation);
    });
    tree.check().expect("nothing is broken");
    let shape = shape(tree.0.nodes(), tree.0.view().levels());
    (counts(tree.0.counters()), shape)
}

fn shared<C: Config<Counters = Tally>>(space: u64) -> ([u64; 6], usize) {
    let mut tree = SharedTree::<u32, C>::new();
    worked(space, |operation| {
        tree.apply(&operation);
    });
    tree.check().expect("nothing is broken");
    let levels = tree.map.lock().view().levels();
    (counts(tree.map.counters()), levels)
}

#[test]
fn trees_of_one_owner_do_the_same_work_as_ever() {
    let work = [
        owned::<Of<Tiny>>(60_000),
        owned::<Of<Odd>>(60_000),
        owned::<Of<Even>>(60_000),
        owned::<Of<Wide>>(600_000),
        owned::<Of<Tiny>>(0),
    ];
    let as_ever = [
        ([25393, 369, 3137, 610, 240, 205], [9, 7, 4]),
        ([18422, 358, 2258, 321, 84, 179], [7, 3, 3]),
        ([13014, 334, 1620, 99, 29, 98], [4, 1, 2]),
        ([11222, 278, 1449, 33, 8, 58], [2, 1, 2]),
        ([28696, 403, 3261, 772, 211, 145], [19, 12, 4]),
    ];
    assert_eq!(work, as_ever);
}

#[test]
fn trees_with_readers_do_the_same_work_as_ever() {
    let work = [
        shared::<Of<Tiny>>(60_000),
        shared::<Of<Odd>>(60_000),
        shared::<Of<Even>>(60_000),
        shared::<Of<Wide>>(600_000),
    ];
    let as_ever = [
        ([25393, 365, 3148, 610, 240, 205], 4),
        ([18410, 413, 2209, 321, 84, 179], 3),
        ([13008, 451, 1509, 99, 29, 98], 2),
        ([11211, 401, 1328, 33, 8, 58], 2),
    ];
    assert_eq!(work, as_ever);
}

fn page(index: u64) -> Extent<VirtAddr> {
    Extent::from_len(VirtAddr::new(4096 * index), 4096).expect("a page")
}

/// The shape and the work after loading `count` pages at once. A copy has the same shape.
fn loaded<C: Config<Counters = Tally>>(count: u64) -> (Shape, [u64; 6]) {
    let entries = (0..count).map(|index| (page(2 * index), 7_u32));
    let map = Maple::<VirtAddr, u32, C>::from_sorted(entries).expect("there is memory");
    let copy = map.duplicate(|_, entry| Ok::<u32, ()>(entry));
    let copy = copy.expect("there is memory");
    assert_eq!(copy.nodes(), map.nodes());
    (
        shape(map.nodes(), map.view().levels()),
        counts(map.counters()),
    )
}

#[test]
fn trees_that_are_loaded_at_once_have_the_same_shape_as_ever() {
    let shapes = [
        loaded::<Of<Tiny>>(1),
        loaded::<Of<Tiny>>(8),
        loaded::<Of<Odd>>(1000),
        loaded::<Of<Wide>>(1000),
    ];
    let as_ever = [
        ([1, 0, 1], [0, 0, 1, 0, 0, 0]),
        ([4, 3, 3], [0, 0, 6, 0, 0, 0]),
        ([334, 114, 6], [0, 0, 447, 0, 0, 0]),
        ([72, 4, 3], [0, 0, 75, 0, 0, 0]),
    ];
    assert_eq!(shapes, as_ever);
    assert_eq!(loaded::<Of<Wide>>(0).0, [0; 3]);
}

#[test]
fn reservations_have_the_same_nodes_as_ever() {
    fn nodes<C: Config>(changes: usize, levels: usize) -> [usize; 2] {
        let made = Reservation::<C>::new(changes, levels).expect("there is memory");
        let Nodes { leaves, inners } = made.nodes();
        [leaves, inners]
    }
    let all = [
        (0, 0),
        (1, 0),
        (1, 1),
        (1, 3),
        (2, 1),
        (7, 2),
        (20, 3),
        (300, 4),
    ];
    let of = [
        all.map(|(changes, levels)| nodes::<Of<Tiny>>(changes.min(20), levels)),
        all.map(|(changes, levels)| nodes::<Of<Odd>>(changes, levels)),
        all.map(|(changes, levels)| nodes::<Of<Wide>>(changes, levels)),
    ];
    let few = [[0, 0], [3, 1], [3, 1], [3, 7], [6, 8]];
    let as_ever = [
        [[21, 154], [60, 1280], [60, 1340]],
        [[21, 70], [60, 320], [900, 9300]],
        [[21, 49], [60, 200], [900, 6600]],
    ]
    .map(|many| [&few[..], &many].concat());
    assert_eq!(as_ever, of);
}

/// Checks the number of prepared nodes that the changes leave unused, in a tree with readers.
#[test]
fn preparing_keeps_as_many_nodes_as_ever() {
    let prepared = [1, 2, 9, 100].map(|changes| {
        let map =
            RcuMaple::<VirtAddr, u32, _, _, Of<Wide>>::with_config(Domain::new(), SpinLock::new());
        let mut session = map.lock_prepared(changes).expect("there is memory");
        for index in 0..changes as u64 {
            session.insert(page(index), 7).expect("it was prepared");
        }
        let Nodes { leaves, inners } = session.unused().nodes();
        [leaves, inners]
    });
    let as_ever = [[2, 1], [5, 8], [26, 36], [293, 994]];
    assert_eq!(prepared, as_ever);
}
