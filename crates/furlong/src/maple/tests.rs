//! Each invariant broken once: the check names it. Interfaces for other systems, and the reuse of
//! nodes.

use super::memory::pool::Pool;
use super::memory::reservation::bound_in_place;
use super::node::leaf::Leaf;
use super::node::link::Ptr;
use super::{
    Broken, Cursor, Custom, Fan, Heap, Maple, Nodes, RcuMaple, Reservation, ResizeError, Wide,
};
use crate::addr::{Address, Extent, VirtAddr};
use crate::check::Check;
use crate::rcu::{Domain, RcuBox};
use crate::sync::SpinLock;

type Tiny = Fan<3, 3, 32>;
type Map = Maple<VirtAddr, u32, Custom<Tiny, Heap>>;

/// Twelve entries, ten indices apart and five long, in three levels.
fn map() -> Map {
    let mut map = Map::with_config();
    for index in 1..=12 {
        let at = Extent::from_len(VirtAddr::new(10 * index), 5).unwrap();
        map.insert(at, index as u32).unwrap();
    }
    assert_eq!(map.check(), Ok(()));
    map
}

/// The leaf that contains `index`, and the path to it.
fn spot(map: &Map, index: u64) -> super::node::tree::Spot<'_, Tiny> {
    map.tree.descend(index, &super::Off).unwrap()
}

fn leaf(map: &Map, index: u64) -> Ptr<'_, Leaf<Tiny>> {
    spot(map, index).leaf()
}

/// The first index of the leaf that `index` 70 belongs to, which is not the first leaf.
fn later(map: &Map) -> u64 {
    let min = spot(map, 70).min;
    assert!(min > 0);
    min
}

#[test]
fn an_extent_that_is_reversed_is_found() {
    let map = map();
    leaf(&map, 10).set_last(0, 9);
    assert_eq!(map.check(), Err(Broken::Order(10)));
}

#[test]
fn extents_that_overlap_are_found() {
    let map = map();
    leaf(&map, 10).set_last(0, 22);
    assert_eq!(map.check(), Err(Broken::Order(20)));
}

#[test]
fn a_last_pivot_that_is_not_the_last_index_is_found() {
    let map = map();
    let step = spot(&map, 70).step(0);
    step.node.set_pivot(step.node.len() - 1, 80);
    assert_eq!(map.check(), Err(Broken::Pivot(0)));
}

#[test]
fn pivots_that_do_not_ascend_are_found() {
    let map = map();
    let root = spot(&map, 10).step(0).node;
    root.set_pivot(0, u64::MAX - 1);
    assert!(map.check().is_err());
    let map = self::map();
    let root = spot(&map, 70).step(0).node;
    root.set_pivot(root.len() - 2, u64::MAX);
    assert_eq!(map.check(), Err(Broken::Pivot(0)));
}

#[test]
fn leaves_at_two_depths_are_found() {
    let map = map();
    let root = spot(&map, 10).step(0).node;
    let last = root.get().link(root.len() - 1);
    let inner = last.load().unwrap();
    last.put(inner.first_child().unwrap());
    assert!(matches!(map.check(), Err(Broken::Shape(_))));
    // Restored, so that no node is unreachable at the end.
    last.put(inner);
}

#[test]
fn a_leaf_that_counts_wrongly_is_found() {
    let map = map();
    let leaf = leaf(&map, 10);
    let word = leaf.word(0).unwrap();
    leaf.erase(0);
    leaf.set_word(0, word);
    assert_eq!(map.check(), Err(Broken::Count(0)));
}

#[test]
fn an_unused_slot_that_has_something_is_found() {
    let mut map = map();
    map.erase(VirtAddr::new(30)).unwrap();
    let leaf = leaf(&map, 10);
    assert!(leaf.len() == 2, "the leaf has room");
    leaf.set_last(2, 100);
    assert_eq!(map.check(), Err(Broken::Count(0)));
}

#[test]
fn a_leaf_that_begins_with_a_gap_is_found() {
    let map = map();
    let min = later(&map);
    leaf(&map, min).set_start(0, min + 1);
    assert_eq!(map.check(), Err(Broken::Begin(min)));
}

#[test]
fn a_gap_that_is_noted_wrongly_is_found() {
    let map = map();
    let step = spot(&map, 10).step(spot(&map, 10).height - 1);
    step.node.set_gap(step.at, 99);
    assert_eq!(map.check(), Err(Broken::Gap(0)));
    let map = self::map();
    map.tree.set_largest_gap(3);
    assert_eq!(map.check(), Err(Broken::Gap(0)));
}

#[test]
fn an_end_of_the_last_entry_that_is_noted_wrongly_is_found() {
    let map = map();
    let last = leaf(&map, 120);
    last.set_last(last.len() - 1, 126);
    assert_eq!(map.check(), Err(Broken::Gap(0)));
}

