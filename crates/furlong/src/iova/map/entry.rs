//! What the nodes of a map hold, and how they are ordered.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use crate::iova::Ranged;
use crate::rbtree::{Augment, Node, Side};

/// Orders entries by their last address and keeps no summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entries<V>(PhantomData<fn() -> V>);

/// An entry of a [`Map`](super::Map); one that is not in the map has no value.
#[derive(Clone, Copy, Debug)]
pub struct Entry<V> {
    /// First address; where the entry is free, the next free one.
    pub(super) start: u64,
    pub(super) last: u64,
    pub(super) value: Option<V>,
}

/// The end of the list of free entries.
pub(super) const END: u64 = u64::MAX;

impl<V> Entry<V> {
    /// An entry that is in no map, to make [`MapNode`]s of.
    #[must_use]
    pub const fn free() -> Self {
        Self::before(END)
    }

    /// A free entry, and the next one.
    pub(super) const fn before(next: u64) -> Self {
        Self {
            start: next,
            last: END,
            value: None,
        }
    }
}

impl<V> Ranged for Entry<V> {
    #[inline(always)]
    fn start(&self) -> u64 {
        self.start
    }

    #[inline(always)]
    fn last(&self) -> u64 {
        self.last
    }
}

impl<V> Augment for Entries<V> {
    type Item = Entry<V>;
    type Key = u64;
    type Half = ();
    type Summary = ();

    #[inline(always)]
    fn key(item: &Entry<V>) -> u64 {
        item.last
    }

    #[inline(always)]
    fn empty(_: &Entry<V>, _: Side) {}

    #[inline(always)]
    fn half(_: &Entry<V>, _: Side, (): &()) {}

    #[inline(always)]
    fn join(_: &Entry<V>, (): &(), (): &()) {}
}

/// The node of a [`Map`](super::Map), for arrays that the caller provides.
pub type MapNode<V> = Node<Entries<V>>;

#[cfg(test)]
mod tests {
    use super::MapNode;

    #[test]
    fn a_node_with_a_value_of_two_words_fills_one_cache_line() {
        assert_eq!(size_of::<MapNode<u64>>(), 64);
        assert_eq!(size_of::<MapNode<(u64, u32)>>(), 64);
        assert_eq!(size_of::<MapNode<(u64, u64)>>(), 64);
    }
}
