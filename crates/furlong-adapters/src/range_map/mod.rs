//! The maps and sets of the crate `rangemap`, over the maple tree.
//!
//! ```
//! use furlong_adapters::range_map::RangeMap;
//!
//! let mut people = RangeMap::new();
//! people.insert(10..20, "Alice");
//! people.insert(20..30, "Alice");
//! people.insert(25..40, "Bob");
//! assert_eq!(people.get_key_value(&24), Some((&(10..25), &"Alice")));
//! assert_eq!(people.gaps(&(0..50)).collect::<Vec<_>>(), [0..10, 40..50]);
//! ```
//!
//! All names of `rangemap` 1.8 are here, with the same signatures and results, but for:
//!
//! # Differences
//! - Keys are the integers of up to 64 bits, `usize`, `isize` and the addresses of
//!   [`furlong::addr`]. Keys of 128 bits, floats and types of your own do not compile.
//! - Those keys have successors, so there is no parameter `StepFnsT`, and [`StepLite`] is
//!   implemented for all of them. In generic code a bound `K: Ord + Clone` becomes `K: Address`;
//!   the bound `StepLite` is enough as it is.
//! - `new` is `const` without a feature. The feature `serde` stands for `serde1`; an empty range in
//!   its input is an error and no panic. There is no feature `quickcheck` and no `ordered-float5`.
//! - References to a map can be iterated.
//! - Ranges and values are in a slab, beside a tree of the ranges alone. Look-ups of many keys are
//!   faster, and so are changes of large maps. Slower are changes of maps of a few ranges,
//!   iteration, `overlapping`, and a look-up whose value gives the next key. To walk whole maps,
//!   use [`Maple`](furlong::maple::Maple) itself.
//!
//! # Files
//! - `span.rs`: the two kinds of ranges
//! - `span_map.rs`, `span_set.rs`: the map and the set, for both kinds
//! - `iter.rs`: iterators; `operations.rs`: union and intersection
//! - `serialise.rs`: the feature `serde`; `macros.rs`: literals
#![forbid(unsafe_code)]

use core::ops::{Range, RangeInclusive};

mod iter;
mod macros;
mod operations;
#[cfg(feature = "serde")]
mod serialise;
mod span;
mod span_map;
mod span_set;

pub use iter::Ranges;
pub use span::{Span, StepLite};
pub use span_map::SpanMap;
pub use span_set::SpanSet;

#[doc(inline)]
pub use crate::{
    __range_inclusive_map as range_inclusive_map, __range_inclusive_set as range_inclusive_set,
    __range_map as range_map, __range_set as range_set,
};

/// A map from half-open ranges to values. Its last possible key is the one below `K::MAX`.
pub type RangeMap<K, V> = SpanMap<Range<K>, V>;
/// A map from inclusive ranges to values, for all keys.
pub type RangeInclusiveMap<K, V> = SpanMap<RangeInclusive<K>, V>;
/// A set of half-open ranges. Its last possible key is the one below `K::MAX`.
pub type RangeSet<K> = SpanSet<Range<K>>;
/// A set of inclusive ranges, for all keys.
pub type RangeInclusiveSet<K> = SpanSet<RangeInclusive<K>>;

/// Iterators of [`RangeMap`].
pub mod map {
    use core::ops::Range;

    pub use super::RangeMap;
    use super::iter;

    /// See [`RangeMap::iter`].
    pub type Iter<'a, K, V> = iter::Iter<'a, Range<K>, V>;
    /// The ranges and values, taken out of their map.
    pub type IntoIter<K, V> = iter::IntoIter<Range<K>, V>;
    /// See [`RangeMap::gaps`].
    pub type Gaps<'a, K, V> = iter::Gaps<'a, Range<K>, V>;
    /// See [`RangeMap::overlapping`].
    pub type Overlapping<'a, K, V, Q = &'a Range<K>> = iter::Overlapping<'a, Range<K>, V, Q>;
}

/// Iterators of [`RangeInclusiveMap`].
pub mod inclusive_map {
    use core::ops::RangeInclusive;

    pub use super::RangeInclusiveMap;
    use super::iter;

    /// See [`RangeInclusiveMap::iter`].
    pub type Iter<'a, K, V> = iter::Iter<'a, RangeInclusive<K>, V>;
    /// The ranges and values, taken out of their map.
    pub type IntoIter<K, V> = iter::IntoIter<RangeInclusive<K>, V>;
    /// See [`RangeInclusiveMap::gaps`].
    pub type Gaps<'a, K, V> = iter::Gaps<'a, RangeInclusive<K>, V>;
    /// See [`RangeInclusiveMap::overlapping`].
    pub type Overlapping<'a, K, V, Q = &'a RangeInclusive<K>> =
        iter::Overlapping<'a, RangeInclusive<K>, V, Q>;
}

/// Iterators of [`RangeSet`].
pub mod set {
    use core::ops::Range;

    pub use super::RangeSet;
    use super::{Ranges, map, operations};

    /// See [`RangeSet::iter`].
    pub type Iter<'a, K> = Ranges<map::Iter<'a, K, ()>>;
    /// The ranges, taken out of their set.
    pub type IntoIter<K> = Ranges<map::IntoIter<K, ()>>;
    /// See [`RangeSet::gaps`].
    pub type Gaps<'a, K> = map::Gaps<'a, K, ()>;
    /// See [`RangeSet::overlapping`].
    pub type Overlapping<'a, K, Q = &'a Range<K>> = Ranges<map::Overlapping<'a, K, (), Q>>;
    /// See [`RangeSet::union`].
    pub type Union<'a, K> = operations::Union<'a, Range<K>>;
    /// See [`RangeSet::intersection`].
    pub type Intersection<'a, K> = operations::Intersection<'a, Range<K>>;
}

/// Iterators of [`RangeInclusiveSet`].
pub mod inclusive_set {
    use core::ops::RangeInclusive;

    pub use super::RangeInclusiveSet;
    use super::{Ranges, inclusive_map, operations};

    /// See [`RangeInclusiveSet::iter`].
    pub type Iter<'a, K> = Ranges<inclusive_map::Iter<'a, K, ()>>;
    /// The ranges, taken out of their set.
    pub type IntoIter<K> = Ranges<inclusive_map::IntoIter<K, ()>>;
    /// See [`RangeInclusiveSet::gaps`].
    pub type Gaps<'a, K> = inclusive_map::Gaps<'a, K, ()>;
    /// See [`RangeInclusiveSet::overlapping`].
    pub type Overlapping<'a, K, Q = &'a RangeInclusive<K>> =
        Ranges<inclusive_map::Overlapping<'a, K, (), Q>>;
    /// See [`RangeInclusiveSet::union`].
    pub type Union<'a, K> = operations::Union<'a, RangeInclusive<K>>;
    /// See [`RangeInclusiveSet::intersection`].
    pub type Intersection<'a, K> = operations::Intersection<'a, RangeInclusive<K>>;
}
