//! Pieces of memory, carved from regions.
//!
//! Large pieces come first-fit from holes in the order of their addresses, whose neighbours merge
//! when they come back; small ones from lists by size. Each takes O(log n) for n holes and regions.
//! Nothing here is shared with readers.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::by_address::{ByAddress, Links, Placed};

/// Large pieces are multiples of this, and start at multiples of it.
pub(super) const GRAIN: usize = 64;
/// Small pieces have at most so many bytes.
const SMALL_MAX: usize = 264;
/// Small pieces come in sizes that differ by so many bytes, and are aligned to as many.
const STEP: usize = 8;
/// What is cut into small pieces at a time.
const CHUNK: usize = 1024;

/// A range that pieces are carved from. It is described at its own beginning.
struct Region {
    links: Links<Region>,
    /// Bytes, from this header on.
    len: usize,
    /// Bytes of large pieces and of chunks that are out.
    live: usize,
    /// How it came from the heap, if it did.
    heap: Option<Layout>,
}

/// A stretch of a region that is free: as many bytes as it has room. It is described at its own
/// beginning.
struct Hole {
    links: Links<Hole>,
    region: NonNull<Region>,
}

impl Placed for Region {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

impl Placed for Hole {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

/// A region that nothing is out of, on its way back to the heap.
struct Gone {
    next: Option<NonNull<Gone>>,
    layout: Layout,
}

/// Regions on their way back to the heap, where they come when this is dropped: not under a lock.
pub(super) struct Released(Option<NonNull<Gone>>);

// SAFETY: it owns the regions.
unsafe impl Send for Released {}

impl Released {
    pub(super) const NONE: Self = Self(None);
}

impl Drop for Released {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(gone) = next {
            // SAFETY: regions in the list are this one's, each described at its beginning.
            let header = unsafe { gone.read() };
            next = header.next;
            // SAFETY: nothing uses it any more, and it came from the heap so.
            unsafe { to_heap(gone.cast(), header.layout) };
        }
    }
}

const _: () = assert!(size_of::<Region>() <= GRAIN && size_of::<Hole>() <= GRAIN);

/// A small piece that is free.
struct Link {
    next: Option<NonNull<Link>>,
}

/// Regions, and what is free of them.
pub(super) struct Pool {
    holes: ByAddress<Hole>,
    small: [Option<NonNull<Link>>; SMALL_MAX / STEP + 1],
    regions: ByAddress<Region>,
    /// Regions that go back to the heap.
    released: Released,
    /// The region from the heap that was the last to have nothing out. It is kept for what comes
    /// next, unless another one follows it.
    idle: Option<NonNull<Region>>,
    /// Bytes of pieces that are out, rounded.
    live: usize,
}

// SAFETY: it owns all that it points to.
unsafe impl Send for Pool {}

const fn is_small(layout: Layout) -> bool {
    layout.size() <= SMALL_MAX && layout.align() <= STEP
}

impl Pool {
    /// The bytes that a region must have beside those of its pieces.
    pub(super) const OVERHEAD: usize = 2 * GRAIN;

