//! A region of memory: its table in front, and then its grains.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;

use super::super::Misuse;
use super::table::{LEAF, Summary, Table, WORD, summaries};

/// Bytes of a grain: two words of the processor. Sizes are rounded up to it.
pub(super) const GRAIN: usize = 2 * size_of::<usize>();

/// The most grains of a region: their number fits in a summary.
const GRAINS_MAX: usize = 1 << 31;

/// The alignment of a region's first byte, at least that of all parts of its table.
const ALIGN: usize = if GRAIN > 8 { GRAIN } else { 8 };

/// Memory without values.
type Memory<'a> = &'a mut [MaybeUninit<u8>];

/// A region, which lies at its own begin.
pub(super) struct Region<'a> {
    pub(super) table: Table<'a>,
    /// The first grain.
    base: NonNull<u8>,
    /// The region that was added after it.
    pub(super) next: Option<&'a mut Self>,
}

/// The words of a table of so many grains.
const fn words(grains: usize) -> usize {
    grains.div_ceil(WORD * LEAF) * LEAF
}

/// The bytes in front of so many grains.
const fn overhead(grains: usize) -> usize {
    let words = words(grains);
    let table = 2 * size_of::<u64>() * words + size_of::<Summary>() * summaries(words);
    (size_of::<Region<'_>>() + table).next_multiple_of(ALIGN)
}

/// The length of a region that can hold a block of a layout, wherever it begins.
pub(super) const fn bytes_for(layout: Layout) -> Option<usize> {
    let grains = grains(layout.size());
    let aligned = grains.saturating_add(layout.align() / GRAIN);
    if aligned > GRAINS_MAX {
        return None;
    }
    // With pointers of 32 bits this may be more than a slice can have.
    let Some(bytes) = aligned.checked_mul(GRAIN) else {
        return None;
    };
    match bytes.checked_add(overhead(aligned) + ALIGN - 1) {
        Some(bytes) if bytes <= isize::MAX as usize => Some(bytes),
        _ => None,
    }
}

/// The grains of a block of so many bytes.
pub(super) const fn grains(size: usize) -> usize {
    if size == 0 { 1 } else { size.div_ceil(GRAIN) }
}

/// Cuts `len` values off the begin of memory that is aligned for them and has room.
fn carve<'a, T>(memory: &mut Memory<'a>, len: usize, value: impl Fn() -> T) -> &'a mut [T] {
    let bytes = len * size_of::<T>();
    let (here, rest) = core::mem::take(memory).split_at_mut(bytes);
    *memory = rest;
    let start = NonNull::from(here).cast::<T>();
    assert!(start.is_aligned(), "the parts of a region are aligned");
    for at in 0..len {
        // SAFETY: `bytes` is the length of `here`, so there is a place of this number.
        let place = unsafe { start.add(at) };
        // SAFETY: it is aligned, and `here` is borrowed for writing.
        unsafe { place.write(value()) };
    }
    // SAFETY: all values have been written, in memory that is borrowed for 'a and not used again.
    unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) }
}

impl<'a> Region<'a> {
    /// Makes a region of free grains. `Err` with the memory if it is too short.
    pub(super) fn new(memory: Memory<'a>) -> Result<&'a mut Self, Memory<'a>> {
        let lead = memory.as_ptr().align_offset(ALIGN);
        let len = memory.len().saturating_sub(lead);
        // The table of more grains than there can be leaves room for nearly all that there can be.
        let most = (len / GRAIN).min(GRAINS_MAX);
        let mut grains = len.saturating_sub(overhead(most)).min(most * GRAIN) / GRAIN;
        while grains < most && overhead(grains + 1) + (grains + 1) * GRAIN <= len {
            grains += 1;
        }
        if grains == 0 {
            return Err(memory);
        }
        let (head, base) = memory[lead..].split_at_mut(overhead(grains));
        let (mut head, words) = (head, words(grains));
        let free = carve(&mut head, words, || 0);
        let starts = carve(&mut head, words, || 0);
        let place = carve(&mut head, 1, MaybeUninit::uninit);
        let summaries = carve(&mut head, summaries(words), Summary::default);
        let region = place[0].write(Self {
            table: Table {
                free,
                starts,
                summaries,
                grains,
            },
            base: NonNull::from(base).cast(),
            next: None,
        });
        region.table.clear();
        Ok(region)
    }

    /// The address of a grain.
    pub(super) fn address(&self, grain: usize) -> usize {
        self.base.addr().get() + grain * GRAIN
    }

    /// The grain at an address; `None` if the address is not of this region.
    pub(super) fn grain(&self, address: usize) -> Option<usize> {
        let grain = address.checked_sub(self.address(0))? / GRAIN;
        (grain < self.table.grains).then_some(grain)
    }

    /// The block that begins at a grain.
    fn block(&self, grain: usize) -> NonNull<u8> {
        // SAFETY: a grain of the table is within the region.
        unsafe { self.base.add(grain * GRAIN) }
    }

    /// The lowest place for a block: a grain, and the number of grains.
    fn place(&self, layout: Layout) -> Option<(usize, usize)> {
        let len = grains(layout.size());
        let mut from = 0;
        loop {
            let at = self.table.first(len, from)?;
            let address = self.address(at);
            let aligned = address.checked_next_multiple_of(layout.align())?;
            if aligned == address {
                return Some((at, len));
            }
            // No place in front of it is aligned.
            from = at + (aligned - address) / GRAIN;
        }
    }

    pub(super) fn allocate(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let (at, len) = self.place(layout)?;
        self.table.take(at, len);
        Some(self.block(at))
    }

    /// The grains of the block that begins at an address of this region: the first, and how many.
    pub(super) fn find(&self, address: usize) -> Option<Result<(usize, usize), Misuse>> {
        let at = self.grain(address)?;
        Some(if address != self.address(at) {
            Err(Misuse::NotABlock)
        } else if self.table.is_start(at) {
            Ok((at, self.table.end(at) - at))
        } else if self.table.is_free(at) {
            Err(Misuse::DoubleFree)
        } else {
            Err(Misuse::NotABlock)
        })
    }

    /// Resizes a block to a layout within this region. `None` if there is no room; then nothing has
    /// changed.
    pub(super) fn resize(
        &mut self,
        (at, len): (usize, usize),
        layout: Layout,
    ) -> Option<NonNull<u8>> {
        let new = grains(layout.size());
        let is_aligned = self.address(at).is_multiple_of(layout.align());
        if is_aligned && new <= len {
            self.table.change(at + new, len - new, true);
            return Some(self.block(at));
        }
        if is_aligned && self.table.are_free(at + len, new - len) {
            self.table.change(at + len, new - len, false);
            return Some(self.block(at));
        }
        // Its own grains count as free: the old block and the new one may overlap.
        self.table.give(at, len);
        let Some((to, _)) = self.place(layout) else {
            self.table.take(at, len);
            return None;
        };
        let (old, block) = (self.block(at), self.block(to));
        // SAFETY: both are within the region for so many grains, and nobody else uses them.
        unsafe { block.copy_from(old, len.min(new) * GRAIN) };
        self.table.take(to, new);
        Some(block)
    }
}
