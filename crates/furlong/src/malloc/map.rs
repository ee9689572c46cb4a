//! From any address to the record of its unit, in two steps and without a branch.

use core::ptr;

use super::{
    arena::{ARENA, Arena, UNITS, Words},
    field::Fixed,
    source::PageSource,
    span::{Span, base_of, unit_of},
};

// As the documents of Malloc say.
const _: () = assert!(size_of::<Map>() == 3 << 20 && size_of::<Words>() == 64 << 10);
const _: () = assert!(size_of::<Region>() == (1 << 20) + (32 << 10));

const REGION_SHIFT: u32 = 30;
/// Units of a region.
const REGION_UNITS: usize = 1 << 14;
const REGION_ARENAS: usize = REGION_UNITS / UNITS;
/// 48 bits of address.
const ROOTS: usize = 1 << 18;

/// The records of 1 GiB of address space.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Region {
    spans: [Span; REGION_UNITS],
    arenas: [Arena; REGION_ARENAS],
}

/// The root. All zeros at the beginning, so that it costs no memory where it is not used: a root
/// holds the distance from the records of nothing to those of its region.
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

    /// The record of the unit at any address; what is above its 48 bits does not count.
    #[inline(always)]
    pub(crate) fn span_at(&'static self, address: usize) -> &'static Span {
        let nothing = (&raw const self.nothing).expose_provenance();
        let root = self.roots[(address >> REGION_SHIFT) & (ROOTS - 1)].get();
        let offset = (address >> 10) & ((REGION_UNITS - 1) << 6);
        let spans = nothing.wrapping_add(root);
        let span = ptr::with_exposed_provenance::<Span>(spans.wrapping_add(offset));
        // SAFETY: a root is 0 or leads to a region, whose provenance was exposed and which is
        // never unmapped; the offset is inside its spans.
        unsafe { &*span }
    }

    /// The record of a unit by its number.
    #[inline]
    pub(crate) fn span(&'static self, unit: u32) -> &'static Span {
        self.span_at(base_of(unit))
    }

    /// The region that has an address, if there is one.
    fn region(&'static self, address: usize) -> Option<&'static Region> {
        let root = self.roots[(address >> REGION_SHIFT) & (ROOTS - 1)].get();
        let start = (&raw const self.nothing).expose_provenance();
        let region = ptr::with_exposed_provenance::<Region>(start.wrapping_add(root));
        // SAFETY: as above.
        (root != 0).then(|| unsafe { &*region })
    }

    /// The arena of a unit that has one.
    pub(crate) fn arena(&'static self, unit: u32) -> Option<&'static Arena> {
        let region = self.region(base_of(unit))?;
        Some(&region.arenas[unit as usize / UNITS % REGION_ARENAS])
    }

    /// The words of a span's blocks.
    #[inline]
    pub(crate) fn words(&'static self, span: &'static Span) -> Option<&'static Words> {
        self.arena(span.unit.get())?.words.get()
    }

    /// Sees to it that there are records for an address. The caller holds the pool's latch.
    ///
    /// Nothing where the system has no memory for them, or the address has more than 48 bits.
    pub(crate) fn prepare(&'static self, address: usize, source: &impl PageSource) -> Option<()> {
        if base_of(unit_of(address)) != address & !0xffff {
            return None;
        }
        if self.region(address).is_some() {
            return Some(());
        }
        let page = source.page_size();
        let len = size_of::<Region>().next_multiple_of(page);
        let region = source.map(len, page.max(align_of::<Region>()))?;
        let start = (&raw const self.nothing).expose_provenance();
        let root = region.as_ptr().expose_provenance().wrapping_sub(start);
        self.roots[(address >> REGION_SHIFT) & (ROOTS - 1)].set(root);
        Some(())
    }

    /// Maps an arena, its words, and what records it needs. The caller holds the pool's latch.
    pub(crate) fn new_arena(&'static self, source: &impl PageSource) -> Option<&'static Arena> {
        let page = source.page_size();
        let words_len = size_of::<Words>().next_multiple_of(page);
        let words = source.map(words_len, page)?;
        let mapped = source.map(ARENA, ARENA);
        let base = mapped.map(|start| start.as_ptr().expose_provenance());
        if let Some(arena) = base.and_then(|base| {
            self.prepare(base, source)?;
            self.arena(unit_of(base))
        }) {
            arena.base.set(base.unwrap_or_default());
            arena.free.set(u64::MAX);
            // SAFETY: zeroed memory is a value of Words; it is aligned and never unmapped.
            arena
                .words
                .set(Some(unsafe { words.cast::<Words>().as_ref() }));
            return Some(arena);
        }
        // SAFETY: just mapped, and nobody knows of it.
        unsafe { source.unmap(words, words_len) };
        if let Some(start) = mapped {
            // SAFETY: as above.
            unsafe { source.unmap(start, ARENA) };
        }
        None
    }
}
