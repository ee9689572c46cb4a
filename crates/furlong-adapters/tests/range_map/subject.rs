//! The calls under test, written once for our maps and sets and for the original ones.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Range, RangeInclusive};

use furlong::addr::Address;
use furlong_adapters::range_map::{self, Span};
use furlong_spec::Random;

/// The answers of a map about one range and its first key.
#[derive(Debug, PartialEq)]
pub(crate) struct Answers<R> {
    all: Vec<(R, u8)>,
    back: Vec<(R, u8)>,
    left: Vec<(usize, Option<usize>)>,
    pub(crate) len: (usize, bool),
    found: Option<(R, u8)>,
    got: (Option<u8>, bool),
    overlapping: Vec<(R, u8)>,
    overlapping_back: Vec<(R, u8)>,
    overlaps: (bool, bool),
    gaps: Vec<R>,
    ends: [Option<(R, u8)>; 2],
    hash: u64,
}

/// The answers of a set.
#[derive(Debug, PartialEq)]
pub(crate) struct SetAnswers<R> {
    all: Vec<R>,
    back: Vec<R>,
    pub(crate) len: (usize, bool),
    found: (Option<R>, bool),
    overlapping: Vec<R>,
    overlapping_back: Vec<R>,
    overlaps: bool,
    gaps: Vec<R>,
    ends: [Option<R>; 2],
    hash: u64,
}

/// A map of either crate.
pub(crate) trait Map<R: Span>:
    Clone + Debug + Default + Ord + Extend<(R, u8)> + FromIterator<(R, u8)> + From<[(R, u8); 2]>
{
    fn insert(&mut self, range: R, value: u8);
    fn remove(&mut self, range: R);
    fn clear(&mut self);
    fn answers(&self, about: &R) -> Answers<R>;
    /// Its ranges taken from both ends in turns, owned and borrowed.
    fn taken(self) -> [Vec<(R, u8)>; 2];
}

/// A set of either crate.
pub(crate) trait Set<R: Span>:
    Clone + Debug + Default + Ord + Extend<R> + FromIterator<R> + From<[R; 2]>
{
    fn insert(&mut self, range: R);
    fn remove(&mut self, range: R);
    fn clear(&mut self);
    fn answers(&self, about: &R) -> SetAnswers<R>;
    fn taken(self) -> [Vec<R>; 2];
    fn union(&self, other: &Self) -> (Vec<R>, Self);
    fn intersection(&self, other: &Self) -> (Vec<R>, Self);
}

/// The items of an iterator, taken from both ends in turns.
fn turns<T>(mut items: impl DoubleEndedIterator<Item = T>) -> Vec<T> {
    let mut taken = Vec::new();
    while let Some(item) = items.next() {
        taken.push(item);
        taken.extend(items.next_back());
    }
    assert!(items.next_back().is_none());
    taken
}

/// The hash of a map or a set.
fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

macro_rules! maps {
    ($($map:ty, $range:ty, $($bound:path),+;)*) => {$(
        impl<K: Address + Hash $(+ $bound)+> Map<$range> for $map {
            fn insert(&mut self, range: $range, value: u8) {
                <$map>::insert(self, range, value);
            }

            fn remove(&mut self, range: $range) {
                <$map>::remove(self, range);
            }

            fn clear(&mut self) {
                <$map>::clear(self);
            }

            fn answers(&self, about: &$range) -> Answers<$range> {
                let own = |(range, value): (&$range, &u8)| (range.clone(), *value);
                let key = &about.ends().0;
                let mut all = self.iter();
                Answers {
                    left: std::iter::from_fn(|| {
                        let left = all.size_hint();
                        all.next().map(|_| left)
                    })
                    .collect(),
                    all: self.iter().map(own).collect(),
                    back: self.iter().rev().map(own).collect(),
                    len: (self.len(), self.is_empty()),
                    found: self.get_key_value(key).map(own),
                    got: (self.get(key).copied(), self.contains_key(key)),
                    overlapping: self.overlapping(about).map(own).collect(),
                    overlapping_back: self.overlapping(about.clone()).rev().map(own).collect(),
                    overlaps: (
                        self.overlaps(about),
                        turns(self.overlapping(about)).len() == self.overlapping(about).count(),
                    ),
                    gaps: self.gaps(about).collect(),
                    ends: [self.first_range_value().map(own), self.last_range_value().map(own)],
                    hash: hashed(self),
                }
            }

            fn taken(self) -> [Vec<($range, u8)>; 2] {
                let own = |(range, value): (&$range, &u8)| (range.clone(), *value);
                let lent = turns(self.iter()).into_iter().map(own).collect();
                [lent, turns(self.into_iter())]
            }
        }
    )*};
}

