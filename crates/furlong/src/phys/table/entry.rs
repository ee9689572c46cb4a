//! Entries: the bookkeeping of segments. The first `N` are in an array, the others in chunks that
//! never move, so that readers may follow an index at any time.
#![expect(unsafe_code, reason = "chunks of entries never move")]

use core::alloc::Layout;
use core::ptr::{NonNull, null_mut};

use super::order::Links;
use crate::addr::{Extent, Pfn};
use crate::forms::copies;
use crate::phys::{Frames, Memory, NoMemory, Node, Pages, Pool, SegmentId, Share, is_made};
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::record;

record! {
    /// A segment. Only the writer writes. Readers read `start` and `generation`, which are
    /// adjacent, and `pages` and `slab`.
    #[repr(C)]
    pub(crate) struct Entry<D> {
        start: AtomicU64 = AtomicU64::new(0),
        /// Odd while the segment is alive.
        generation: AtomicU32 = AtomicU32::new(0),
        node: AtomicU32 = AtomicU32::new(0),
        end: AtomicU64 = AtomicU64::new(0),
        avail_start: AtomicU64 = AtomicU64::new(0),
        avail_end: AtomicU64 = AtomicU64::new(0),
        hint: AtomicU64 = AtomicU64::new(0),
        user: AtomicU64 = AtomicU64::new(0),
        /// The address at which the descriptor of frame 0 would be; that of frame f is f strides
        /// further on.
        pages: AtomicPtr<D> = AtomicPtr::new(null_mut()),
        /// The slab of the descriptors; null if there are none.
        slab: AtomicPtr<()> = AtomicPtr::new(null_mut()),
        /// Words for the lookup structure.
        marks: [AtomicPtr<()>; 2] = [AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut())],
        /// The place in the order of the segments.
        links: Links = Links::new(),
    }
    pub(crate) const fn new;
}

impl<D> Entry<D> {
    pub(crate) fn start(&self) -> u64 {
        // Relaxed: a reader's offset counts from the start at some moment of its call, and the
        // writer reads its own words.
        self.start.load(Ordering::Relaxed)
    }

    pub(crate) fn frames(&self) -> Frames {
        // Relaxed: the writer's own word.
        Frames::between(self.start(), self.end.load(Ordering::Relaxed))
    }

    pub(crate) fn set_frames(&self, frames: Frames) {
        // Relaxed: the index publishes an entry. A start that moves only moves forward, and a
        // reader of the old one has an answer of an earlier moment.
        self.start.store(frames.start, Ordering::Relaxed);
        self.end.store(frames.end, Ordering::Relaxed);
    }

    pub(crate) fn avail(&self) -> Frames {
        // Relaxed: the writer's own words, here and in all that follows but `generation`.
        let start = self.avail_start.load(Ordering::Relaxed);
        Frames::between(start, self.avail_end.load(Ordering::Relaxed))
    }

    pub(crate) fn set_avail(&self, avail: Frames) {
        // Relaxed: as in `avail`.
        self.avail_start.store(avail.start, Ordering::Relaxed);
        self.avail_end.store(avail.end, Ordering::Relaxed);
    }

    pub(crate) fn hint(&self) -> u64 {
        // Relaxed: as in `avail`.
        self.hint.load(Ordering::Relaxed)
    }

    pub(crate) fn set_hint(&self, hint: u64) {
        // Relaxed: as in `avail`.
        self.hint.store(hint, Ordering::Relaxed);
    }

    pub(crate) fn user(&self) -> u64 {
        // Relaxed: as in `avail`.
        self.user.load(Ordering::Relaxed)
    }

    pub(crate) fn set_user(&self, user: u64) {
        // Relaxed: as in `avail`.
        self.user.store(user, Ordering::Relaxed);
    }

    pub(crate) fn node(&self) -> Node {
        // Relaxed: as in `avail`.
        Node(self.node.load(Ordering::Relaxed))
    }

    pub(crate) fn set_node(&self, node: Node) {
        // Relaxed: as in `avail`.
        self.node.store(node.0, Ordering::Relaxed);
    }

    /// The address at which the descriptor of frame 0 would be; `None` if there are no descriptors.
    pub(crate) fn pages(&self) -> Option<Pages<D>> {
        // Acquire: pairs with `entry-slab`; `pages` is seen. A reader that comes through the index
        // sees it anyway, as that is published later. One with a handle needs the pairing.
        let slab = self.slab.load(Ordering::Acquire);
        // Relaxed: as above.
        (!slab.is_null()).then(|| Pages::at(self.pages.load(Ordering::Relaxed)))
    }

