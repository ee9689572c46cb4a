//! Lookup from any address to the record of its unit, in two steps and without a branch.
#![expect(unsafe_code, reason = "a record is reached by its address")]

use core::ptr;

use crate::malloc::{Arena, Fixed, Span, UNIT, UNITS, Use, unit_of};

use super::arena::Words;
use super::span::base_of;

// As the docs of Malloc say.
const _: () = assert!(size_of::<Map>() == 3 << 20 && size_of::<Words>() == 64 << 10);
const _: () = assert!(size_of::<Region>() == (1 << 20) + (32 << 10));

const REGION_SHIFT: u32 = 30;
/// Units of a region.
const REGION_UNITS: usize = 1 << 14;
const REGION_ARENAS: usize = REGION_UNITS / UNITS;
/// One root for each GiB of 48 bits of address.
const ROOTS: usize = 1 << 18;

/// The records of 1 GiB of address space.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Region {
    spans: [Span; REGION_UNITS],
    arenas: [Arena; REGION_ARENAS],
}

/// The root table. It begins as all zeros, so that unused parts cost no memory. A root holds the
/// distance from `nothing` to the records of its region; 0 leads to `nothing`.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Map {
    nothing: [Span; REGION_UNITS],
    roots: [Fixed<usize>; ROOTS],
}

impl Map {
    pub(crate) const fn new() -> Self {
        Self {
            nothing: [const { Span::none() }; REGION_UNITS],
            roots: [const { Fixed::new(0) }; ROOTS],
        }
    }

    /// The record of the unit at any address; bits above the lower 48 are ignored.
    #[inline(always)]
    pub(crate) fn span_at(&'static self, address: usize) -> &'static Span {
        let nothing = (&raw const self.nothing).expose_provenance();
        let root = self.roots[(address >> REGION_SHIFT) & (ROOTS - 1)].get();
        let offset = (address >> 10) & ((REGION_UNITS - 1) << 6);
        let spans = nothing.wrapping_add(root);
        let span = ptr::with_exposed_provenance::<Span>(spans.wrapping_add(offset));
        // SAFETY: a root is 0 or leads to a region, whose provenance was exposed and which is never
        // unmapped; the offset is inside its spans.
        unsafe { &*span }
    }

    /// The record of a unit by its number.
    #[inline]
    pub(crate) fn span(&'static self, unit: u32) -> &'static Span {
        self.span_at(base_of(unit))
    }

    /// True if an address is in one of this allocator's arenas.
    #[inline(always)]
    pub(crate) fn is_in_arena(&'static self, address: usize) -> bool {
        self.arena(unit_of(address))
            .is_some_and(|arena| arena.base.get() != 0)
    }

    /// The region of an address, if there is one.
    fn region(&'static self, address: usize) -> Option<&'static Region> {
        let root = self.roots[(address >> REGION_SHIFT) & (ROOTS - 1)].get();
        let start = (&raw const self.nothing).expose_provenance();
        let region = ptr::with_exposed_provenance::<Region>(start.wrapping_add(root));
        // SAFETY: as above.
        (root != 0).then(|| unsafe { &*region })
    }

    /// The arena record for a unit, if its region has records.
    pub(crate) fn arena(&'static self, unit: u32) -> Option<&'static Arena> {
        let region = self.region(base_of(unit))?;
        Some(&region.arenas[unit as usize / UNITS % REGION_ARENAS])
    }

    /// The words of a span's blocks.
    #[inline]
    pub(crate) fn words(&'static self, span: &'static Span) -> Option<&'static Words> {
        self.arena(span.unit.get())?.words.get()
    }

    /// True if there are records for an address. Under the pool's latch.
    pub(crate) fn has_records(&'static self, address: usize) -> bool {
        self.region(address).is_some()
    }

    /// True if an address is 48 bits, sign-extended.
    pub(crate) fn is_covered(address: usize) -> bool {
        base_of(unit_of(address)) == address & !0xffff
    }

    /// The size of the records of 1 GiB in bytes, and their alignment.
    pub(crate) fn records(page: usize) -> (usize, usize) {
        let len = size_of::<Region>().next_multiple_of(page);
        (len, page.max(align_of::<Region>()))
    }

    /// Installs the records at `region`, which was mapped for them, for an address. `false` if
    /// there are others already. Under the pool's latch.
    pub(crate) fn add_records(&'static self, address: usize, region: usize) -> bool {
        let is_first = !self.has_records(address);
        if is_first {
            let start = (&raw const self.nothing).expose_provenance();
            let root = &self.roots[(address >> REGION_SHIFT) & (ROOTS - 1)];
            root.set(region.wrapping_sub(start));
        }
        is_first
    }

    /// The words of an arena, mapped at an address.
    pub(crate) fn words_at(start: usize) -> &'static Words {
        let words = ptr::with_exposed_provenance::<Words>(start);
        // SAFETY: zeroed memory is a valid Words; it is aligned, and unmapped only with its arena,
        // when no block of that is in use or kept by a heap, so nobody accesses its words.
        unsafe { &*words }
    }

    /// The record of the first unit of the span or object at an address.
    pub(crate) fn first_unit(&'static self, address: usize) -> &'static Span {
        self.first_of(self.span_at(address))
    }

    /// As [`first_unit`](Self::first_unit), from the record of any of its units.
    #[inline]
    pub(crate) fn first_of(&'static self, span: &'static Span) -> &'static Span {
        if !span.is(Use::Rest) {
            return span;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "later units have 32 bits there"
        )]
        self.span(span.summary.get() as u32)
    }

    /// Makes the records of the later units lead to the first.
    pub(crate) fn mark_rest(&'static self, base: usize, units: usize) {
        for unit in 1..units {
            let rest = self.span_at(base + unit * UNIT);
            rest.unit.set(unit_of(base + unit * UNIT));
            rest.summary.set(u64::from(unit_of(base)));
            rest.use_for(Use::Rest);
        }
    }
}
