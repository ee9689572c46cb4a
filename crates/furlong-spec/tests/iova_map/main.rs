//! The map compared with a list: overlaps, cuts, values that must be returned, and stale hints.
#![forbid(unsafe_code)]

mod model;

use std::panic::{AssertUnwindSafe, catch_unwind};

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Custom, Entry, Hint, InsertError, Map, MapNode, RemoveError, Straddles, VecMap,
};
use furlong::rbtree::{Checked, Tally};
use furlong_spec::Random;

use model::{Pair, Run, extent};

fn step(pair: &mut Pair, random: &mut Random, base: u64, addresses: u64, hints: &mut [Hint]) {
    let mut run = |longest: u64| -> Run {
        let first = random.below(addresses);
        let last = (first + random.below(longest)).min(addresses - 1);
        (base + first, base + last)
    };
    let (short, long) = (run(8), run(addresses));
    let known = match pair.list.len() {
        0 => short,
        n => pair.list[random.index(n)].0,
    };
    match random.below(64) {
        0..24 => pair.insert(short),
        24 => pair.insert(long),
        25..28 => pair.remove(known),
        28 => pair.remove(short),
        29..31 => pair.remove_at(short.0),
        31..34 => pair.unmap_range(short),
        34..36 => pair.unmap_range(known),
        36 => pair.unmap_range(long),
        37..40 => pair.invalidate_range(short),
        40..48 => pair.cut_range(short),
        48 => pair.cut_range(long),
        49 if random.below(8) == 0 => pair.clear(),
        50..53 => pair.update(short.0),
        _ => pair.entries_in(if random.below(2) == 0 { short } else { long }),
    }
    for _ in 0..4 {
        let hint = random.index(hints.len());
        pair.look_up(base + random.below(addresses), &mut hints[hint]);
    }
    pair.compare();
}

#[test]
fn a_map_agrees_with_a_list() {
    for addresses in [6, 60, 600] {
        for base in [0, 1 << 40, u64::MAX - (addresses - 1)] {
            let mut random = Random::new(base ^ addresses);
            // The hints are kept from map to map, and through every change.
            let mut hints = [Hint::default(); 6];
            for _ in 0..4 {
                let mut pair = Pair::new();
                for _ in 0..1500 {
                    step(&mut pair, &mut random, base, addresses, &mut hints);
                }
            }
        }
    }
}

/// Every arrangement of entries in `from..addresses`.
fn layouts(from: u64, addresses: u64) -> Vec<Vec<Run>> {
    let mut found = vec![vec![]];
    for first in from..addresses {
        for last in first..addresses {
            for rest in layouts(last + 1, addresses) {
                found.push([vec![(first, last)], rest].concat());
            }
        }
    }
    found
}

#[test]
fn every_range_agrees_with_a_list_in_every_small_map() {
    const ADDRESSES: u64 = 5;
    let verbs: [fn(&mut Pair, Run); 5] = [
        Pair::insert,
        Pair::remove,
        Pair::unmap_range,
        Pair::invalidate_range,
        Pair::cut_range,
    ];
    for base in [0, u64::MAX - (ADDRESSES - 1)] {
        for layout in layouts(0, ADDRESSES) {
            for (first, last) in (0..ADDRESSES).flat_map(|a| (a..ADDRESSES).map(move |b| (a, b))) {
                for verb in verbs {
                    let mut pair = Pair::new();
                    for (first, last) in &layout {
                        pair.insert((base + first, base + last));
                    }
                    pair.entries_in((base + first, base + last));
                    verb(&mut pair, (base + first, base + last));
                    pair.compare();
                }
            }
        }
    }
}

#[test]
fn the_whole_of_64_bits_is_one_entry() {
    let whole = extent((0, u64::MAX));
    let mut map: VecMap<u8> = Map::new(Vec::new());
    assert_eq!(map.insert(whole, 7), Ok(()));
    for address in [0, 1 << 63, u64::MAX] {
        assert_eq!(map.get(Iova::new(address)), Some((whole, &7)));
    }
    let occupied = InsertError::Occupied {
        conflict: whole,
        value: 9,
    };
    assert_eq!(map.insert(extent((5, 5)), 9), Err(occupied));
    assert_eq!(occupied.into_value(), 9);
    let first = extent((0, 0));
    assert_eq!(map.remove(first), Err(RemoveError::Partial(whole)));
    assert_eq!(
        map.unmap_range(first, |_, _| panic!("it was cut")),
        Err(Straddles(whole))
    );
    let ends = [first, extent((u64::MAX, u64::MAX))];
    for end in ends {
        let mut pieces = Vec::new();
        let count = map.cut_range(end, |value, _| (value, value), |at, _| pieces.push(at));
        assert_eq!((count, pieces), (Ok(1), vec![end]));
    }
    assert_eq!(map.remove(extent((1, u64::MAX - 1))), Ok(7));
    map.check().expect("no invariant is broken");
}

#[test]
fn equal_neighbours_stay_apart() {
    let mut map: VecMap<u8> = Map::new(Vec::new());
    assert_eq!(map.insert(extent((0, 9)), 1), Ok(()));
    assert_eq!(map.insert(extent((10, 19)), 1), Ok(()));
    assert_eq!(map.len(), 2);
    assert_eq!(map.get(Iova::new(10)), Some((extent((10, 19)), &1)));
}

type Counted = VecMap<u64, Custom<u64, Checked, Tally>>;

/// 1000 entries of 16 bytes with gaps of 16 bytes.
fn counted() -> Counted {
    let mut map = Counted::with_config(Vec::new());
    for at in 0..1000 {
        assert_eq!(map.insert(extent((32 * at, 32 * at + 15)), at), Ok(()));
    }
    map
}