maps! {
    range_map::RangeMap<K, u8>, Range<K>, Sized;
    rangemap::RangeMap<K, u8>, Range<K>, Sized;
    range_map::RangeInclusiveMap<K, u8>, RangeInclusive<K>, Sized;
    rangemap::RangeInclusiveMap<K, u8>, RangeInclusive<K>, rangemap::StepLite;
}

macro_rules! sets {
    ($($set:ty, $range:ty, $($bound:path),+;)*) => {$(
        impl<K: Address + Hash $(+ $bound)+> Set<$range> for $set {
            fn insert(&mut self, range: $range) {
                <$set>::insert(self, range);
            }

            fn remove(&mut self, range: $range) {
                <$set>::remove(self, range);
            }

            fn clear(&mut self) {
                <$set>::clear(self);
            }

            fn answers(&self, about: &$range) -> SetAnswers<$range> {
                let key = &about.ends().0;
                SetAnswers {
                    all: self.iter().cloned().collect(),
                    back: self.iter().rev().cloned().collect(),
                    len: (self.len(), self.is_empty()),
                    found: (self.get(key).cloned(), self.contains(key)),
                    overlapping: self.overlapping(about).cloned().collect(),
                    overlapping_back: self.overlapping(about.clone()).rev().cloned().collect(),
                    overlaps: self.overlaps(about),
                    gaps: self.gaps(about).collect(),
                    ends: [self.first().cloned(), self.last().cloned()],
                    hash: hashed(self),
                }
            }

            fn taken(self) -> [Vec<$range>; 2] {
                let lent = turns(self.iter()).into_iter().cloned().collect();
                [lent, turns(self.into_iter())]
            }

            fn union(&self, other: &Self) -> (Vec<$range>, Self) {
                (<$set>::union(self, other).collect(), self | other)
            }

            fn intersection(&self, other: &Self) -> (Vec<$range>, Self) {
                (<$set>::intersection(self, other).collect(), self & other)
            }
        }
    )*};
}

sets! {
    range_map::RangeSet<K>, Range<K>, Sized;
    rangemap::RangeSet<K>, Range<K>, Sized;
    range_map::RangeInclusiveSet<K>, RangeInclusive<K>, Sized;
    rangemap::RangeInclusiveSet<K>, RangeInclusive<K>, rangemap::StepLite;
}

/// Ranges near both ends and the middle of the keys, short and long, and possibly empty.
pub(crate) struct Draw {
    pub(crate) random: Random,
    /// The number of keys at each of the three places.
    pub(crate) keys: u64,
}

impl Draw {
    fn key<K: Address>(&mut self, place: u64) -> K {
        let last = K::LAST.raw();
        let keys = self.keys.min(last);
        let base = [0, (last - keys) / 2, last - keys][place as usize];
        K::from_raw(base + self.random.below(keys + 1))
    }

    /// Any two ends.
    pub(crate) fn question<R: Span>(&mut self) -> R {
        let places = [self.random.below(3), self.random.below(3)];
        let [one, other] = places.map(|place| self.key(place));
        R::new(one, other)
    }

    /// A range with keys, mostly a short one.
    pub(crate) fn range<R: Span>(&mut self) -> R {
        loop {
            let place = self.random.below(3);
            let one: R::Key = self.key(place);
            let other = match self.random.below(200) {
                0..4 => self.key(place),
                4 => self.key(2),
                _ => R::Key::from_raw(one.raw().saturating_add(self.random.below(9))),
            };
            let range = R::new(one.min(other), one.max(other));
            if range.extent().is_some() {
                return range;
            }
        }
    }
}
