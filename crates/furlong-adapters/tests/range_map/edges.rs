//! Panics, the ends of the keys, iterators at their ends, and serialised forms.

use std::iter::FusedIterator;
use std::ops::RangeInclusive;
use std::panic::catch_unwind;

use furlong::addr::{Iova, VirtAddr};
use furlong_adapters::range_map::{
    RangeInclusiveMap, RangeInclusiveSet, RangeMap, RangeSet, StepLite, inclusive_map,
    inclusive_set, map, range_inclusive_map, range_inclusive_set, range_map, range_set, set,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Calls that panic here and in the original.
#[test]
fn empty_and_reversed_ranges_are_refused_as_by_the_original() {
    macro_rules! refused {
        ($($map:ty, $($range:expr),+;)*) => {$($({
            let (mut inserted, mut removed) = (<$map>::default(), <$map>::default());
            assert!(catch_unwind(move || inserted.insert($range, 0)).is_err());
            assert!(catch_unwind(move || removed.remove($range)).is_err());
        })+)*};
    }
    let back = |start, end| RangeInclusive::new(start, end);
    refused! {
        RangeMap<u32, u8>, 7..7, 0..0, std::ops::Range { start: 8, end: 7 };
        rangemap::RangeMap<u32, u8>, 7..7, 0..0, std::ops::Range { start: 8, end: 7 };
        RangeInclusiveMap<u32, u8>, back(8, 7), back(1, 0);
        rangemap::RangeInclusiveMap<u32, u8>, back(8, 7), back(1, 0);
    }
}

#[test]
fn inclusive_ranges_hold_the_last_key() {
    let mut map = RangeInclusiveMap::new();
    map.insert(0..=u64::MAX, 'a');
    map.insert(u64::MAX..=u64::MAX, 'b');
    assert_eq!(map.get(&u64::MAX), Some(&'b'));
    assert_eq!(map.gaps(&(0..=u64::MAX)).next(), None);
    map.insert(0..=0, 'b');
    let all: Vec<_> = map.iter().collect();
    let middle = 1..=u64::MAX - 1;
    let ends = [0..=0, u64::MAX..=u64::MAX];
    assert_eq!(all, [(&ends[0], &'b'), (&middle, &'a'), (&ends[1], &'b')]);
    map.remove(0..=u64::MAX);
    assert_eq!(map.first_range_value(), None);
}

#[test]
fn half_open_ranges_end_below_the_last_key() {
    let map: RangeMap<i8, u8> = [(i8::MIN..0, 1), (0..i8::MAX, 2)].into();
    assert_eq!(map.get(&(i8::MAX - 1)), Some(&2));
    assert_eq!(map.get(&i8::MAX), None);
    assert_eq!(map.gaps(&(i8::MIN..i8::MAX)).next(), None);
    assert!(!map.overlaps(&(i8::MAX..i8::MAX)));
}

#[test]
fn the_new_value_stays_where_equal_ones_are_merged() {
    #[derive(Clone, Debug)]
    struct Loose(u8);
    impl PartialEq for Loose {
        fn eq(&self, _: &Self) -> bool {
            true
        }
    }
    let mut ours = RangeMap::from([(0..10, Loose(1))]);
    let mut theirs = rangemap::RangeMap::from([(0..10, Loose(1))]);
    ours.insert(10..20, Loose(2));
    theirs.insert(10..20, Loose(2));
    let number = |value: &Loose| value.0;
    assert_eq!(ours.get(&0).map(number), Some(2));
    assert_eq!(theirs.get(&0).map(number), Some(2));
}

#[test]
fn addresses_are_keys_of_inclusive_maps() {
    let mut areas = RangeInclusiveMap::new();
    let address = |raw: u64| VirtAddr::new(raw);
    areas.insert(address(0x1000)..=address(0x1fff), "code");
    areas.insert(address(0x2000)..=address(u64::MAX), "code");
    assert_eq!(areas.len(), 1);
    let first: VirtAddr = address(7).add_one().sub_one();
    assert_eq!(areas.get(&first), None);
}

/// Bounds as generic code of users has them.
#[test]
fn generic_code_needs_no_other_bound_than_steps() {
    fn holes<K: Ord + Clone + StepLite>(
        set: &RangeInclusiveSet<K>,
        all: RangeInclusive<K>,
    ) -> usize {
        set.gaps(&all).count()
    }
    assert_eq!(holes(&[3..=4, 7..=7].into(), 0..=9), 3);
}

#[test]
fn iterators_have_the_names_and_traits_of_the_originals() {
    fn fused<I: FusedIterator>(mut items: I) -> usize {
        let counted = items.by_ref().count();
        assert!(items.next().is_none());
        counted
    }
    static EMPTY: RangeMap<u8, u8> = RangeMap::new();
    assert!(EMPTY.is_empty());
    let people: RangeMap<u8, char> = range_map! { 1..2 => 'a', 2..3 => 'b' };
    let all: map::Iter<'_, u8, char> = people.iter();
    assert_eq!(all.size_hint(), (2, Some(2)));
    let found: map::Overlapping<'_, u8, char> = people.overlapping(&(0..9));
    let gaps: map::Gaps<'_, u8, char> = people.gaps(&(0..9));
    assert_eq!((fused(found), fused(gaps)), (2, 2));
    let owned: map::IntoIter<u8, char> = people.clone().into_iter();
    assert_eq!(owned.rev().size_hint(), (2, Some(2)));
    assert_eq!((&people).into_iter().count(), 2);

    let people = range_inclusive_map! { 1..=1 => 'a', 2..=u8::MAX => 'b' };
    let all: inclusive_map::Iter<'_, u8, char> = people.iter();
    let found: inclusive_map::Overlapping<'_, u8, char, _> = people.overlapping(0..=9);
    let gaps: inclusive_map::Gaps<'_, u8, char> = people.gaps(&(0..=9));
    assert_eq!((all.count(), fused(found), fused(gaps)), (2, 2, 1));
    let owned: inclusive_map::IntoIter<u8, char> = people.into_iter();
    assert_eq!(owned.count(), 2);

    let (taken, other) = (range_set![1..3_u8, 5..7], range_set![2..6_u8]);
    let all: set::Iter<'_, u8> = taken.iter();
    let found: set::Overlapping<'_, u8> = taken.overlapping(&(0..9));
    let gaps: set::Gaps<'_, u8> = taken.gaps(&(0..9));
    assert_eq!((all.count(), fused(found), fused(gaps)), (2, 2, 3));
    let union: set::Union<'_, u8> = taken.union(&other);
    let both: set::Intersection<'_, u8> = taken.intersection(&other);
    assert_eq!((fused(union), both.count()), (1, 2));
    let owned: set::IntoIter<u8> = taken.into_iter();
    assert_eq!(owned.count(), 2);

    let (taken, other) = (
        range_inclusive_set![1..=3_u8],
        range_inclusive_set![4..=6_u8],
    );
    let all: inclusive_set::Iter<'_, u8> = taken.iter();
    let found: inclusive_set::Overlapping<'_, u8> = taken.overlapping(&(0..=9));
    let gaps: inclusive_set::Gaps<'_, u8> = taken.gaps(&(0..=9));
    assert_eq!((all.count(), fused(found), fused(gaps)), (1, 1, 2));
    let union: inclusive_set::Union<'_, u8> = taken.union(&other);
    let both: inclusive_set::Intersection<'_, u8> = taken.intersection(&other);
    assert_eq!((fused(union), both.count()), (2, 0));
    assert_eq!((&taken | &other).len(), 1);
    let owned: inclusive_set::IntoIter<u8> = taken.into_iter();
    assert_eq!(owned.count(), 1);
}

/// The text of a value, read back.
fn text<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> String {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value);
    text
}

