//! The façade of `rangemap` with values that panic when they are compared or dropped.
#![forbid(unsafe_code)]

use std::ops::Range;

use furlong_adapters::range_map::RangeMap;
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, Tracked, Watch, panic_at, user_code};

struct Value(Tracked);

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        user_code("Eq");
        self.0.number() == other.0.number()
    }
}

impl Eq for Value {}

fn drawn(random: &mut Random) -> Range<u64> {
    let start = random.below(400);
    start..start + 1 + random.below(60)
}

/// A map of up to `len` ranges.
fn map(len: u64, watch: &Watch) -> RangeMap<Value> {
    let mut random = Random::new(len);
    let value = |random: &mut Random| Value(watch.value(random.below(4)));
    (0..len)
        .map(|_| (drawn(&mut random), value(&mut random)))
        .collect()
}

fn contents(map: &RangeMap<Value>) -> Vec<(Range<u64>, u64)> {
    let read = |(range, value): (Range<u64>, &Value)| (range, value.0.number());
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
                let key = range.start;
                let found = map.get(key).map(|value| value.0.number());
                match (outcome, change % 4) {
                    (Outcome::Panicked("Eq"), _) => assert_eq!(now, before),
                    (_, 0) => assert_eq!(found, None),
                    (_, 1) => assert!(now.is_empty()),
                    _ => assert!(found.is_some()),
                }
                map.remove(0..1000);
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