#[test]
fn an_entry_keeps_the_index_by_which_it_is_resized() {
    let mut map = map();
    let extent =
        |start, last| Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap();
    // Both places are free: the one below the entry, and the one above.
    for (index, to) in [(24, extent(16, 18)), (20, extent(26, 28))] {
        let refused = map.resize(VirtAddr::new(index), to);
        assert_eq!(refused, Err(ResizeError::Occupied(extent(20, 24))));
        assert_eq!(map.load(VirtAddr::new(index)), Some(2));
    }
}

#[test]
fn the_first_entry_of_a_leaf_is_found_where_its_start_has_moved_down() {
    let mut map = map();
    let extent =
        |start, last| Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap();
    let min = later(&map);
    for (start, last) in [(min - 3, min + 4), (min - 4, min + 2), (min - 1, min + 1)] {
        map.resize(VirtAddr::new(min), extent(start, last)).unwrap();
        assert_eq!(map.check(), Ok(()));
        let found = map.view().get(VirtAddr::new(start));
        assert_eq!(found, Some((extent(start, last), min as u32 / 10)));
        assert_eq!(map.load(VirtAddr::new(start - 1)), None);
    }
}

#[test]
fn a_number_of_entries_that_is_noted_wrongly_is_found() {
    let map = map();
    map.tree.set_len(11);
    assert_eq!(map.check(), Err(Broken::Len(12)));
    let map = Map::with_config();
    map.tree.set_len(1);
    assert_eq!(map.check(), Err(Broken::Len(0)));
}

#[test]
fn the_whole_of_an_entry_at_0_is_no_end_to_cut() {
    let mut map = Map::with_config();
    let at = Extent::from_len(VirtAddr::new(0), 5).unwrap();
    map.insert(at, 1).unwrap();
    assert_eq!(map.cut_end(at).unwrap_err(), Some((at, 1)));
    assert_eq!((map.check(), map.load(VirtAddr::new(4))), (Ok(()), Some(1)));
}

#[test]
fn a_window_is_folded_into_what_its_iteration_returns() {
    let map = map();
    for (start, last) in (0..130).flat_map(|start| (start..140).map(move |last| (start, last))) {
        let window = Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap();
        let folded = map
            .range(window)
            .fold(0, |all, (_, value)| all << 4 | u64::from(value));
        let mut returned = 0;
        for index in 1..=12 {
            if 10 * index <= last && start <= 10 * index + 4 {
                returned = returned << 4 | index;
            }
        }
        assert_eq!(folded, returned, "{start} to {last}");
    }
}

#[test]
fn more_changes_than_there_is_memory_for_are_refused_at_once() {
    assert!(Reservation::<Custom<Tiny, Heap>>::new(usize::MAX, 1).is_err());
    assert!(Reservation::<Custom<Tiny, Heap>>::new(usize::MAX / 4, 1).is_err());
    assert!(Reservation::<Custom<Wide, Heap>>::new(usize::MAX, 3).is_err());
    assert!(Reservation::<Custom<Wide, Heap>>::new(0, usize::MAX).is_ok());
    assert!(Map::with_config().prepare(usize::MAX).is_err());
    assert!(Maple::<VirtAddr, u32>::new().prepare(usize::MAX).is_err());
}

#[test]
fn prepared_nodes_are_as_many_as_ever() {
    let nodes = |changes, levels| {
        let Nodes { leaves, inners } = bound_in_place::<Wide>(changes, levels);
        [leaves, inners]
    };
    let all = [
        (0, 3),
        (1, 3),
        (2, 3),
        (60, 2),
        (60, 4),
        (5000, 1),
        (5000, 5),
    ];
    let as_ever = [
        [0, 0],
        [3, 7],
        [4, 13],
        [62, 68],
        [62, 164],
        [5002, 5025],
        [5002, 11091],
    ];
    assert_eq!(all.map(|(changes, levels)| nodes(changes, levels)), as_ever);
}

#[test]
fn the_end_of_an_entry_is_cut_alone_or_not_at_all() {
    let mut map = map();
    let cut = |map: &mut Map, start, last| {
        let at = Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap();
        map.cut_end(at)
            .map(|(old, _)| old)
            .map_err(|first| first.map(|(old, _)| old))
    };
    let extent = |index| Extent::from_len(VirtAddr::new(index), 5).unwrap();
    // The whole entry, its middle, and the beginning of the next one as well: nothing is cut.
    for (start, last) in [(10, 14), (12, 13), (12, 20), (12, 25)] {
        assert_eq!(
            cut(&mut map, start, last),
            Err(Some(extent(10))),
            "{start} to {last}"
        );
        assert_eq!(map.load(VirtAddr::new(14)), Some(1));
        assert_eq!(map.load(VirtAddr::new(20)), Some(2));
    }
    // Up to the entry's end, and up to the beginning of the next one.
    assert_eq!(cut(&mut map, 13, 14), Ok(extent(10)));
    assert_eq!(cut(&mut map, 22, 29), Ok(extent(20)));
    for (index, value) in [
        (12, Some(1)),
        (13, None),
        (21, Some(2)),
        (22, None),
        (30, Some(3)),
    ] {
        assert_eq!(map.load(VirtAddr::new(index)), value, "{index}");
    }
    assert_eq!(map.check(), Ok(()));
}

