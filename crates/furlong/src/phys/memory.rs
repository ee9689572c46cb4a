//! Memory for what the table keeps: carved from ranges that were given to it, or from the heap.
//!
//! Large pieces come first-fit from a list of holes in address order, whose neighbours merge when
//! they come back; small ones from lists by size. Nothing here is shared with readers.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::error::NoMemory;

/// Large pieces are multiples of this, and start at multiples of it.
const GRAIN: usize = 64;
/// Small pieces have at most so many bytes.
const SMALL_MAX: usize = 264;
/// Small pieces come in sizes that differ by so many bytes, and are aligned to as many.
const STEP: usize = 8;
/// What is cut into small pieces at a time.
const CHUNK: usize = 1024;
/// The least that is asked of the heap at a time.
#[cfg(feature = "alloc")]
const HEAP_MIN: usize = 1 << 16;

/// A range that pieces are carved from. It is described at its own beginning.
struct Region {
    next: Option<NonNull<Region>>,
    /// Bytes, from this header on.
    len: usize,
    /// Bytes of pieces and chunks that are out.
    live: usize,
    /// Whether it goes back to the heap in the end.
    heap: Option<Layout>,
}

/// A stretch of a region that is free. It is described at its own beginning.
struct Hole {
    next: Option<NonNull<Hole>>,
    len: usize,
    region: NonNull<Region>,
}

/// A small piece that is free.
struct Link {
    next: Option<NonNull<Link>>,
}

/// The memory of one table.
pub(super) struct Memory {
    /// In address order.
    holes: Option<NonNull<Hole>>,
    small: [Option<NonNull<Link>>; SMALL_MAX / STEP + 1],
    regions: Option<NonNull<Region>>,
    /// Whether it may grow on the heap.
    on_heap: bool,
    /// Bytes that are out, as they were asked for and rounded.
    live: usize,
    /// Allocations until one fails, in tests.
    #[cfg(test)]
    pub(super) until_failure: Option<usize>,
}

// SAFETY: it owns all that it points to.
unsafe impl Send for Memory {}

const fn round_up(len: usize, to: usize) -> usize {
    len.next_multiple_of(to)
}

const fn is_small(layout: Layout) -> bool {
    layout.size() <= SMALL_MAX && layout.align() <= STEP
}

impl Memory {
    pub(super) const fn new() -> Self {
        Self {
            holes: None,
            small: [None; SMALL_MAX / STEP + 1],
            regions: None,
            on_heap: false,
            live: 0,
            #[cfg(test)]
            until_failure: None,
        }
    }

    /// Lets it grow on the heap.
    #[cfg(feature = "alloc")]
    pub(super) fn grow_on_heap(&mut self) {
        self.on_heap = true;
    }

    /// Bytes that are out.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// The bytes that a region must have beside those of its pieces.
    pub(super) const OVERHEAD: usize = 2 * GRAIN;

    /// What a piece takes.
    pub(super) const fn footprint(layout: Layout) -> usize {
        if is_small(layout) {
            round_up(layout.size(), STEP)
        } else {
            round_up(layout.size(), GRAIN)
        }
    }

    /// What `count` small pieces take, with the chunks that they are cut from.
    pub(super) const fn small_footprint(layout: Layout, count: usize) -> usize {
        count.div_ceil(CHUNK / round_up(layout.size(), STEP)) * CHUNK
    }

    /// Takes memory over for as long as the table lives; too little of it stays unused.
    pub(super) fn donate(&mut self, memory: &'static mut [MaybeUninit<u8>]) {
        let len = memory.len();
        let start = NonNull::from(memory).cast();
        // SAFETY: the memory is ours alone, and for ever.
        unsafe { self.add_region(start, len, None) };
    }

    /// Takes over `len` bytes at `start`, allocated as `heap` if they go back to the heap.
    ///
    /// # Safety
    /// They are this table's alone from now on, and valid for as long as it lives.
    unsafe fn add_region(&mut self, start: NonNull<u8>, len: usize, heap: Option<Layout>) {
        let skip = start.align_offset(GRAIN);
        let Some(len) = len.checked_sub(skip).map(|len| len & !(GRAIN - 1)) else {
            return;
        };
        if len < 2 * GRAIN {
            return;
        }
        // SAFETY: `skip` is less than the length.
        let region = unsafe { start.add(skip) }.cast::<Region>();
        let header = Region {
            next: self.regions,
            len,
            live: 0,
            heap,
        };
        // SAFETY: the bytes are ours, aligned, and enough for a header.
        unsafe { region.write(header) };
        self.regions = Some(region);
        // SAFETY: the region has another grain at least.
        let first = unsafe { region.byte_add(GRAIN) };
        // SAFETY: the rest of the region is free.
        unsafe { self.put_hole(first.cast(), len - GRAIN, region) };
    }

