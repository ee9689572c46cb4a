//! The interface that both forms of the map share, and searches downwards, against an ordered map.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::maple::{Edit, Maple, RcuMaple};
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong_spec::Random;

use crate::Tiny;

type Map = Maple<VirtAddr, u32, Tiny>;
type Shared = RcuMaple<VirtAddr, u32, Domain, SpinLock, Tiny>;

/// Ten indices apart and `len` long.
fn at(place: u64, len: u64) -> Extent<VirtAddr> {
    Extent::from_len(VirtAddr::new(10 * place), len).unwrap()
}

/// Stores and removes at random, through the interface; returns the expected entries by place.
fn churn(map: &mut impl Edit<VirtAddr, u32>, seed: u64) -> BTreeMap<u64, (u64, u32)> {
    let mut random = Random::new(seed);
    let mut model = BTreeMap::new();
    for value in 0..400 {
        let place = random.below(60);
        if random.below(3) == 0 {
            let taken = map.take(VirtAddr::new(10 * place)).unwrap();
            assert_eq!(
                taken.map(|(extent, _)| extent),
                model.remove(&place).map(|(len, _)| at(place, len))
            );
        } else {
            // Always as long at a place: nothing of the displaced entry stays.
            let len = 1 + place % 9;
            map.put(at(place, len), value).unwrap();
            model.insert(place, (len, value));
        }
    }
    model
}

/// The highest gap of `size` below index 600, by looking at all of them.
fn highest(model: &BTreeMap<u64, (u64, u32)>, size: u64) -> Option<(u64, u64)> {
    let mut last = 600;
    for (place, (len, _)) in model.iter().rev() {
        let end = 10 * place + len;
        if last - end >= size {
            return Some((last - size, last - 1));
        }
        last = 10 * place;
    }
    (last >= size).then(|| (last - size, last - 1))
}

fn gaps(map: &impl Edit<VirtAddr, u32>, model: &BTreeMap<u64, (u64, u32)>) {
    let window = Extent::from_len(VirtAddr::new(0), 600).unwrap();
    for size in 1..80 {
        let found = map.highest(size, window);
        let found = found.map(|gap| (gap.start().raw(), gap.last().raw()));
        assert_eq!(found, highest(model, size), "size {size}");
    }
}

#[test]
fn both_forms_find_the_highest_gap_through_the_shared_interface() {
    for seed in 0..20 {
        let mut map = Map::with_config();
        let model = churn(&mut map, seed);
        gaps(&map, &model);
        let shared = Shared::with_config(Domain::new(), SpinLock::new());
        let mut session = shared.lock();
        let model = churn(&mut session, seed);
        gaps(&session, &model);
    }
}

#[test]
fn a_search_downwards_finds_the_entry_at_or_below() {
    for seed in 0..20 {
        let mut map = Map::with_config();
        let model = churn(&mut map, seed);
        for index in 0..620 {
            let found = map.find_back(VirtAddr::new(index));
            let below = model
                .range(..=index / 10)
                .rev()
                .find(|(place, _)| **place * 10 <= index);
            let expected = below.map(|(place, (len, value))| (at(*place, *len), *value));
            assert_eq!(found, expected, "seed {seed}, index {index}");
        }
    }
}

#[test]
#[should_panic(expected = "the guard belongs to another domain")]
fn a_guard_of_another_domain_reads_nothing() {
    let shared = Shared::with_config(Domain::new(), SpinLock::new());
    let other: Domain = Domain::new();
    let reader = other.register().unwrap();
    let guard = reader.enter();
    assert!(other.covers(&guard));
    let _ = shared.read(&guard);
}

/// The lowest gap of `size` below index 600, by looking at all of them.
fn lowest(model: &BTreeMap<u64, (u64, u32)>, size: u64) -> Option<(u64, u64)> {
    let mut free = 0;
    for (place, (len, _)) in model {
        if 10 * place - free >= size {
            return Some((free, free + size - 1));
        }
        free = 10 * place + len;
    }
    (600 - free >= size).then(|| (free, free + size - 1))
}

#[test]
fn both_forms_find_the_lowest_gap_through_the_shared_interface() {
    fn check(map: &impl Edit<VirtAddr, u32>, model: &BTreeMap<u64, (u64, u32)>) {
        let window = Extent::from_len(VirtAddr::new(0), 600).unwrap();
        for size in 1..80 {
            let found = map.lowest(size, window);
            let found = found.map(|gap| (gap.start().raw(), gap.last().raw()));
            assert_eq!(found, lowest(model, size), "size {size}");
        }
    }
    for seed in 0..20 {
        let mut map = Map::with_config();
        let model = churn(&mut map, seed);
        check(&map, &model);
        let shared = Shared::with_config(Domain::new(), SpinLock::new());
        let mut session = shared.lock();
        let model = churn(&mut session, seed);
        check(&session, &model);
    }
}

#[test]
fn the_entries_on_both_sides_of_an_index_are_found_together() {
    for seed in 0..20 {
        let mut map = Map::with_config();
        let model = churn(&mut map, seed);
        for index in 0..620 {
            let entries = || {
                model
                    .iter()
                    .map(|(place, (len, value))| (at(*place, *len), *value))
            };
            let below = entries().rfind(|(at, _)| at.start().raw() < index);
            let above = entries().find(|(at, _)| at.last().raw() >= index);
            let found = map.view().beside(VirtAddr::new(index));
            assert_eq!(found, [below, above], "seed {seed}, index {index}");
        }
    }
    assert_eq!(
        Map::with_config().view().beside(VirtAddr::new(7)),
        [None, None]
    );
}

#[test]
fn a_store_into_the_middle_of_a_static_reference_leaves_both_ends() {
    static WORDS: [&str; 2] = ["old", "new"];
    let mut map = Maple::<VirtAddr, &'static &str, Tiny>::with_config();
    let extent = |start, len| Extent::from_len(VirtAddr::new(start), len).unwrap();
    map.insert(extent(10, 9), &WORDS[0]).unwrap();
    drop(map.store(extent(13, 3), &WORDS[1]).unwrap());
    let found: Vec<_> = map.iter().collect();
    let wanted = [
        (extent(10, 3), &WORDS[0]),
        (extent(13, 3), &WORDS[1]),
        (extent(16, 3), &WORDS[0]),
    ];
    assert_eq!(found, wanted);
}