    pub(crate) fn slab(&self) -> *mut () {
        // Relaxed: as in `avail`.
        self.slab.load(Ordering::Relaxed)
    }

    pub(crate) fn set_pages(&self, pages: Pages<D>, slab: *mut ()) {
        // Relaxed: `entry-slab` publishes it.
        self.pages.store(pages.start(), Ordering::Relaxed);
        // Release, `entry-slab`: pairs with the load in `pages`.
        self.slab.store(slab, Ordering::Release);
    }

    /// Shrinks the segment to `frames`. What is available of them stays available. The hint keeps
    /// its frame if that frame is left.
    pub(crate) fn shrink(&self, frames: Frames) {
        let avail = self.avail();
        let hint = avail.start + self.hint();
        let left = avail.meet(frames);
        let left = if left.is_empty() {
            let at = left.start.clamp(frames.start, frames.end);
            Frames { start: at, end: at }
        } else {
            left
        };
        self.set_avail(left);
        self.set_hint(hint.clamp(left.start, left.end) - left.start);
        self.set_frames(frames);
    }

    /// Becomes another segment with the same properties and descriptors.
    pub(crate) fn copy_from(&self, other: &Self) {
        self.set_frames(other.frames());
        self.set_avail(other.avail());
        self.set_hint(other.hint());
        self.set_user(other.user());
        self.set_node(other.node());
        self.forget_marks();
        match other.pages() {
            Some(pages) => self.set_pages(pages, other.slab()),
            None => self.forget_pages(),
        }
    }

    /// The segment's share of a slab, if it has descriptors.
    pub(crate) fn share(&self) -> Option<Share<D>> {
        Share::of(self.pages()?, self.slab(), self.frames())
    }

    /// Records that there are no descriptors.
    pub(crate) fn forget_pages(&self) {
        // Relaxed: no index leads here.
        self.slab.store(null_mut(), Ordering::Relaxed);
    }

    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    pub(crate) fn mark(&self, which: usize) -> *mut () {
        // Relaxed: as in `avail`.
        self.marks[which].load(Ordering::Relaxed)
    }

    pub(crate) fn set_mark(&self, which: usize, mark: *mut ()) {
        // Relaxed: as in `avail`.
        self.marks[which].store(mark, Ordering::Relaxed);
    }

    /// Clears the marks.
    pub(crate) fn forget_marks(&self) {
        for which in 0..2 {
            self.set_mark(which, null_mut());
        }
    }

    /// The descriptor of `frame`, which must be in the segment, if it has been made.
    pub(crate) fn page(&self, frame: u64) -> Option<NonNull<D>> {
        self.pages_at(frame)?.of(frame)
    }

    /// [`pages`](Self::pages), if the descriptor of `frame` has been made.
    pub(crate) fn pages_at(&self, frame: u64) -> Option<Pages<D>> {
        self.pages().filter(|_| is_made::<D>(self.slab(), frame))
    }

    pub(crate) fn generation(&self) -> u32 {
        // Relaxed: the index publishes an entry after it came to life, and the entry does not die
        // while a reader that found it is inside.
        self.generation.load(Ordering::Relaxed)
    }

    /// Changes from dead to alive, or back. Older handles are stale then.
    pub(crate) fn turn(&self) {
        // Relaxed: as in `generation`.
        let next = self.generation().wrapping_add(1);
        self.generation.store(next, Ordering::Relaxed);
        // Release, `entry-turn`: pairs with the fence in `still_lives`; a reader that sees any word
        // written from now on sees the generation, too.
        fence(Ordering::Release);
    }

    #[cfg(feature = "alloc")]
    pub(super) fn set_generation(&self, generation: u32) {
        // Relaxed: as in `generation`.
        self.generation.store(generation, Ordering::Relaxed);
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.generation().is_multiple_of(2)
    }
}

/// The most chunks. Each one doubles the number of entries.
const CHUNKS: usize = 24;

/// All entries, dead or alive, by index.
pub(crate) struct Entries<D, const N: usize> {
    first: [Entry<D>; N],
    /// Chunk `k` has the indices from `N << k` to `N << k + 1`.
    chunks: [AtomicPtr<Entry<D>>; CHUNKS],
}

impl<D, const N: usize> Entries<D, N> {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        const {
            assert!(
                N.is_power_of_two(),
                "the number of static entries is a power of two"
            );
        };
        Self {
            first: [const { Entry::new() }; N],
            chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS],
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            first: core::array::from_fn(|_| Entry::new()),
            chunks: core::array::from_fn(|_| AtomicPtr::new(null_mut())),
        }
    }

    pub(crate) fn all(&self) -> All<'_, D> {
        All {
            first: &self.first,
            chunks: &self.chunks,
        }
    }
}