    /// A piece of memory, not initialised.
    pub(super) fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        #[cfg(test)]
        if let Some(left) = &mut self.until_failure {
            *left = left.checked_sub(1).ok_or(NoMemory)?;
        }
        debug_assert!(layout.size() > 0, "a piece of nothing is not asked for");
        let piece = if is_small(layout) {
            self.alloc_small(layout)
        } else {
            self.alloc_large(layout)
        }?;
        self.live += Self::footprint(layout);
        Ok(piece)
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// It came from `alloc` of this memory with this layout, and nobody uses it any more.
    pub(super) unsafe fn free(&mut self, piece: NonNull<u8>, layout: Layout) {
        self.live -= Self::footprint(layout);
        if is_small(layout) {
            // SAFETY: the caller's promise; a small piece has room for a link.
            unsafe { self.put_small(piece, layout) };
        } else {
            let len = round_up(layout.size(), GRAIN);
            let region = self.region_of(piece);
            // SAFETY: the piece came from this region.
            unsafe { (*region.as_ptr()).live -= len };
            // SAFETY: the caller's promise.
            unsafe { self.put_hole(piece, len, region) };
        }
    }

    fn alloc_small(&mut self, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        let class = layout.size().div_ceil(STEP);
        if self.small[class].is_none() {
            self.cut_chunk(class * STEP)?;
        }
        let link = self.small[class].ok_or(NoMemory)?;
        // SAFETY: a link in the list is a free piece.
        self.small[class] = unsafe { link.as_ref() }.next;
        Ok(link.cast())
    }

    fn cut_chunk(&mut self, size: usize) -> Result<(), NoMemory> {
        let layout = Layout::from_size_align(CHUNK, GRAIN).map_err(|_| NoMemory)?;
        let chunk = self.alloc_large(layout)?;
        let piece = Layout::from_size_align(size, STEP).map_err(|_| NoMemory)?;
        for at in (0..CHUNK / size).rev() {
            // SAFETY: the chunk has room for so many pieces.
            let start = unsafe { chunk.add(at * size) };
            // SAFETY: it is free and has room for a link.
            unsafe { self.put_small(start, piece) };
        }
        Ok(())
    }

    /// # Safety
    /// The piece is free, of a small layout, and ours.
    unsafe fn put_small(&mut self, piece: NonNull<u8>, layout: Layout) {
        let class = layout.size().div_ceil(STEP);
        let link = piece.cast::<Link>();
        let next = self.small[class];
        // SAFETY: the caller's promise.
        unsafe { link.write(Link { next }) };
        self.small[class] = Some(link);
    }

    fn alloc_large(&mut self, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        if let Some(piece) = self.take_from_hole(layout) {
            return Ok(piece);
        }
        self.grow(layout)?;
        self.take_from_hole(layout).ok_or(NoMemory)
    }

    /// The first hole that is large enough gives up its front, or what an alignment needs.
    fn take_from_hole(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let len = round_up(layout.size(), GRAIN);
        let mut before: Option<NonNull<Hole>> = None;
        let mut next = self.holes;
        while let Some(hole) = next {
            // SAFETY: holes in the list are ours.
            let header = unsafe { hole.read() };
            let (after, room, region) = (header.next, header.len, header.region);
            let skip = hole.cast::<u8>().align_offset(layout.align());
            if skip.checked_add(len).is_some_and(|need| need <= room) {
                self.unlink(before, after);
                // SAFETY: the hole has `skip + len` bytes.
                let piece = unsafe { hole.cast::<u8>().add(skip) };
                if skip > 0 {
                    // SAFETY: the front of the hole stays free.
                    unsafe { self.put_hole(hole.cast(), skip, region) };
                }
                if skip + len < room {
                    // SAFETY: the hole goes on behind the piece.
                    let rest = unsafe { piece.add(len) };
                    // SAFETY: what is behind the piece stays free.
                    unsafe { self.put_hole(rest, room - skip - len, region) };
                }
                // SAFETY: the piece comes from this region.
                unsafe { (*region.as_ptr()).live += len };
                return Some(piece);
            }
            before = next;
            next = after;
        }
        None
    }

    fn unlink(&mut self, before: Option<NonNull<Hole>>, after: Option<NonNull<Hole>>) {
        let Some(before) = before else {
            self.holes = after;
            return;
        };
        // SAFETY: holes in the list are ours.
        unsafe { (*before.as_ptr()).next = after };
    }

