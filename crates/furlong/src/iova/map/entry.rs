//! Items of a map's nodes, and their order.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use crate::iova::Ranged;
use crate::iova::space::spare::{Link, Spare};
use crate::rbtree::{Augment, Node, Side};

/// Orders entries by their last address and keeps no summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entries<V>(PhantomData<fn() -> V>);

/// An entry of a [`Map`](super::Map); a free one has no value.
#[derive(Clone, Copy, Debug)]
pub struct Entry<V> {
    /// First address; in a free entry, the index of the next free one.
    pub(super) start: u64,
    pub(super) last: u64,
    pub(super) value: Option<V>,
}

impl<V> Entry<V> {
    /// A free entry, for making [`MapNode`]s.
    #[must_use]
    pub const fn free() -> Self {
        Self {
            start: Spare::END,
            last: u64::MAX,
            value: None,
        }
    }
}

impl<V> Link for Entry<V> {
    fn link(next: u64) -> Self {
        Self {
            start: next,
            ..Self::free()
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