/// As `rangemap` does with its feature `serde1`, whose tests `ci/rangemap.sh` runs.
#[test]
fn serialised_forms_are_sequences_of_ends_and_values() {
    let map = RangeMap::from([(1..3_u64, 'a'), (5..7, 'b')]);
    assert_eq!(text(&map), r#"[[[1,3],"a"],[[5,7],"b"]]"#);
    let map = RangeInclusiveMap::from([(1..=3, 'a'), (5..=i8::MAX, 'b')]);
    assert_eq!(text(&map), r#"[[[1,3],"a"],[[5,127],"b"]]"#);
    assert_eq!(text(&RangeSet::from([1..3, 5..7])), "[[1,3],[5,7]]");
    let set = RangeInclusiveSet::from([1..=3, 5..=u64::MAX]);
    assert_eq!(text(&set), "[[1,3],[5,18446744073709551615]]");
    let set = RangeSet::from([Iova::new(4096)..Iova::new(8192)]);
    assert_eq!(text(&set), "[[4096,8192]]");
}

#[test]
fn an_empty_range_in_serialised_input_is_an_error() {
    let error = serde_json::from_str::<RangeMap<u8, u8>>("[[[1,3],0],[[7,7],0]]").unwrap_err();
    assert_eq!(error.to_string(), "the range 7..7 is empty");
    assert!(serde_json::from_str::<RangeInclusiveSet<u8>>("[[7,7]]").is_ok());
    assert!(serde_json::from_str::<RangeInclusiveSet<u8>>("[[8,7]]").is_err());
}
