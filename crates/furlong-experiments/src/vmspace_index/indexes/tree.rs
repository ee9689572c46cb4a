//! The arm `rbtree`: a tree of areas, augmented with the largest gap of each subtree.

use furlong::rbtree::Counters;
use furlong::vmspace::{Attr, Entry, Flags, Index, Pages, Prot, TreeIndex};

use crate::vmspace_index::index::{AreaIndex, Span};
use crate::vmspace_index::work::{Counted, Work};
use furlong_lab::model::Failure;

/// A tree of areas. Its unit is bytes instead of pages.
pub(in crate::vmspace_index) struct Tree<K: Counters>(TreeIndex<u32, K>);

/// Attributes of every area; they do not matter here.
const ATTR: Attr = Attr::new(Prot::READ, Prot::ALL, Flags::NONE);

const fn pages(span: Span) -> Pages {
    Pages {
        first: span.first,
        last: span.last,
    }
}

fn mixed(area: Entry<'_, u32>) -> u64 {
    let Pages { first, last } = area.pages;
    Span { first, last }.mixed(*area.value)
}

impl<K: Counters + Counted> Tree<K> {
    fn copy(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let mut copy = Self::new();
        let copied = copy.0.copy_from(&self.0, |area| {
            Ok::<_, ()>(Some(*area.value).filter(|value| keeps(*value)))
        });
        copied.expect("there is memory");
        copy
    }
}

impl<K: Counters + Counted> AreaIndex for Tree<K> {
    fn new() -> Self {
        Self(TreeIndex::default())
    }

    #[inline]
    fn store(&mut self, span: Span, value: u32) {
        let put = self.0.put(pages(span), ATTR, value);
        put.expect("there is memory");
    }

    #[inline]
    fn erase(&mut self, span: Span) -> Option<u32> {
        let mut value = None;
        let erased = self.0.erase(pages(span), |piece| value = piece.value);
        erased.expect("a whole area needs no memory to go");
        value
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        self.0.get(address).map(|area| *area.value)
    }

    fn sum(&self) -> u64 {
        let all = self.0.iter(Pages::ALL);
        all.fold(0, |sum, area| sum.wrapping_add(mixed(area)))
    }

    fn duplicate(&self) -> Self {
        self.copy(|_| true)
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        self.copy(keeps)
    }

    #[inline]
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        self.0.lowest(pages(window), len).map(|gap| gap.first)
    }

    #[inline]
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        let gap = self.0.highest(pages(window), len);
        gap.map(|gap| gap.last - (len - 1))
    }

    fn work(&self) -> Work {
        self.0.counters().work()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    fn check(&self) -> Result<(), Failure> {
        self.0.check().map_err(Failure::of)
    }
}
