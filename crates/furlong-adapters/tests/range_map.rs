//! The façade of `rangemap` beside that crate's own map: same calls, same results.
#![forbid(unsafe_code)]

use std::ops::Range;

use furlong_adapters::range_map::RangeMap;
use furlong_spec::Random;

type Original = rangemap::RangeMap<u64, u8>;

fn drawn(random: &mut Random, keys: u64) -> Range<u64> {
    let (one, other) = (random.below(keys), random.below(keys));
    one.min(other)..one.max(other) + 1
}

fn same(ours: &RangeMap<u8>, original: &Original, question: &Range<u64>) {
    let own = |(range, value): (&Range<u64>, &u8)| (range.clone(), *value);
    let lent = |(range, value): (Range<u64>, &u8)| (range, *value);
    let all: Vec<_> = ours.iter().map(lent).collect();
    assert_eq!(all, original.iter().map(own).collect::<Vec<_>>());
    assert_eq!(
        (ours.len(), ours.is_empty()),
        (original.len(), original.is_empty())
    );
    let key = question.start;
    assert_eq!(ours.get(key), original.get(&key));
    assert_eq!(ours.contains_key(key), original.contains_key(&key));
    let found = ours.get_key_value(key).map(lent);
    assert_eq!(found, original.get_key_value(&key).map(own));
    let hit: Vec<_> = ours.overlapping(question.clone()).map(lent).collect();
    assert_eq!(
        hit,
        original.overlapping(question).map(own).collect::<Vec<_>>()
    );
    assert_eq!(ours.overlaps(question.clone()), original.overlaps(question));
    let gaps: Vec<_> = ours.gaps(question.clone()).collect();
    assert_eq!(gaps, original.gaps(question).collect::<Vec<_>>());
    assert_eq!(
        ours.first_range_value().map(lent),
        original.first_range_value().map(own)
    );
    assert_eq!(
        ours.last_range_value().map(lent),
        original.last_range_value().map(own)
    );
}

#[test]
fn random_calls_are_answered_as_the_original_does() {
    let mut longest = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let keys = [12, 100, 4_000][seed as usize % 3];
        let (mut ours, mut original) = (RangeMap::new(), Original::new());
        for _ in 0..1_000 {
            let mut range = drawn(&mut random, keys);
            if random.below(40) > 0 {
                range.end = range.end.min(range.start + 1 + random.below(8));
            }
            if random.below(3) == 0 {
                ours.remove(range.clone());
                original.remove(range);
            } else {
                let value = random.below(3) as u8;
                ours.insert(range.clone(), value);
                original.insert(range, value);
            }
            same(&ours, &original, &drawn(&mut random, keys));
            longest = longest.max(ours.len());
        }
        ours.clear();
        original.clear();
        same(&ours, &original, &(0..keys));
    }
    assert!(longest > 100, "{longest} ranges at most");
}

#[test]
fn ranges_at_both_ends_of_the_keys_are_found() {
    let ranges = [(0..1, 1), (u64::MAX - 1..u64::MAX, 2)];
    let map: RangeMap<u8> = ranges.clone().into_iter().collect();
    let all: Vec<_> = map.iter().map(|(range, value)| (range, *value)).collect();
    assert_eq!(all, ranges);
    assert_eq!(map.get(u64::MAX), None);
}

#[test]
#[should_panic(expected = "has a key")]
fn an_empty_range_is_not_inserted() {
    RangeMap::new().insert(7..7, ());
}