    pub(super) const fn new() -> Self {
        Self {
            holes: ByAddress::new(),
            small: [None; SMALL_MAX / STEP + 1],
            regions: ByAddress::new(),
            released: Released::NONE,
            idle: None,
            live: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// The longest piece that there is room for.
    pub(super) fn longest(&self) -> usize {
        self.holes.most_room()
    }

    /// Regions that are no longer needed, to be dropped when no lock is held.
    pub(super) fn released(&mut self) -> Released {
        core::mem::replace(&mut self.released, Released::NONE)
    }

    #[cfg(all(test, not(loom), feature = "alloc"))]
    pub(super) fn has_released_nothing(&self) -> bool {
        self.released.0.is_none()
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// What a piece takes.
    pub(super) const fn footprint(layout: Layout) -> usize {
        let step = if is_small(layout) { STEP } else { GRAIN };
        layout.size().next_multiple_of(step)
    }

    /// Bytes in a row that are enough for a piece.
    pub(super) const fn need(layout: Layout) -> usize {
        if is_small(layout) {
            return CHUNK;
        }
        let spare = layout.align().saturating_sub(GRAIN);
        layout.size().saturating_add(GRAIN - 1 + spare) & !(GRAIN - 1)
    }

    /// What `count` small pieces take, with the chunks that they are cut from.
    pub(super) const fn small_footprint(layout: Layout, count: usize) -> usize {
        count.div_ceil(CHUNK / Self::footprint(layout)) * CHUNK
    }

    /// Takes over `len` bytes at `start`; too few of them stay unused. Those that were allocated as
    /// `heap` go back to the heap.
    ///
    /// # Safety
    /// They are this pool's alone from now on, and valid for as long as it lives. Where they are
    /// from the heap they are aligned to a grain.
    pub(super) unsafe fn add_region(
        &mut self,
        start: NonNull<u8>,
        len: usize,
        heap: Option<Layout>,
    ) {
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
            links: Links::new(0),
            len,
            live: 0,
            heap,
        };
        // SAFETY: the bytes are ours, aligned, and enough for a header.
        unsafe { region.write(header) };
        // SAFETY: the region stays there until it is released.
        unsafe { self.regions.insert(region) };
        // SAFETY: the region has another grain at least.
        let first = unsafe { region.byte_add(GRAIN) };
        // SAFETY: the rest of the region is free.
        unsafe { self.put_hole(first.cast(), len - GRAIN, region) };
    }

    /// A piece of memory, not initialised.
    pub(super) fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        debug_assert!(layout.size() > 0, "a piece of nothing is not asked for");
        let piece = if is_small(layout) {
            self.take_small(layout)
        } else {
            self.take_from_hole(layout)
        }?;
        self.live += Self::footprint(layout);
        Some(piece)
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// It came from `take` of this pool with this layout, and nobody uses it any more.
    pub(super) unsafe fn put(&mut self, piece: NonNull<u8>, layout: Layout) {
        let len = Self::footprint(layout);
        self.live -= len;
        if cfg!(debug_assertions) {
            // So that whoever still has it finds what is wrong, and soon.
            let size = layout.size().min(4096);
            // SAFETY: the caller's promise.
            unsafe { piece.write_bytes(0xdd, size) };
        }
        if is_small(layout) {
            // SAFETY: the caller's promise; a small piece has room for a link.
            return unsafe { self.put_small(piece, len / STEP) };
        }
        let region = self.region_of(piece);
        // SAFETY: the piece came from this region.
        unsafe { (*region.as_ptr()).live -= len };
        // SAFETY: the caller's promise.
        unsafe { self.put_hole(piece, len, region) };
        let header = self.regions.at(region);
        if header.live == 0 && header.heap.is_some() {
            let idle = self.idle.replace(region);
            idle.filter(|idle| *idle != region)
                .into_iter()
                .for_each(|idle| self.release(idle));
        }
    }

    /// A region goes back to the heap, if nothing of it is out: all of it is one hole.
    fn release(&mut self, gone: NonNull<Region>) {
        let header = self.regions.at(gone);
        let (0, Some(layout)) = (header.live, header.heap) else {
            return;
        };
        let first = gone.addr().get() + GRAIN;
        if let [Some(hole), _] = self.holes.around(first) {
            debug_assert_eq!(hole.addr().get(), first, "all of a region is free");
            self.holes.remove(hole);
        }
        self.regions.remove(gone);
        let gone = gone.cast::<Gone>();
        let next = self.released.0.replace(gone);
        // SAFETY: nothing of it is out, and nothing finds it any more.
        unsafe { gone.write(Gone { next, layout }) };
    }

    fn take_small(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let class = layout.size().div_ceil(STEP);
        if self.small[class].is_none() {
            self.cut_chunk(class)?;
        }
        let link = self.small[class]?;
        // SAFETY: a link in the list is a free piece.
        self.small[class] = unsafe { link.as_ref() }.next;
        Some(link.cast())
    }

    fn cut_chunk(&mut self, class: usize) -> Option<()> {
        let layout = Layout::from_size_align(CHUNK, GRAIN).ok()?;
        let chunk = self.take_from_hole(layout)?;
        let size = class * STEP;
        for at in (0..CHUNK / size).rev() {
            // SAFETY: the chunk has room for so many pieces.
            let piece = unsafe { chunk.add(at * size) };
            // SAFETY: it is free and has room for a link.
            unsafe { self.put_small(piece, class) };
        }
        Some(())
    }

    /// # Safety
    /// The piece is free, of this class, and ours.
    unsafe fn put_small(&mut self, piece: NonNull<u8>, class: usize) {
        let link = piece.cast::<Link>();
        let next = self.small[class];
        // SAFETY: the caller's promise.
        unsafe { link.write(Link { next }) };
        self.small[class] = Some(link);
    }

    /// The first hole that is large enough gives up its front, or what an alignment needs.
    fn take_from_hole(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let len = layout.size().next_multiple_of(GRAIN);
        let hole = self.holes.with_room(Self::need(layout))?;
        let header = self.holes.at(hole);
        let (room, region) = (header.links.room(), header.region);
        self.holes.remove(hole);
        let skip = hole.cast::<u8>().align_offset(layout.align());
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
        Some(piece)
    }

    /// Puts a hole in its place, merged with those that it abuts in the same region.
    ///
    /// # Safety
    /// The bytes are free, in this region, and their number is a multiple of the grain.
    unsafe fn put_hole(&mut self, start: NonNull<u8>, len: usize, region: NonNull<Region>) {
        let [front, behind] = self.holes.around(start.addr().get());
        let room = |hole: NonNull<Hole>| self.holes.at(hole).links.room();
        let is_its = |hole: &NonNull<Hole>| self.holes.at(*hole).region == region;
        let end = start.addr().get() + len;
        let behind = behind.filter(|hole| hole.addr().get() == end && is_its(hole));
        let touches = |hole: &NonNull<Hole>| hole.addr().get() + room(*hole) == end - len;
        let front = front.filter(|hole| touches(hole) && is_its(hole));
        let len = len + behind.map_or(0, room);
        let longer = front.map(|hole| room(hole) + len);
        if let Some(behind) = behind {
            self.holes.remove(behind);
        }
        if let (Some(front), Some(room)) = (front, longer) {
            self.holes.set_room(front, room);
            return;
        }
        let hole = start.cast::<Hole>();
        let links = Links::new(len);
        // SAFETY: the bytes are free, and a grain has room for a hole's header.
        unsafe { hole.write(Hole { links, region }) };
        // SAFETY: it stays there until it is removed, and nobody else knows it.
        unsafe { self.holes.insert(hole) };
    }

    fn region_of(&self, piece: NonNull<u8>) -> NonNull<Region> {
        let [region, _] = self.regions.around(piece.addr().get());
        region.expect("a piece comes from a region")
    }

    /// Whether a piece of memory is in one of the regions.
    pub(super) fn has(&self, piece: NonNull<u8>) -> bool {
        let [region, _] = self.regions.around(piece.addr().get());
        region.is_some_and(|region| {
            let len = self.regions.at(region).len;
            piece.addr().get() - region.addr().get() < len
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut next = self.regions.around(0)[1];
        while let Some(region) = next {
            // SAFETY: regions in the tree are ours, and nothing uses them any more.
            let header = unsafe { region.read() };
            self.regions.remove(region);
            next = self.regions.around(0)[1];
            if let Some(layout) = header.heap {
                // SAFETY: nothing uses it any more.
                unsafe { to_heap(region, layout) };
            }
        }
    }
}

/// Gives the block of a region back to the heap.
///
/// # Safety
/// The region was allocated there so, and nobody uses it any more.
#[cfg(feature = "alloc")]
unsafe fn to_heap(region: NonNull<Region>, layout: Layout) {
    // SAFETY: a region starts where its block does, whose alignment is the grain; the caller's
    // promise.
    unsafe { alloc::alloc::dealloc(region.as_ptr().cast(), layout) };
}

#[cfg(not(feature = "alloc"))]
unsafe fn to_heap(_: NonNull<Region>, _: Layout) {
    unreachable!("there is no heap");
}

#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests {
    use core::alloc::Layout;
    use core::ptr::NonNull;

    use super::{GRAIN, Pool};

    /// Adds a block of the heap.
    fn grow(pool: &mut Pool, len: usize) {
        let block = Layout::from_size_align(len, GRAIN).unwrap();
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc::alloc::alloc(block) }).unwrap();
        // SAFETY: fresh from the heap.
        unsafe { pool.add_region(start, len, Some(block)) };
    }

    #[test]
    fn pieces_do_not_overlap_and_all_comes_back() {
        let mut pool = Pool::new();
        grow(&mut pool, 1 << 19);
        let mut out = Vec::new();
        for step in 0_usize..500 {
            let size = step * 37 % 900 + 1;
            let align = 1 << (step % 9);
            let layout = Layout::from_size_align(size, align).unwrap();
            let piece = pool.take(layout).unwrap();
            assert!(piece.addr().get().is_multiple_of(align));
            out.push((piece, layout));
            if step % 3 == 0 {
                let (piece, layout) = out.swap_remove(step * 7 % out.len());
                // SAFETY: it came from there, and is used no more.
                unsafe { pool.put(piece, layout) };
            }
        }
        out.sort_by_key(|(piece, _)| piece.addr());
        let end = |(piece, layout): &(NonNull<u8>, Layout)| piece.addr().get() + layout.size();
        assert!(out.is_sorted_by(|one, next| end(one) <= next.0.addr().get()));
        for (piece, layout) in out {
            // SAFETY: it came from there, and is used no more.
            unsafe { pool.put(piece, layout) };
        }
        assert_eq!(pool.live(), 0);
    }

    #[test]
    fn of_the_regions_that_are_empty_the_heap_gets_back_all_but_one() {
        let mut pool = Pool::new();
        let large = Layout::from_size_align(1 << 13, 64).unwrap();
        let mut out = Vec::new();
        for _ in 0..4 {
            grow(&mut pool, 1 << 14);
            out.push(pool.take(large).unwrap());
        }
        assert!(
            pool.take(large).is_none(),
            "there is a piece in each region"
        );
        for piece in out {
            // SAFETY: it came from there, and is used no more.
            unsafe { pool.put(piece, large) };
        }
        assert!(pool.take(large).is_some() && pool.take(large).is_none());
    }

    #[test]
    fn a_pool_without_regions_has_nothing() {
        assert!(Pool::new().take(Layout::new::<u64>()).is_none());
    }
}
