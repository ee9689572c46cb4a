//! Maps and sets as literals.
//!
//! An exported macro is at the root of its crate. So it has a hidden name there, and its own one in
//! the module.

/// Makes a [`RangeMap`](crate::range_map::RangeMap).
///
/// ```
/// let people = furlong_adapters::range_map::range_map! { 0..10 => "Alice", 20..30 => "Bob" };
/// assert_eq!(people.get(&5), Some(&"Alice"));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __range_map {
    ($($range:expr => $value:expr),* $(,)?) => {
        $crate::range_map::RangeMap::from([$(($range, $value)),*])
    };
}

/// Makes a [`RangeInclusiveMap`](crate::range_map::RangeInclusiveMap).
///
/// ```
/// use furlong_adapters::range_map::range_inclusive_map;
///
/// let people = range_inclusive_map! { 0..=9 => "Alice", 20..=u8::MAX => "Bob" };
/// assert_eq!(people.get(&255), Some(&"Bob"));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __range_inclusive_map {
    ($($range:expr => $value:expr),* $(,)?) => {
        $crate::range_map::RangeInclusiveMap::from([$(($range, $value)),*])
    };
}

/// Makes a [`RangeSet`](crate::range_map::RangeSet).
///
/// ```
/// let taken = furlong_adapters::range_map::range_set![0..10, 10..20];
/// assert_eq!(taken.first(), Some(&(0..20)));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __range_set {
    ($($range:expr),* $(,)?) => {
        $crate::range_map::RangeSet::from([$($range),*])
    };
}

/// Makes a [`RangeInclusiveSet`](crate::range_map::RangeInclusiveSet).
///
/// ```
/// let taken = furlong_adapters::range_map::range_inclusive_set![0..=9, 10..=u8::MAX];
/// assert_eq!(taken.first(), Some(&(0..=255)));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __range_inclusive_set {
    ($($range:expr),* $(,)?) => {
        $crate::range_map::RangeInclusiveSet::from([$($range),*])
    };
}
