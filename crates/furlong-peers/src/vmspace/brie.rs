//! brie-tree: a B+ tree of integer keys, searched with vector instructions if the target has them.
//!
//! Its cursor moves to the first key from a bound on, so an area's key is its last address: one
//! search then finds the area of an address.

use std::ops::Bound;

use brie_tree::BTree;
use brie_tree::nonmax::NonMaxU64;
use furlong_experiments::vmspace_index::{AreaIndex, Span};

/// Areas by their last address: first address and number.
#[derive(Clone)]
pub struct ByLast(BTree<NonMaxU64, (u64, u32)>);

fn key(address: u64) -> NonMaxU64 {
    NonMaxU64::new(address).expect("the last address of all is in no area")
}

impl AreaIndex for ByLast {
    fn new() -> Self {
        Self(BTree::new())
    }

    #[inline]
    fn store(&mut self, span: Span, value: u32) {
        self.0.insert(key(span.last), (span.first, value));
    }

    #[inline]
    fn erase(&mut self, span: Span) -> Option<u32> {
        self.0.remove(key(span.last)).map(|(_, value)| value)
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        let cursor = self.0.cursor_at(Bound::Included(key(address)));
        let (first, value) = cursor.value()?;
        (*first <= address).then_some(*value)
    }

    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, (last, (first, value))| {
            let (first, last) = (*first, last.get());
            sum.wrapping_add(Span { first, last }.mixed(*value))
        })
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let kept = self.0.iter().filter(|(_, (_, value))| keeps(*value));
        Self(kept.map(|(last, area)| (last, *area)).collect())
    }

    /// Walks the areas of the window until a gap is large enough.
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let mut free = window.first;
        let areas = self.0.iter_from(Bound::Included(key(window.first)));
        for (last, (first, _)) in areas {
            let end = (*first).min(window.last + 1);
            if end > free && end - free >= len {
                return Some(free);
            }
            free = last.get() + 1;
            if free > window.last {
                return None;
            }
        }
        (window.last + 1 - free >= len).then_some(free)
    }

    /// As `lowest`, from the end of the window downwards.
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        let mut end = window.last + 1;
        let mut cursor = self.0.cursor_at(Bound::Included(key(window.last)));
        if let Some((first, _)) = cursor.value() {
            end = end.min(*first);
        }
        loop {
            let below = cursor.prev().then(|| cursor.entry()).flatten();
            let free = below.map_or(0, |(last, _)| last.get() + 1);
            let free = free.max(window.first);
            if end >= free && end - free >= len {
                return Some(end - len);
            }
            let (_, (first, _)) = below?;
            if *first <= window.first {
                return None;
            }
            end = *first;
        }
    }
}
