//! Pieces of memory, carved from regions.
//!
//! Large pieces come first-fit from holes in address order; neighbouring holes merge when a piece
//! is freed. Small pieces come from free lists by size. Each operation takes O(log n) for n holes
//! and regions. Nothing here is shared with readers.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::by_address::{ByAddress, Links, Placed};

/// Size unit and alignment of large pieces.
pub(super) const GRAIN: usize = 64;
/// Most bytes of a small piece.
const SMALL_MAX: usize = 264;
/// Step between the size classes of small pieces, and their alignment.
const STEP: usize = 8;
/// Bytes that are cut into small pieces at a time.
const CHUNK: usize = 1024;

/// Header of a memory range that pieces are carved from. It is at the range's start.
struct Region {
    links: Links<Region>,
    /// Bytes, including this header.
    len: usize,
    /// Bytes of allocated large pieces and chunks.
    live: usize,
    /// True if it is a block of the heap, aligned to `GRAIN`.
    is_heap: bool,
}

/// Header of a free stretch of a region. It is at the stretch's start; the room in its links is the
/// stretch's length in bytes.
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

/// Header of an empty region that goes back to the heap.
struct Gone {
    next: Option<NonNull<Gone>>,
    len: usize,
}

/// Regions that go back to the heap when this is dropped, which must be without a lock.
pub(crate) struct Released(Option<NonNull<Gone>>);

// SAFETY: it owns the regions.
unsafe impl Send for Released {}

impl Released {
    pub(crate) const NONE: Self = Self(None);

    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        Self(self.0.take())
    }

    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Drop for Released {
    #[inline]
    fn drop(&mut self) {
        if let Some(first) = self.0.take() {
            all_to_heap(first);
        }
    }
}

/// Returns a list of regions to the heap. Takes the list by value: a writer's guard that is not in
/// memory costs less.
#[cold]
fn all_to_heap(first: NonNull<Gone>) {
    let mut next = Some(first);
    while let Some(gone) = next {
        // SAFETY: regions in the list belong to it, each with a header at its start.
        let header = unsafe { gone.read() };
        next = header.next;
        // SAFETY: nothing uses the region any more, and it came from the heap with this length.
        unsafe { to_heap(gone.cast(), header.len) };
    }
}

const _: () = assert!(size_of::<Region>() <= GRAIN && size_of::<Hole>() <= GRAIN);

/// Header of a free small piece.
struct Link {
    next: Option<NonNull<Link>>,
}

/// Regions, and their free memory.
pub(crate) struct Pool {
    holes: ByAddress<Hole>,
    small: [Option<NonNull<Link>>; SMALL_MAX / STEP + 1],
    regions: ByAddress<Region>,
    /// Regions that go back to the heap.
    released: Released,
    /// The region from the heap that became empty last. It is kept for later requests, until
    /// another region becomes empty.
    idle: Option<NonNull<Region>>,
    /// Bytes of allocated pieces, rounded.
    live: usize,
}

// SAFETY: it owns all that it points to.
unsafe impl Send for Pool {}

const fn is_small(layout: Layout) -> bool {
    layout.size() <= SMALL_MAX && layout.align() <= STEP
}

impl Pool {
    /// Bytes that a region must have in addition to those of its pieces.
    pub(super) const OVERHEAD: usize = 2 * GRAIN;

