//! The standard library's `BTreeMap` from first to last addresses, as Rust kernels use it for their
//! areas.

use std::collections::BTreeMap;

use furlong_experiments::vmspace_index::{AreaIndex, Span};

/// Areas by their first address: last address and number.
#[derive(Clone, Default)]
pub struct ByStart(BTreeMap<u64, (u64, u32)>);

impl AreaIndex for ByStart {
    fn new() -> Self {
        Self::default()
    }

    #[inline]
    fn store(&mut self, span: Span, value: u32) {
        self.0.insert(span.first, (span.last, value));
    }

    #[inline]
    fn erase(&mut self, span: Span) -> Option<u32> {
        self.0.remove(&span.first).map(|(_, value)| value)
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        let (_, (last, value)) = self.0.range(..=address).next_back()?;
        (address <= *last).then_some(*value)
    }

    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, (first, (last, value))| {
            let span = Span {
                first: *first,
                last: *last,
            };
            sum.wrapping_add(span.mixed(*value))
        })
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let kept = self.0.iter().filter(|(_, (_, value))| keeps(*value));
        Self(kept.map(|(first, area)| (*first, *area)).collect())
    }

    /// Walks the areas of the window until a gap is large enough.
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let before = self.0.range(..window.first).next_back();
        let mut free = before.map_or(window.first, |(_, (last, _))| window.first.max(last + 1));
        for (first, (last, _)) in self.0.range(window.first..=window.last) {
            if first - free >= len {
                return Some(free);
            }
            free = last + 1;
        }
        (free <= window.last && window.last - free >= len - 1).then_some(free)
    }

    /// As `lowest`, from the end of the window downwards.
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        let mut end = window.last + 1;
        for (first, (last, _)) in self.0.range(..=window.last).rev() {
            let free = window.first.max(last + 1);
            if end >= free && end - free >= len {
                return Some(end - len);
            }
            if *first <= window.first {
                return None;
            }
            end = *first;
        }
        (end - window.first >= len).then(|| end - len)
    }
}
