//! The operations and traits of `std`'s maps, keys that are integers, and aligned gaps, each beside
//! a plain list of extents.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::sync::Arc;

use furlong::addr::{Address, Extent};
use furlong::check::Check;
use furlong::maple::{Entry, Maple, Place, Shared, Split};
use furlong::rcu::RcuBox;
use furlong_spec::Random;

use crate::Tiny;

type List<A> = Vec<(Extent<A>, u64)>;

fn at<A: Address>(start: u64, last: u64) -> Extent<A> {
    Extent::from_last(A::from_raw(start), A::from_raw(last)).expect("it is in order")
}

/// Some extents of a space of `keys` keys, with gaps, in order.
fn drawn<A: Address>(keys: u64, random: &mut Random) -> List<A> {
    let mut list = Vec::new();
    let mut next = random.below(4);
    while next < keys {
        let last = (next + random.below(6) * random.below(3)).min(keys - 1);
        list.push((at(next, last), random.below(3)));
        next = last + 1 + random.below(5) * random.below(4);
    }
    list
}

fn loaded<A: Address, E: Entry>(list: &List<A>, entry: impl Fn(u64) -> E) -> Maple<A, E, Tiny> {
    let entries = list.iter().map(|(at, value)| (*at, entry(*value)));
    Maple::from_sorted(entries).map_err(drop).expect("in order")
}

fn contents<A: Address>(map: &Maple<A, Box<u64>, Tiny>) -> List<A> {
    map.check().expect("no invariant is broken");
    map.iter().map(|(at, value)| (at, *value)).collect()
}

#[test]
fn values_are_changed_in_place() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut list: List<u32> = drawn(200, &mut random);
        let mut map = loaded(&list, Box::new);
        let window = at(random.below(90), 90 + random.below(90));
        let mut seen = Vec::new();
        for (at, value) in map.range_mut(window) {
            *value += 10;
            seen.push(at);
        }
        let mut expected = Vec::new();
        for (at, value) in list.iter_mut().filter(|(at, _)| at.overlaps(&window)) {
            *value += 10;
            expected.push(*at);
        }
        assert_eq!(seen, expected);
        for (_, value) in &mut map {
            *value *= 2;
        }
        list.iter_mut().for_each(|(_, value)| *value *= 2);
        for index in 0..200 {
            let own = list.iter_mut().find(|(at, _)| at.contains(index));
            let found = map.get_mut(index);
            assert_eq!(found.as_deref(), own.as_ref().map(|(_, value)| value));
            if let (Some(found), Some((_, value))) = (found, own) {
                *found += 1;
                *value += 1;
            }
        }
        assert_eq!(contents(&map), list);
    }
}

#[test]
fn what_overlaps_a_window_is_drained_whole() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let list: List<u64> = drawn(150, &mut random);
        let mut map = loaded(&list, Box::new);
        let first = random.below(150);
        let window = at(first, first + random.below(60) * random.below(2));
        let drained = map.drain(window).expect("there is memory");
        let drained: List<u64> = drained.map(|(at, value)| (at, *value)).collect();
        let (gone, left): (List<u64>, List<u64>) =
            list.into_iter().partition(|(at, _)| at.overlaps(&window));
        assert_eq!((drained, contents(&map)), (gone, left), "seed {seed}");
    }
}

/// A copy is equal and independent, and later entries of a stream are stored over earlier ones.
fn copies<E: Split>(entry: impl Fn(u64) -> E)
where
    for<'a> E::Ref<'a>: PartialEq + Debug,
{
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let list: List<i16> = drawn(120, &mut random);
        let mut map = loaded(&list, &entry);
        let copy = map.clone();
        assert!(copy == map, "seed {seed}");
        assert_eq!(
            copy.iter().collect::<Vec<_>>(),
            map.iter().collect::<Vec<_>>()
        );
        copy.check().expect("no invariant is broken");
        let (start, last) = (i16::MIN + 20, i16::MIN + 40);
        let over = Extent::from_last(start, last).expect("it is in order");
        map.extend([
            (over, entry(7)),
            (at(25, 26), entry(8)),
            (at(25, 25), entry(9)),
        ]);
        assert!(copy != map && map == map.clone());
        assert_eq!(copy.len(), list.len());
        let same: Maple<i16, E> = list
            .iter()
            .map(|(at, value)| (*at, entry(*value)))
            .collect();
        assert!(same.iter().eq(copy.iter()), "seed {seed}");
    }
}

#[test]
fn every_kind_of_entry_is_copied_compared_and_collected() {
    copies(Box::new);
    copies(RcuBox::new);
    copies(Arc::new);
    copies(|value| value as u32);
}

