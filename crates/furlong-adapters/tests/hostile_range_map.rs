//! The façade of `rangemap` with values that panic when they are compared, cloned or dropped.
#![forbid(unsafe_code)]

use std::ops::Range;

use furlong_adapters::range_map::RangeMap;
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, Tracked, Watch, panic_at, user_code};

#[derive(Clone)]
struct Value(Tracked);

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        user_code("Eq");
        self.0.number() == other.0.number()
    }
}

fn drawn(random: &mut Random) -> Range<u64> {
    let start = random.below(400);
    start..start + 1 + random.below(60)
}

/// A map of up to `len` ranges.
fn map(len: u64, watch: &Watch) -> RangeMap<u64, Value> {
    let mut random = Random::new(len);
    let value = |random: &mut Random| Value(watch.value(random.below(4)));
    (0..len)
        .map(|_| (drawn(&mut random), value(&mut random)))
        .collect()
}

fn contents(map: &RangeMap<u64, Value>) -> Vec<(Range<u64>, u64)> {
    let read = |(range, value): (&Range<u64>, &Value)| (range.clone(), value.0.number());
    map.iter().map(read).collect()
}

#[test]
fn values_that_panic_leave_a_map_of_ranges_whole() {
    let mut ledger = Ledger::new();
    for len in 0..=64 {
        for change in 0..12 {
            for k in 1.. {
                let (watch, mut random) = (Watch::new(), Random::new(len * 100 + change));
                let mut map = map(len, &watch);
                let before = contents(&map);
                let range = drawn(&mut random);
                let outcome = panic_at(k, || match change % 4 {
                    0 => map.remove(range.clone()),
                    1 => map.clear(),
                    _ => map.insert(range.clone(), Value(watch.value(random.below(4)))),
                });
                let now = contents(&map);
                assert!(now.is_sorted_by(|a, b| a.0.end <= b.0.start), "{now:?}");
                assert_eq!(now.len(), map.len());
                for (at, number) in &now {
                    let found = map.get_key_value(&at.start).unwrap();
                    assert_eq!((found.0, found.1.0.number()), (at, *number));
                }
                assert!(
                    watch.alive() <= now.len() as u64,
                    "none is kept without a range"
                );
                let found = map.get(&range.start).map(|value| value.0.number());
                match (outcome, change % 4) {
                    (Outcome::Panicked("Eq" | "Clone"), _) => assert_eq!(now, before),
                    (_, 0) => assert_eq!(found, None),
                    (_, 1) => assert!(now.is_empty()),
                    _ => assert!(found.is_some()),
                }
                if !map.is_empty() {
                    map.remove(0..1000);
                }
                drop(map);
                assert_eq!(watch.alive(), 0, "length {len}, change {change}, call {k}");
                ledger.note("range_map::RangeMap", (change, k), &before);
                if outcome == Outcome::Done(()) {
                    break;
                }
            }
        }
    }
    ledger.report(1500);
}

/// A copy and an iterator that end early drop each value once.
#[test]
fn copies_that_panic_and_iterators_that_end_early_leak_nothing() {
    let mut ledger = Ledger::new();
    for len in 0..=32 {
        for k in 1.. {
            let watch = Watch::new();
            let map = map(len, &watch);
            let before = contents(&map);
            let outcome = panic_at(k, || {
                let mut owned = map.clone().into_iter();
                drop((owned.next(), owned.next_back()));
            });
            assert_eq!(contents(&map), before);
            assert_eq!(watch.alive(), before.len() as u64);
            ledger.note("range_map::IntoIter", k, &before);
            if outcome == Outcome::Done(()) {
                break;
            }
        }
    }
    ledger.report(100);
}
