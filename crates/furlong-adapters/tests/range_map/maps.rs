//! Maps beside the original ones: random calls, and every sequence of three changes.

use std::ops::{Range, RangeInclusive};

use furlong::addr::{Address, Iova, Pfn, PhysAddr, VirtAddr};
use furlong_adapters::range_map::{RangeInclusiveMap, RangeMap, Span};
use furlong_spec::Random;

use super::subject::{Draw, Map};

/// A change of a map: a value for a range, or none.
type Change<R> = (R, Option<u8>);

fn change<R: Span>(map: &mut impl Map<R>, (range, value): Change<R>) {
    match value {
        Some(value) => map.insert(range, value),
        None => map.remove(range),
    }
}

/// Both maps, after the same changes.
#[derive(Clone, Default)]
struct Both<O, T> {
    ours: O,
    theirs: T,
}

impl<O, T> Both<O, T> {
    fn change<R: Span>(&mut self, to: Change<R>)
    where
        O: Map<R>,
        T: Map<R>,
    {
        change(&mut self.ours, to.clone());
        change(&mut self.theirs, to);
    }

    /// Compares their answers, and returns the number of ranges.
    fn agree<R: Span>(&self, about: &R) -> usize
    where
        O: Map<R>,
        T: Map<R>,
    {
        let answers = self.ours.answers(about);
        assert_eq!(answers, self.theirs.answers(about));
        answers.len.0
    }

    /// All that is asked of a whole map, and of two.
    fn agree_whole<R: Span>(&self, before: &Self)
    where
        O: Map<R>,
        T: Map<R>,
    {
        let (ours, theirs) = (&self.ours, &self.theirs);
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        assert_eq!(ours.cmp(&before.ours), theirs.cmp(&before.theirs));
        assert_eq!(
            ours.partial_cmp(&before.ours),
            theirs.partial_cmp(&before.theirs)
        );
        assert_eq!(*ours == before.ours, *theirs == before.theirs);
        assert_eq!(*ours, ours.clone());
        assert_eq!(ours.clone().taken(), theirs.clone().taken());
    }
}

/// Makes random changes, and returns the greatest number of ranges.
fn trial<R: Span, O: Map<R>, T: Map<R>>(seeds: Range<u64>) -> usize {
    let mut longest = 0;
    for seed in seeds {
        let (random, keys) = (Random::new(seed), [4, 40, 1500][seed as usize % 3]);
        let mut draw = Draw { random, keys };
        let mut both = Both::<O, T>::default();
        let mut before = both.clone();
        for _ in 0..600 {
            let value = draw.random.below(4) as u8;
            both.change((draw.range(), (value < 3).then_some(value)));
            longest = longest.max(both.agree::<R>(&draw.question()));
            if draw.random.below(50) == 0 {
                both.agree_whole(&before);
                before = both.clone();
            }
        }
        let ranges: Vec<(R, u8)> = both.ours.clone().taken()[1].clone();
        assert_eq!(both.ours, ranges.iter().cloned().collect());
        let mut extended = O::default();
        extended.extend(ranges);
        assert_eq!(both.ours, extended);
        both.ours.clear();
        both.theirs.clear();
        both.agree::<R>(&draw.question());
        let two = [(draw.range(), 1), (draw.range(), 2)];
        let (ours, theirs) = (O::from(two.clone()), T::from(two));
        Both { ours, theirs }.agree::<R>(&draw.question());
    }
    longest
}

type HalfOpen<K> = (RangeMap<K, u8>, rangemap::RangeMap<K, u8>);
type Inclusive<K> = (RangeInclusiveMap<K, u8>, rangemap::RangeInclusiveMap<K, u8>);

trait Trial<R> {
    fn run(seeds: Range<u64>) -> usize;
}

impl<R: Span, O: Map<R>, T: Map<R>> Trial<R> for (O, T) {
    fn run(seeds: Range<u64>) -> usize {
        trial::<R, O, T>(seeds)
    }
}

#[test]
fn random_calls_with_unsigned_keys_are_answered_as_the_originals_do() {
    assert!(HalfOpen::<u64>::run(0..12) > 100);
    assert!(Inclusive::<u64>::run(0..12) > 100);
    assert!(HalfOpen::<u32>::run(12..18) > 100);
    assert!(Inclusive::<u16>::run(12..18) > 100);
    assert!(Inclusive::<usize>::run(12..18) > 100);
    assert!(HalfOpen::<u8>::run(18..24) > 10);
    assert!(Inclusive::<u8>::run(18..24) > 10);
}

#[test]
fn random_calls_with_signed_keys_are_answered_as_the_originals_do() {
    assert!(HalfOpen::<i64>::run(24..30) > 100);
    assert!(Inclusive::<i64>::run(24..30) > 100);
    assert!(Inclusive::<i32>::run(30..36) > 100);
    assert!(HalfOpen::<i16>::run(30..36) > 100);
    assert!(HalfOpen::<isize>::run(30..36) > 100);
    assert!(HalfOpen::<i8>::run(36..42) > 10);
    assert!(Inclusive::<i8>::run(36..42) > 10);
}

/// The original inclusive map does not take addresses.
#[test]
fn random_calls_with_addresses_are_answered_as_the_originals_do() {
    assert!(HalfOpen::<Iova>::run(42..45) > 100);
    assert!(HalfOpen::<VirtAddr>::run(45..48) > 100);
    assert!(HalfOpen::<PhysAddr>::run(48..51) > 100);
    assert!(HalfOpen::<Pfn>::run(51..54) > 100);
}

/// All changes of the five keys above `first`.
fn changes<R: Span>(first: R::Key) -> Vec<Change<R>> {
    let key = |number| first.checked_add(number).expect("five keys are left");
    let ends = (0..5).flat_map(|start| (start..5).map(move |end| (key(start), key(end))));
    let ranges = ends.map(|(start, end)| R::new(start, end));
    let ranges = ranges.filter(|range| range.extent().is_some());
    let values = [None, Some(0), Some(1)];
    ranges
        .flat_map(|range| values.map(|value| (range.clone(), value)))
        .collect()
}

/// Every sequence of three changes; returns their number.
fn all_small<R: Span, O: Map<R>, T: Map<R>>(first: R::Key) -> usize {
    let changes = changes::<R>(first);
    let question = R::new(first, first.checked_add(4).expect("five keys are left"));
    let mut sequences = 0;
    for one in &changes {
        let mut first = Both::<O, T>::default();
        first.change(one.clone());
        for two in &changes {
            let mut second = first.clone();
            second.change(two.clone());
            for three in &changes {
                let mut third = second.clone();
                third.change(three.clone());
                third.agree(&question);
                third.agree(&three.0);
                sequences += 1;
            }
        }
    }
    sequences
}

/// At the first keys and at the last ones.
#[test]
fn every_sequence_of_three_changes_is_answered_as_the_originals_do() {
    let half_open = all_small::<Range<u8>, RangeMap<u8, u8>, rangemap::RangeMap<u8, u8>>;
    assert_eq!(half_open(0), 27_000);
    assert_eq!(half_open(u8::MAX - 4), 27_000);
    let inclusive = all_small::<
        RangeInclusive<i8>,
        RangeInclusiveMap<i8, u8>,
        rangemap::RangeInclusiveMap<i8, u8>,
    >;
    assert_eq!(inclusive(i8::MIN), 91_125);
    assert_eq!(inclusive(i8::MAX - 4), 91_125);
}