#[test]
fn a_box_that_is_cut_in_two_is_cloned() {
    let mut map: Maple<u8, Box<String>> = Maple::new();
    map.insert(at(10, 20), Box::new("old".into()))
        .expect("it is free");
    let displaced = map.store(at(14, 15), Box::new("new".into()));
    assert_eq!(displaced.expect("there is memory").count(), 0);
    map.get_mut(20).expect("it is there").push('!');
    let all: Vec<_> = map.iter().map(|(at, value)| (at, value.as_str())).collect();
    assert_eq!(
        all,
        [
            (at(10, 13), "old"),
            (at(14, 15), "new"),
            (at(16, 20), "old!")
        ]
    );
    let empty: Vec<_> = [(at(0, 255), Box::new(()))].into_iter().collect();
    let mut units: Maple<u8, Box<()>> = empty.into_iter().collect();
    drop(units.erase_range(at(7, 7)).expect("there is memory"));
    assert_eq!(
        units.iter().map(|(extent, ())| extent).collect::<Vec<_>>(),
        [at(0, 6), at(8, 255)]
    );
}

/// Every look-up and every gap of random maps whose keys fill a type of 256 values.
fn fills<A: Address + TryFrom<i64>>(first: i64) {
    let key = |number: i64| A::try_from(first + number).ok().expect("it is a key");
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let list: List<A> = drawn(256, &mut random);
        let map = loaded(&list, Box::new);
        let mut largest = 0;
        for number in 0..256 {
            let index = key(number);
            let before = list.iter().rev().find(|(at, _)| at.last() < index);
            let behind = list.iter().find(|(at, _)| at.start() > index);
            let own = list.iter().find(|(at, _)| at.contains(index));
            match (map.walk(index), own) {
                (Place::Entry(at, value), Some(own)) => assert_eq!((at, *value), *own),
                (Place::Gap(gap), None) => {
                    let start = before.map_or(key(0), |(at, _)| at.end().expect("a gap"));
                    let last = behind.map_or(A::LAST, |(at, _)| at.start().checked_sub(1).unwrap());
                    assert_eq!((gap.start(), gap.last()), (start, last), "seed {seed}");
                    largest = largest.max(gap.len().expect("at most 256"));
                }
                (found, own) => panic!("seed {seed}: {found:?}, expected {own:?}"),
            }
        }
        assert_eq!(map.largest_gap(), largest, "seed {seed}");
    }
    let empty = Maple::<A, u32>::new();
    assert_eq!(empty.largest_gap(), 256);
    assert_eq!(empty.walk(key(9)).extent(), at(0, 255));
}

#[test]
fn integers_of_either_sign_are_keys_up_to_their_last() {
    fills::<u8>(0);
    fills::<i8>(-128);
}

#[test]
fn aligned_gaps_are_those_that_a_search_of_every_place_finds() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let list: List<u8> = drawn(256, &mut random);
        let map = loaded(&list, Box::new);
        let is_free = |place: &Extent<u8>| !list.iter().any(|(at, _)| at.overlaps(place));
        for (size, align) in [
            (1, 1),
            (1, 8),
            (3, 2),
            (4, 4),
            (5, 16),
            (9, 8),
            (20, 32),
            (8, 128),
        ] {
            for _ in 0..4 {
                let low = random.below(200);
                let window = at(low, low + random.below(256 - low));
                let starts = (0..256).step_by(align as usize);
                let places = starts.filter_map(|start| Extent::from_len(start as u8, size));
                let mut places = places
                    .filter(|place| window.intersection(place) == Some(*place) && is_free(place));
                let lowest = map.lowest_aligned_gap(size, align, window);
                let highest = map.highest_aligned_gap(size, align, window);
                let first = places.next();
                assert_eq!(lowest, first, "seed {seed}, {size}, {align}, {window:?}");
                assert_eq!(
                    highest,
                    places.next_back().or(first),
                    "seed {seed}, {size}, {align}"
                );
            }
        }
        for align in [0, 3, 6, u64::MAX] {
            assert_eq!(map.lowest_aligned_gap(1, align, at(0, 255)), None);
            assert_eq!(map.highest_aligned_gap(1, align, at(0, 255)), None);
        }
        assert_eq!(map.lowest_aligned_gap(0, 1, at(0, 255)), None);
    }
}

#[test]
fn shared_values_are_compared_not_their_owners() {
    let map = |text: &str| -> Maple<u64, Arc<String>> {
        [(at(0, 9), Arc::new(text.to_string()))]
            .into_iter()
            .collect()
    };
    assert!(map("one") == map("one") && map("one") != map("two"));
    assert_eq!(map("one").load(3).map(Shared::get).unwrap(), "one");
}
