//! The arm `maple-mut`: a B-tree of ranges with one owner, changed in place.

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::check::Check;
use furlong::maple::{Config, Maple};
use furlong_spec::maple::Metered;

use crate::vmspace_index::index::{AreaIndex, Span};
use crate::vmspace_index::work::{Counted, Work};
use furlong_lab::model::Failure;

/// A B-tree of ranges.
pub(in crate::vmspace_index) struct Owned<C: Config>(Maple<VirtAddr, u32, C>);

/// Panic message: memory never runs out here.
pub(in crate::vmspace_index) const MEMORY: &str = "there is memory";

pub(in crate::vmspace_index) fn extent(span: Span) -> Extent<VirtAddr> {
    let [first, last] = [span.first, span.last].map(VirtAddr::new);
    Extent::from_last(first, last).expect("a span is in order")
}

pub(in crate::vmspace_index) fn mixed(sum: u64, (at, value): (Extent<VirtAddr>, u32)) -> u64 {
    let (first, last) = (at.start().raw(), at.last().raw());
    sum.wrapping_add(Span { first, last }.mixed(value))
}

pub(in crate::vmspace_index) fn start(gap: Extent<VirtAddr>) -> u64 {
    gap.start().raw()
}

impl<C: Config<Counters: Counted>> AreaIndex for Owned<C> {
    fn new() -> Self {
        Self(Maple::with_config())
    }

    #[inline]
    fn store(&mut self, span: Span, value: u32) {
        drop(self.0.store(extent(span), value).expect(MEMORY));
    }

    #[inline]
    fn erase(&mut self, span: Span) -> Option<u32> {
        let erased = self.0.erase(VirtAddr::new(span.first));
        erased.expect(MEMORY).map(|(_, value)| value)
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        self.0.load(VirtAddr::new(address))
    }

    fn sum(&self) -> u64 {
        self.0.iter().fold(0, mixed)
    }

    fn duplicate(&self) -> Self {
        let copy = self.0.duplicate(|_, value| Ok::<_, ()>(value));
        Self(copy.expect(MEMORY))
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let kept = self.0.iter().filter(|(_, value)| keeps(*value));
        Self(Maple::from_sorted(kept).expect(MEMORY))
    }

    #[inline]
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        self.0.lowest_gap(len, extent(window)).map(start)
    }

    #[inline]
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        self.0.highest_gap(len, extent(window)).map(start)
    }

    fn work(&self) -> Work {
        self.0.counters().work()
    }

    /// Bytes of all trees on this thread; only one exists when this is called.
    fn bytes(&self) -> u64 {
        Metered::bytes()
    }

    fn check(&self) -> Result<(), Failure> {
        self.0.check().map_err(Failure::of)
    }
}