#[test]
fn a_hit_of_a_hint_searches_nothing() {
    let map = counted();
    let mut hint = Hint::default();
    assert!(map.lookup(Iova::new(320), &mut hint).is_some());
    let before = map.counters().visits();
    for address in 320..336 {
        let found = map.lookup(Iova::new(address), &mut hint);
        assert_eq!(found, Some((extent((320, 335)), &10)));
    }
    assert_eq!(map.counters().visits(), before);
    assert_eq!(map.lookup(Iova::new(336), &mut hint), None);
    let searched = map.counters().visits() - before;
    assert!(
        (1..=20).contains(&searched),
        "{searched} nodes at a miss among 1000"
    );
}

#[test]
fn a_hint_is_good_again_after_any_change_elsewhere() {
    let mut map = counted();
    let mut hint = Hint::default();
    assert!(map.lookup(Iova::new(320), &mut hint).is_some());
    for at in (0..1000).filter(|at| at % 3 == 0) {
        assert_eq!(map.remove(extent((32 * at, 32 * at + 15))), Ok(at));
    }
    let before = map.counters().visits();
    assert!(map.lookup(Iova::new(335), &mut hint).is_some());
    assert_eq!(map.counters().visits(), before);
}

#[test]
fn a_hint_of_a_removed_entry_gives_no_value() {
    let mut map = counted();
    let mut hint = Hint::default();
    assert!(map.lookup(Iova::new(320), &mut hint).is_some());
    assert_eq!(map.remove(extent((320, 335))), Ok(10));
    assert_eq!(map.lookup(Iova::new(320), &mut hint), None);
    // A new entry reuses the node of the removed one.
    assert_eq!(map.insert(extent((64_000, 64_001)), 77), Ok(()));
    assert_eq!(map.lookup(Iova::new(320), &mut hint), None);
    assert_eq!(map.insert(extent((320, 320)), 78), Ok(()));
    assert_eq!(
        map.lookup(Iova::new(320), &mut hint),
        Some((extent((320, 320)), &78))
    );
    assert_eq!(map.lookup(Iova::new(321), &mut hint), None);
}

#[test]
fn a_hint_of_a_larger_map_is_harmless() {
    let mut hint = Hint::default();
    assert!(counted().lookup(Iova::new(32 * 999), &mut hint).is_some());
    let mut small: VecMap<u64> = Map::new(Vec::new());
    assert_eq!(small.lookup(Iova::new(32 * 999), &mut hint), None);
    assert_eq!(small.insert(extent((0, u64::MAX)), 5), Ok(()));
    let found = small.lookup(Iova::new(32 * 999), &mut hint);
    assert_eq!(found, Some((extent((0, u64::MAX)), &5)));
}

#[test]
fn a_panic_of_the_caller_leaves_the_map_sound() {
    type Call = fn(&mut VecMap<u64>, Extent<Iova>);
    let calls: [Call; 5] = [
        |map, range| {
            let _ = map.unmap_range(range, |_, _| panic!("removed"));
        },
        |map, range| {
            map.invalidate_range(range, |_, _| panic!("removed"));
        },
        |map, range| {
            let _ = map.cut_range(range, |v, _| (v, v), |_, _| panic!("removed"));
        },
        |map, range| {
            let _ = map.cut_range(range, |_, _| panic!("split"), |_, _| ());
        },
        |map, _| map.clear(|_, _| panic!("removed")),
    ];
    for (at, call) in calls.into_iter().enumerate() {
        let mut map: VecMap<u64> = Map::new(Vec::new());
        for at in 0..5 {
            assert_eq!(map.insert(extent((10 * at, 10 * at + 9)), at), Ok(()));
        }
        // The cutting operations begin and end within entries.
        let range = if at < 2 {
            extent((10, 39))
        } else {
            extent((12, 37))
        };
        let result = catch_unwind(AssertUnwindSafe(|| call(&mut map, range)));
        assert!(result.is_err(), "call {at}");
        map.check()
            .unwrap_or_else(|broken| panic!("call {at}: {broken}"));
        // One entry is gone. If it was cut, a part of it remains.
        assert_eq!(map.len(), 4 + usize::from(at == 2), "call {at}");
    }
}

#[test]
fn a_map_over_borrowed_nodes_needs_no_allocator() {
    let mut nodes = [MapNode::<u32>::new(Entry::free()); 3];
    let mut map = Map::new(&mut nodes[..]);
    assert_eq!(map.prepare(3), Ok(()));
    assert!(map.prepare(4).is_err());
    for at in 0..3 {
        assert_eq!(
            map.insert(extent((10 * at, 10 * at + 9)), at as u32),
            Ok(())
        );
    }
    assert_eq!(
        map.insert(extent((90, 99)), 9),
        Err(InsertError::NoMemory { value: 9 })
    );
    // A cut in the middle needs a node; a cut at an end needs none.
    let cut = map.cut_range(
        extent((12, 17)),
        |_, _| panic!("split"),
        |_, _| panic!("removed"),
    );
    assert!(cut.is_err());
    assert_eq!(map.iter().count(), 3);
    let mut pieces = Vec::new();
    let cut = map.cut_range(extent((5, 24)), |v, _| (v, v), |at, _| pieces.push(at));
    assert_eq!(cut, Ok(3));
    assert_eq!(pieces, [extent((5, 9)), extent((10, 19)), extent((20, 24))]);
    let left: Vec<_> = map.iter().map(|(at, _)| at).collect();
    assert_eq!(left, [extent((0, 4)), extent((25, 29))]);
    map.check().expect("no invariant is broken");
}