type Beside = RcuMaple<VirtAddr, u32, Domain, SpinLock, Custom<Tiny, Heap>>;

#[test]
fn an_exchange_beside_readers_replaces_its_whole_extent() {
    let map = Beside::with_config(Domain::new(), SpinLock::new());
    let extent =
        |start, last| Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap();
    for index in 1..=12 {
        map.lock()
            .insert(extent(10 * index, 10 * index + 4), index as u32)
            .unwrap();
    }
    let mut session = map.lock();
    // From within 2 to within 5, over 3 and 4; no entry is cut in two.
    let removed = session
        .exchange(extent(22, 51), Some(99), |_| None)
        .unwrap();
    let removed: Vec<u64> = removed.map(|(at, _)| at.start().raw()).collect();
    assert_eq!(removed, [30, 40]);
    // The middle of 7: its upper part is the given one.
    drop(
        session
            .exchange(extent(72, 72), None, |_| Some(77))
            .unwrap(),
    );
    drop(session);
    let session = map.lock();
    let found: Vec<_> = session
        .view()
        .iter()
        .map(|(at, value)| (at.start().raw(), at.last().raw(), value))
        .collect();
    let wanted = [
        (10, 14, 1),
        (20, 21, 2),
        (22, 51, 99),
        (52, 54, 5),
        (60, 64, 6),
        (70, 71, 7),
        (73, 74, 77),
        (80, 84, 8),
    ];
    assert_eq!(found[..8], wanted);
    assert_eq!(found.len(), 12);
    drop(session);
    assert_eq!(map.check(), Ok(()));
}

#[test]
fn a_box_that_is_kept_is_counted_and_comes_back() {
    let map =
        RcuMaple::<VirtAddr, RcuBox<u32>, _, _>::new(Domain::<[_; 64]>::new(), SpinLock::new());
    let mut session = map.lock();
    assert_eq!(session.spares(), 0);
    session.keep(RcuBox::new(7));
    session.keep(RcuBox::new(8));
    assert_eq!(session.spares(), 2);
    let spare = session.spare().unwrap();
    assert!([7, 8].contains(&*spare));
    assert_eq!(session.spares(), 1);
}

#[test]
fn boxes_that_nothing_takes_again_do_not_end_the_reuse_of_nodes() {
    let map =
        RcuMaple::<VirtAddr, RcuBox<u32>, _, _>::new(Domain::<[_; 64]>::new(), SpinLock::new());
    let at = Extent::from_len(VirtAddr::new(10), 5).unwrap();
    for value in 0..100 {
        let mut session = map.lock();
        assert_eq!(session.spares(), 0, "{value}");
        drop(session.store(at, RcuBox::new(value)).ok());
    }
}

#[test]
fn a_cursor_goes_no_further_than_the_last_index() {
    let last = Extent::from_last(u32::MAX - 1, u32::MAX).unwrap();
    let mut map = Maple::<u32, u32>::new();
    map.insert(last, 7).unwrap();
    let mut cursor = Cursor::over(Extent::from_last(0, 0).unwrap());
    assert_eq!(cursor.next(map.view()), Some((last, 7)));
    assert_eq!(cursor.next(map.view()), None);
    assert_eq!(cursor.previous(map.view()), Some((last, 7)));
}

#[test]
fn a_check_that_found_readers_is_not_repeated_for_sixteen_sessions() {
    let mut pool = Pool::<Tiny, Heap>::new();
    assert!(pool.asks() && pool.asks());
    pool.ask_later();
    assert_eq!((0..).take_while(|_| !pool.asks()).count(), 16);
    assert!(pool.asks());
}

#[test]
fn a_node_that_keeps_enough_children_is_changed_in_place() {
    let mut map = Map::with_config();
    for index in 1..=7 {
        let at = Extent::from_len(VirtAddr::new(10 * index), 5).unwrap();
        map.insert(at, index as u32).unwrap();
    }
    let root = |map: &Map| {
        let step = spot(map, 10).step(0);
        (step.node.as_non_null().addr(), step.node.len())
    };
    let (before, children) = root(&map);
    assert_eq!(children, 3);
    // Until a leaf is gone.
    let mut index = 7;
    while root(&map).1 == 3 {
        map.erase(VirtAddr::new(10 * index)).unwrap();
        index -= 1;
    }
    assert_eq!(root(&map), (before, 2));
    assert_eq!(map.check(), Ok(()));
}