/// All entries, without `N` in the type.
pub struct All<'a, D> {
    first: &'a [Entry<D>],
    chunks: &'a [AtomicPtr<Entry<D>>],
}

copies! { All<'_, D> where [D]; }

impl<'a, D> All<'a, D> {
    /// The entry at `index`, which must exist.
    #[inline]
    pub(crate) fn get(self, index: u32) -> &'a Entry<D> {
        let at = index as usize;
        match self.first.get(at) {
            Some(entry) => entry,
            None => self.in_chunk(at),
        }
    }

    fn in_chunk(self, at: usize) -> &'a Entry<D> {
        let first = self.first.len();
        let chunk = (at >> first.trailing_zeros()).ilog2();
        // Acquire: pairs with `chunk-add`; the entries are seen initialised, also by a reader that
        // comes with a handle and not through the index, which is published later.
        let start = self.chunks[chunk as usize].load(Ordering::Acquire);
        let start = NonNull::new(start).expect("an index comes from the table");
        // SAFETY: the chunk has `first << chunk` entries from this index on, and `at` is among
        // them: `chunk` is the position of its highest bit.
        let entry = unsafe { start.add(at - (first << chunk)) };
        // SAFETY: chunks are freed only with the table, which `'a` borrows.
        unsafe { entry.as_ref() }
    }

    /// The number of entries.
    pub(crate) fn count(self) -> usize {
        let first = self.first.len();
        // Relaxed: the writer's own words.
        let chunks = self.chunks.iter();
        let full = chunks.take_while(|chunk| !chunk.load(Ordering::Relaxed).is_null());
        first << full.count()
    }

    /// The most entries that there can be.
    #[cfg(feature = "alloc")]
    pub(super) fn count_max(self) -> usize {
        self.first.len() << self.chunks.len()
    }

    /// Adds a chunk, which doubles the number of entries.
    pub(crate) fn grow(self, memory: &mut Memory) -> Result<(), NoMemory> {
        let count = self.count();
        let chunk = (count / self.first.len()).ilog2() as usize;
        let slot = self.chunks.get(chunk).ok_or(NoMemory)?;
        let start = memory.alloc(Self::layout(count)?)?.cast::<Entry<D>>();
        for at in 0..count {
            // SAFETY: the chunk has room for `count` entries.
            let place = unsafe { start.add(at) };
            // SAFETY: as above, and the chunk is ours.
            unsafe { place.write(Entry::new()) };
        }
        // Release, `chunk-add`: pairs with the load in `in_chunk`.
        slot.store(start.as_ptr(), Ordering::Release);
        Ok(())
    }

    fn layout(count: usize) -> Result<Layout, NoMemory> {
        Layout::array::<Entry<D>>(count).map_err(|_| NoMemory)
    }

    /// Bytes of the next chunk.
    pub(super) fn next_chunk(self) -> usize {
        Self::layout(self.count()).map_or(0, Pool::footprint)
    }

    /// The handle of the live segment at `index`.
    #[inline]
    pub(crate) fn id(self, index: u32) -> SegmentId {
        let generation = self.get(index).generation();
        SegmentId { index, generation }
    }

    /// True if everything read of an entry since [`resolve`](Self::resolve) was of that segment.
    pub(super) fn still_lives(self, id: SegmentId) -> bool {
        // Acquire: pairs with `entry-turn`.
        fence(Ordering::Acquire);
        self.get(id.index).generation() == id.generation
    }

    /// The entry of a handle; `None` if the handle is stale. One of another table may be taken for
    /// one of this.
    pub(crate) fn resolve(self, id: SegmentId) -> Option<&'a Entry<D>> {
        if id.index as usize >= self.count() {
            return None;
        }
        let entry = self.get(id.index);
        (entry.generation() == id.generation && entry.is_live()).then_some(entry)
    }
}

/// The segment in an entry, as it is now.
pub(crate) fn segment<D>(all: All<'_, D>, index: u32) -> crate::phys::Segment {
    let entry = all.get(index);
    let avail = entry.avail();
    let frames = entry.frames().extent().expect("a segment is not empty");
    crate::phys::Segment {
        id: all.id(index),
        frames,
        avail: Extent::from_end(Pfn::new(avail.start), Pfn::new(avail.end)),
        avail_start: Pfn::new(avail.start),
        avail_end: Pfn::new(avail.end),
        node: entry.node(),
        start_hint: entry.hint(),
        user: entry.user(),
    }
}
