//! The work of trees: the number of nodes that an operation visits and writes.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::maple::{Custom, Event, Heap, Maple, RcuMaple, Tally, Wide};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::Random;

type Counted = Custom<Wide, Heap, Tally>;
type Map = Maple<VirtAddr, u32, Counted>;

const PAGE: u64 = 4096;
const ENTRIES: u64 = 65_536;

fn page(index: u64) -> Extent<VirtAddr> {
    Extent::from_len(VirtAddr::new((2 * index + 1) * PAGE), PAGE).unwrap()
}

/// Pages with gaps of a page between them, inserted in random order.
fn map() -> Map {
    let mut order: Vec<u64> = (0..ENTRIES).collect();
    Random::new(1).shuffle(&mut order);
    let mut map = Map::with_config();
    for index in order {
        map.insert(page(index), 1).unwrap();
    }
    map
}

/// The increase of an event's count during `run`.
fn counted(map: &mut Map, event: Event, run: impl FnOnce(&mut Map)) -> u64 {
    let before = map.counters().of(event);
    run(map);
    map.counters().of(event) - before
}

#[test]
fn a_look_up_visits_a_node_a_level() {
    let mut map = map();
    let levels = map.view().levels() as u64;
    assert_eq!(levels, 4);
    for index in (0..ENTRIES).step_by(997) {
        let visits = counted(&mut map, Event::Visit, |map| {
            assert_eq!(map.load(page(index).start()), Some(1));
        });
        assert_eq!(visits, levels);
    }
}

#[test]
fn a_change_visits_a_few_nodes_a_level() {
    let mut map = map();
    let levels = map.view().levels() as u64;
    let mut random = Random::new(2);
    for _ in 0..20_000 {
        let at = page(random.below(ENTRIES));
        let erased = counted(&mut map, Event::Visit, |map| {
            assert!(map.erase(at.start()).unwrap().is_some());
        });
        let inserted = counted(&mut map, Event::Visit, |map| {
            map.insert(at, 1).unwrap();
        });
        assert!(
            erased <= 4 * levels && inserted <= 4 * levels,
            "{erased}, {inserted}"
        );
    }
}

#[test]
fn a_gap_is_found_on_three_ways_at_most() {
    let mut map = map();
    let levels = map.view().levels() as u64;
    let mut random = Random::new(3);
    for index in (0..ENTRIES).step_by(512) {
        map.erase(page(index).start()).unwrap();
    }
    for _ in 0..20_000 {
        let (one, other) = (random.below(2 * ENTRIES), random.below(2 * ENTRIES));
        let (lo, hi) = (one.min(other) * PAGE, one.max(other) * PAGE + PAGE - 1);
        let window = Extent::from_last(VirtAddr::new(lo), VirtAddr::new(hi)).unwrap();
        let size = (1 + random.below(3)) * PAGE;
        let low = counted(&mut map, Event::Visit, |map| {
            let _ = map.lowest_gap(size, window);
        });
        let high = counted(&mut map, Event::Visit, |map| {
            let _ = map.highest_gap(size, window);
        });
        assert!(low <= 3 * levels && high <= 3 * levels, "{low}, {high}");
    }
}

#[test]
fn that_no_gap_is_large_enough_is_known_at_the_root() {
    let mut map = map();
    let all = Extent::from_last(VirtAddr::new(0), VirtAddr::new(u64::MAX)).unwrap();
    let behind = Extent::from_last(page(ENTRIES).start(), all.last()).unwrap();
    map.insert(behind, 2).unwrap();
    let visits = counted(&mut map, Event::Visit, |map| {
        assert_eq!(map.lowest_gap(2 * PAGE, all), None);
        assert_eq!(map.highest_gap(2 * PAGE, all), None);
    });
    assert_eq!(visits, 0);
}

#[test]
fn an_entry_that_comes_and_goes_splits_a_node_once() {
    for index in 0..15 {
        let mut map = Map::with_config();
        for index in 0..15 {
            map.insert(page(2 * index), 1).unwrap();
        }
        let splits = counted(&mut map, Event::Split, |map| {
            for _ in 0..100 {
                map.insert(page(2 * index + 1), 1).unwrap();
                map.erase(page(2 * index + 1).start()).unwrap();
            }
        });
        assert!(splits <= 1, "{splits} splits at {index}");
    }
}

#[test]
fn growing_and_shrinking_beside_readers_is_one_store() {
    let map = RcuMaple::<VirtAddr, u32, _, _, Counted>::with_config(Domain::new(), SpinLock::new());
    for index in 0..1000 {
        map.lock().insert(page(10 * index), 1).unwrap();
    }
    let of = |event| map.counters().of(event);
    let heap = page(5000);
    let (nodes, slots) = (of(Event::NodeStore), of(Event::SlotStore));
    for pages in (2..12).chain((1..12).rev()) {
        let to = Extent::from_len(heap.start(), pages * PAGE).unwrap();
        map.lock().resize(heap.start(), to).unwrap();
    }
    assert_eq!(
        (of(Event::NodeStore), of(Event::SlotStore)),
        (nodes, slots + 20)
    );
}

#[test]
fn an_entry_that_comes_back_beside_readers_is_one_store() {
    let map = RcuMaple::<VirtAddr, u32, _, _, Counted>::with_config(Domain::new(), SpinLock::new());
    for index in 0..1000 {
        map.lock().insert(page(index), 1).unwrap();
    }
    let of = |event| map.counters().of(event);
    // Not the first entry of its leaf, which is more than minimally filled.
    let at = page(503);
    let (nodes, slots) = (of(Event::NodeStore), of(Event::SlotStore));
    for turn in 2..12 {
        assert!(map.lock().erase(at.start()).unwrap().is_some());
        drop(map.lock().store(at, turn).unwrap());
    }
    assert_eq!(
        (of(Event::NodeStore), of(Event::SlotStore)),
        (nodes, slots + 20)
    );
}

#[test]
fn an_entry_whose_start_has_moved_beside_readers_is_copied_before_its_end_moves() {
    let map = RcuMaple::<VirtAddr, u32, _, _, Counted>::with_config(Domain::new(), SpinLock::new());
    for index in 0..1000 {
        map.lock().insert(page(index), 1).unwrap();
    }
    let stores = || [Event::NodeStore, Event::SlotStore].map(|event| map.counters().of(event));
    let [nodes, slots] = stores();
    // Not the first entry of its leaf.
    let at = page(503);
    let index = at.start();
    let [start, last] = [at.start().raw(), at.last().raw()];
    let resize = |start, last| {
        let to = Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap();
        map.lock().resize(index, to).unwrap();
    };
    resize(start - 100, last);
    resize(start - 200, last);
    assert_eq!(stores(), [nodes, slots + 2]);
    // A reader that has read the old start must not read the new end.
    resize(start - 200, last + 100);
    assert_eq!(stores(), [nodes + 1, slots + 2]);
    resize(start - 200, last + 200);
    assert_eq!(stores(), [nodes + 1, slots + 3]);
    resize(start - 100, last + 200);
    assert_eq!(stores(), [nodes + 2, slots + 3]);
}
