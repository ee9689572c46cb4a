//! The two kinds of ranges, over keys that have a successor.

use core::fmt::Debug;
use core::ops::{Range, RangeInclusive};

use furlong::addr::{Address, Extent};

mod sealed {
    pub trait Sealed {}
}

/// A range of keys: [`Range`] or [`RangeInclusive`].
pub trait Span: sealed::Sealed + Clone + Eq + Debug {
    /// An integer of up to 64 bits, or an address.
    type Key: Address;

    /// The range between two ends.
    fn new(start: Self::Key, end: Self::Key) -> Self;

    /// Its ends; the second one is in the range only if that is inclusive.
    fn ends(&self) -> (Self::Key, Self::Key);

    /// The range of these keys. A half-open one cannot contain the last key.
    fn of(at: Extent<Self::Key>) -> Self;

    /// The last key; `None` if the end is below all keys.
    fn last(&self) -> Option<Self::Key>;

    /// The keys; `None` if there are none.
    fn extent(&self) -> Option<Extent<Self::Key>> {
        Extent::from_last(self.ends().0, self.last()?)
    }
}

impl<K> sealed::Sealed for Range<K> {}

impl<K: Address> Span for Range<K> {
    type Key = K;

    #[inline]
    fn new(start: K, end: K) -> Self {
        start..end
    }

    #[inline]
    fn ends(&self) -> (K, K) {
        (self.start, self.end)
    }

    #[inline]
    fn of(at: Extent<K>) -> Self {
        at.start()..at.end().expect("no half-open range has the last key")
    }

    #[inline]
    fn last(&self) -> Option<K> {
        self.end.checked_sub(1)
    }
}

impl<K> sealed::Sealed for RangeInclusive<K> {}

impl<K: Address> Span for RangeInclusive<K> {
    type Key = K;

    #[inline]
    fn new(start: K, end: K) -> Self {
        start..=end
    }

    #[inline]
    fn ends(&self) -> (K, K) {
        (*self.start(), *self.end())
    }

    #[inline]
    fn of(at: Extent<K>) -> Self {
        at.start()..=at.last()
    }

    #[inline]
    fn last(&self) -> Option<K> {
        Some(*self.end())
    }
}

/// Keys with a successor, which all keys of these maps have.
pub trait StepLite: Address {
    /// The next key.
    ///
    /// # Panics
    /// If this is the last one.
    #[must_use]
    fn add_one(&self) -> Self {
        self.checked_add(1).expect("a key above is left")
    }

    /// The key before.
    ///
    /// # Panics
    /// If this is the first one.
    #[must_use]
    fn sub_one(&self) -> Self {
        self.checked_sub(1).expect("a key below is left")
    }
}

impl<K: Address> StepLite for K {}