    /// Puts a hole in its place, merged with those that it abuts in the same region.
    ///
    /// # Safety
    /// The bytes are free, in this region, and their number is a multiple of the grain.
    unsafe fn put_hole(&mut self, start: NonNull<u8>, len: usize, region: NonNull<Region>) {
        let mut before: Option<NonNull<Hole>> = None;
        let mut next = self.holes;
        while let Some(hole) = next.filter(|hole| hole.addr() < start.addr()) {
            before = next;
            // SAFETY: holes in the list are ours.
            next = unsafe { hole.as_ref() }.next;
        }
        let mut hole = Hole { next, len, region };
        if let Some(behind) = next {
            // SAFETY: holes in the list are ours.
            let behind = unsafe { behind.as_ref() };
            let abuts = start.addr().get() + len == core::ptr::from_ref(behind).addr();
            if abuts && behind.region == region {
                hole.len += behind.len;
                hole.next = behind.next;
            }
        }
        if let Some(mut front) = before {
            // SAFETY: holes in the list are ours.
            let front = unsafe { front.as_mut() };
            let abuts = core::ptr::from_ref(front).addr() + front.len == start.addr().get();
            if abuts && front.region == region {
                front.len += hole.len;
                front.next = hole.next;
                return;
            }
            front.next = Some(start.cast());
        } else {
            self.holes = Some(start.cast());
        }
        // SAFETY: the bytes are free, and a grain has room for a hole's header.
        unsafe { start.cast::<Hole>().write(hole) };
    }

    fn region_of(&self, piece: NonNull<u8>) -> NonNull<Region> {
        let mut next = self.regions;
        while let Some(region) = next {
            // SAFETY: regions in the list are ours.
            let header = unsafe { region.as_ref() };
            if piece.addr() >= region.addr()
                && piece.addr().get() - region.addr().get() < header.len
            {
                return region;
            }
            next = header.next;
        }
        unreachable!("a piece comes from a region");
    }

    #[cfg(feature = "alloc")]
    fn grow(&mut self, layout: Layout) -> Result<(), NoMemory> {
        if !self.on_heap {
            return Err(NoMemory);
        }
        let need = layout.size().checked_add(layout.align().max(GRAIN));
        let need = need.and_then(|need| need.checked_add(Self::OVERHEAD));
        let size = need.ok_or(NoMemory)?.max(HEAP_MIN).max(self.live / 4);
        let block = Layout::from_size_align(size, GRAIN).map_err(|_| NoMemory)?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc::alloc::alloc(block) };
        let start = NonNull::new(start).ok_or(NoMemory)?;
        // SAFETY: fresh from the heap, and given back in `drop` only.
        unsafe { self.add_region(start, size, Some(block)) };
        Ok(())
    }

    #[cfg(not(feature = "alloc"))]
    fn grow(&mut self, _: Layout) -> Result<(), NoMemory> {
        debug_assert!(!self.on_heap, "there is no heap");
        Err(NoMemory)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut next = self.regions.take();
        while let Some(region) = next {
            // SAFETY: regions in the list are ours, and nothing uses them any more.
            let header = unsafe { region.read() };
            next = header.next;
            #[cfg(feature = "alloc")]
            if let Some(layout) = header.heap {
                // SAFETY: a region starts where its block from the heap does, whose alignment is
                // the grain, and goes back once.
                unsafe { alloc::alloc::dealloc(region.as_ptr().cast(), layout) };
            }
            #[cfg(not(feature = "alloc"))]
            debug_assert!(header.heap.is_none(), "there is no heap");
        }
    }
}

#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests {
    use core::alloc::Layout;

    use super::Memory;

    #[test]
    fn pieces_do_not_overlap_and_all_comes_back_as_one_hole() {
        let mut memory = Memory::new();
        memory.grow_on_heap();
        let mut out = Vec::new();
        for step in 0_usize..500 {
            let size = step * 37 % 900 + 1;
            let align = 1 << (step % 9);
            let layout = Layout::from_size_align(size, align).unwrap();
            let piece = memory.alloc(layout).unwrap();
            assert!(piece.addr().get().is_multiple_of(align));
            out.push((piece, layout));
            if step % 3 == 0 {
                let (piece, layout) = out.swap_remove(step * 7 % out.len());
                // SAFETY: it came from there, and is used no more.
                unsafe { memory.free(piece, layout) };
            }
        }
        let mut ends: Vec<_> = out
            .iter()
            .map(|(at, layout)| (at.addr().get(), layout))
            .collect();
        ends.sort_by_key(|(at, _)| *at);
        assert!(
            ends.windows(2)
                .all(|pair| pair[0].0 + pair[0].1.size() <= pair[1].0)
        );
        for (piece, layout) in out {
            // SAFETY: it came from there, and is used no more.
            unsafe { memory.free(piece, layout) };
        }
        assert_eq!(memory.live(), 0);
    }

    #[test]
    fn memory_without_regions_refuses() {
        let mut memory = Memory::new();
        assert!(memory.alloc(Layout::new::<u64>()).is_err());
    }
}