    pub(crate) const fn new() -> Self {
        Self {
            holes: ByAddress::new(),
            small: [None; SMALL_MAX / STEP + 1],
            regions: ByAddress::new(),
            released: Released::NONE,
            idle: None,
            live: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// The longest piece that fits.
    pub(super) fn longest(&self) -> usize {
        self.holes.most_room()
    }

    /// Regions that are no longer needed, to be dropped without a lock.
    #[inline]
    pub(crate) fn released(&mut self) -> &mut Released {
        &mut self.released
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Bytes that a piece takes.
    pub(crate) const fn footprint(layout: Layout) -> usize {
        let step = if is_small(layout) { STEP } else { GRAIN };
        layout.size().next_multiple_of(step)
    }

    /// Contiguous bytes that are enough for a piece.
    pub(crate) const fn need(layout: Layout) -> usize {
        if is_small(layout) {
            return CHUNK;
        }
        let spare = layout.align().saturating_sub(GRAIN);
        layout.size().saturating_add(GRAIN - 1 + spare) & !(GRAIN - 1)
    }

    /// Bytes that `count` small pieces take, with the chunks that they are cut from.
    pub(crate) const fn small_footprint(layout: Layout, count: usize) -> usize {
        count.div_ceil(CHUNK / Self::footprint(layout)) * CHUNK
    }

    /// Takes over `len` bytes at `start`; too few bytes stay unused. A block of the heap goes back
    /// there.
    ///
    /// # Safety
    /// The bytes belong to this pool alone from now on, and stay valid as long as it lives. A block
    /// of the heap was allocated with this length, a multiple of `GRAIN`, and that alignment.
    pub(super) unsafe fn add_region(&mut self, start: NonNull<u8>, len: usize, is_heap: bool) {
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
            is_heap,
        };
        // SAFETY: the bytes are ours, aligned, and enough for a header.
        unsafe { region.write(header) };
        // SAFETY: the region stays in place until it is released.
        unsafe { self.regions.insert(region) };
        // SAFETY: the region has at least one more grain.
        let first = unsafe { region.byte_add(GRAIN) };
        // SAFETY: the rest of the region is free.
        unsafe { self.put_hole(first.cast(), len - GRAIN, region) };
    }

    /// Allocates a piece, uninitialised.
    pub(crate) fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        debug_assert!(layout.size() > 0, "a piece of nothing is not asked for");
        let piece = if is_small(layout) {
            self.take_small(layout)
        } else {
            self.take_from_hole(layout)
        }?;
        self.live += Self::footprint(layout);
        Some(piece)
    }

    /// Frees a piece.
    ///
    /// # Safety
    /// The piece came from `take` of this pool with this layout, and nobody uses it any more.
    pub(crate) unsafe fn put(&mut self, piece: NonNull<u8>, layout: Layout) {
        let len = Self::footprint(layout);
        self.live -= len;
        if cfg!(debug_assertions) {
            // Poison, so that a use after free soon shows.
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
        if header.live == 0 && header.is_heap {
            let idle = self.idle.replace(region);
            idle.filter(|idle| *idle != region)
                .into_iter()
                .for_each(|idle| self.release(idle));
        }
    }

    /// Moves a region to the released ones if it is empty: all of it is one hole.
    fn release(&mut self, gone: NonNull<Region>) {
        let header = self.regions.at(gone);
        if header.live > 0 || !header.is_heap {
            return;
        }
        let len = header.len;
        let first = gone.addr().get() + GRAIN;
        if let [Some(hole), _] = self.holes.around(first) {
            debug_assert_eq!(hole.addr().get(), first, "all of a region is free");
            self.holes.remove(hole);
        }
        self.regions.remove(gone);
        let gone = gone.cast::<Gone>();
        let next = self.released.0.replace(gone);
        // SAFETY: nothing in it is allocated, and no tree has it any more.
        unsafe { gone.write(Gone { next, len }) };
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
            // SAFETY: the chunk has room for this many pieces.
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

    /// Allocates from the lowest hole that is large enough: its front, or the first aligned part.
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
            // SAFETY: the hole continues after the piece.
            let rest = unsafe { piece.add(len) };
            // SAFETY: the bytes after the piece stay free.
            unsafe { self.put_hole(rest, room - skip - len, region) };
        }
        // SAFETY: the piece comes from this region.
        unsafe { (*region.as_ptr()).live += len };
        Some(piece)
    }

    /// Adds a hole, merged with adjacent holes of the same region.
    ///
    /// # Safety
    /// The bytes are free, in this region, and their number is a multiple of `GRAIN`.
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
        // SAFETY: the hole stays in place until it is removed, and has no other user.
        unsafe { self.holes.insert(hole) };
    }

    fn region_of(&self, piece: NonNull<u8>) -> NonNull<Region> {
        let [region, _] = self.regions.around(piece.addr().get());
        region.expect("a piece comes from a region")
    }

    /// True if a piece of memory is in one of the regions.
    pub(crate) fn has(&self, piece: NonNull<u8>) -> bool {
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
            if header.is_heap {
                // SAFETY: nothing uses it any more.
                unsafe { to_heap(region, header.len) };
            }
        }
    }
}

/// Frees the heap block of a region.
///
/// # Safety
/// The region was allocated there with this length, and nobody uses it any more.
#[cfg(feature = "alloc")]
unsafe fn to_heap(region: NonNull<Region>, len: usize) {
    // SAFETY: the block was allocated with this layout.
    let layout = unsafe { Layout::from_size_align_unchecked(len, GRAIN) };
    // SAFETY: a region starts where its block does, because the block is aligned to the grain; the
    // caller's promise.
    unsafe { alloc::alloc::dealloc(region.as_ptr().cast(), layout) };
}

#[cfg(not(feature = "alloc"))]
unsafe fn to_heap(_: NonNull<Region>, _: usize) {
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
        // SAFETY: the block is fresh from the heap.
        unsafe { pool.add_region(start, len, true) };
    }

    #[test]
    fn a_small_piece_that_comes_back_is_the_next_of_its_size() {
        let mut pool = Pool::new();
        grow(&mut pool, 1 << 16);
        for size in (8..=264).step_by(8) {
            let layout = Layout::from_size_align(size, 8).unwrap();
            let piece = pool.take(layout).unwrap();
            // SAFETY: it came from this pool, and is not used any more.
            unsafe { pool.put(piece, layout) };
            assert_eq!(pool.take(layout), Some(piece), "{size}");
        }
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
                // SAFETY: it came from this pool, and is not used any more.
                unsafe { pool.put(piece, layout) };
            }
        }
        out.sort_by_key(|(piece, _)| piece.addr());
        let end = |(piece, layout): &(NonNull<u8>, Layout)| piece.addr().get() + layout.size();
        assert!(out.is_sorted_by(|one, next| end(one) <= next.0.addr().get()));
        for (piece, layout) in out {
            // SAFETY: it came from this pool, and is not used any more.
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
            // SAFETY: it came from this pool, and is not used any more.
            unsafe { pool.put(piece, large) };
        }
        assert!(pool.take(large).is_some() && pool.take(large).is_none());
    }

    #[test]
    fn a_pool_without_regions_has_nothing() {
        assert!(Pool::new().take(Layout::new::<u64>()).is_none());
    }
}
