//! The table's memory: its own, donated or from the heap; and if that is full, the memory of ranges
//! that host their own bookkeeping.
//!
//! No piece outlives the memory: its user and the memory are fields of one table, memory the last.

use core::alloc::Layout;
use core::mem::{self, MaybeUninit};
use core::ptr::NonNull;

use super::by_address::{ByAddress, Links, Placed};
use super::pool::GRAIN;
use crate::phys::{Frames, NoMemory, Pool, Released};

/// Smallest request to the heap.
#[cfg(feature = "alloc")]
const HEAP_MIN: usize = 1 << 16;
/// Largest request to the heap, unless a piece is larger.
#[cfg(feature = "alloc")]
const HEAP_MAX: usize = 1 << 20;

/// The memory of one table.
pub(crate) struct Memory {
    own: Pool,
    /// True if its own memory may grow on the heap.
    on_heap: bool,
    /// Hosts by the address of their header. The room of a host is the longest piece that fits; it
    /// is 0 if the host is closed.
    hosts: ByAddress<Home>,
    /// The host that gets data shared by all ranges, as long as it has room. With one such host,
    /// the other hosts can leave.
    store: Option<Host>,
    /// Closed hosts in the tree.
    closed: usize,
    /// Bytes of allocated pieces in hosts.
    hosted_live: usize,
    /// Empty hosts that the caller has not taken back.
    vacant: Option<Host>,
    /// Allocations of own memory until one fails, in tests.
    #[cfg(test)]
    pub(crate) until_failure: Option<usize>,
}

/// Header of a host: the first frames of a range, with the range's bookkeeping. It is in the host.
struct Home {
    links: Links<Home>,
    /// Link in the list of vacant hosts.
    next: Option<Host>,
    frames: Frames,
    /// All of the memory that was handed in.
    start: NonNull<u8>,
    len: usize,
    pool: Pool,
    /// True if nothing more may be put there, because the range is about to leave.
    closed: bool,
}

impl Placed for Home {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

/// Reference to the memory of a range that hosts its own bookkeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host(NonNull<Home>);

// SAFETY: it owns all that it points to.
unsafe impl Send for Memory {}

/// A request to the heap: a block of `more` bytes, or at least of `need`.
#[cfg(feature = "alloc")]
pub(crate) struct Wish {
    more: usize,
    need: usize,
}

/// A block of the heap.
#[cfg(feature = "alloc")]
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

#[cfg(feature = "alloc")]
impl Wish {
    /// Allocates the block.
    pub(crate) fn grant(self) -> Option<Block> {
        [self.more, self.need].into_iter().find_map(|size| {
            let size = size.checked_next_multiple_of(GRAIN)?;
            let layout = Layout::from_size_align(size, GRAIN).ok()?;
            // SAFETY: the size is not zero.
            let start = NonNull::new(unsafe { alloc::alloc::alloc(layout) })?;
            Some(Block { start, layout })
        })
    }
}

#[cfg(feature = "alloc")]
impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nobody uses it.
        unsafe { alloc::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Self {
            own: Pool::new(),
            on_heap: false,
            hosts: ByAddress::new(),
            store: None,
            closed: 0,
            hosted_live: 0,
            vacant: None,
            #[cfg(test)]
            until_failure: None,
        }
    }

    /// Lets it grow on the heap.
    #[cfg(feature = "alloc")]
    pub(crate) fn grow_on_heap(&mut self) {
        self.on_heap = true;
    }

    /// True if it has ever been given memory, or may use the heap.
    pub(crate) fn has_source(&self) -> bool {
        self.on_heap || !self.own.is_empty() || !self.hosts.is_empty()
    }

    /// Bytes of allocated pieces.
    pub(crate) fn live(&self) -> usize {
        self.own.live() + self.hosted_live
    }

    /// Takes memory over for as long as the table lives. A fragment that is too small stays unused.
    pub(crate) fn donate(&mut self, memory: &'static mut [MaybeUninit<u8>]) {
        let len = memory.len();
        let start = NonNull::from(memory).cast();
        // SAFETY: the memory is ours alone, for ever.
        unsafe { self.own.add_region(start, len, false) };
    }

    /// Allocates uninitialised memory: from its own, or else from any host.
    pub(crate) fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        let own = if self.fails_now() {
            None
        } else {
            self.alloc_own(layout)
        };
        own.or_else(|| self.alloc_hosted(layout)).ok_or(NoMemory)
    }

    /// Allocates from the last host that had room, or else from the first one with room. A small
    /// piece may fit where no longer one does, so all hosts are tried before the request is
    /// refused.
    fn alloc_hosted(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let with_room = self.hosts.with_room(Pool::need(layout)).map(Host);
        for host in [self.store, with_room].into_iter().flatten() {
            if let Some(piece) = self.store_in(host, layout) {
                return Some(piece);
            }
        }
        let mut next = self.hosts.around(0)[1];
        while let Some(home) = next {
            if let Some(piece) = self.store_in(Host(home), layout) {
                return Some(piece);
            }
            next = self.hosts.around(home.addr().get())[1];
        }
        None
    }

    fn store_in(&mut self, host: Host, layout: Layout) -> Option<NonNull<u8>> {
        if self.home(host).closed {
            return None;
        }
        let piece = self.take_in(host, layout)?;
        self.store = Some(host);
        Some(piece)
    }

    fn take_in(&mut self, host: Host, layout: Layout) -> Option<NonNull<u8>> {
        let piece = self.home_mut(host).pool.take(layout)?;
        self.hosted_live += Pool::footprint(layout);
        self.note_room(host);
        Some(piece)
    }

    /// Updates the room of a host in the tree.
    fn note_room(&mut self, host: Host) {
        let home = self.home(host);
        let room = if home.closed { 0 } else { home.pool.longest() };
        if room != home.links.room() {
            self.hosts.set_room(host.0, room);
        }
    }

    fn alloc_own(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let piece = self.own.take(layout);
        if piece.is_some() {
            return piece;
        }
        self.grow(layout);
        self.own.take(layout)
    }

    /// Frees a piece.
    ///
    /// # Safety
    /// The piece came from `alloc` or `alloc_in` of this memory with this layout, and nobody uses
    /// it any more.
    pub(crate) unsafe fn free(&mut self, piece: NonNull<u8>, layout: Layout) {
        if self.own.has(piece) {
            // SAFETY: the caller's promise; no two pools have a byte in common.
            return unsafe { self.own.put(piece, layout) };
        }
        let [home, _] = self.hosts.around(piece.addr().get());
        let host = Host(home.expect("what is not its own is a host's"));
        // SAFETY: as above; a host's pieces lie between its header and that of the next host.
        unsafe { self.home_mut(host).pool.put(piece, layout) };
        self.hosted_live -= Pool::footprint(layout);
        self.note_room(host);
    }

    /// Blocks that no longer belong to the table, to be dropped without the lock.
    #[inline]
    pub(crate) fn released(&mut self) -> &mut Released {
        self.own.released()
    }

    #[cfg(test)]
    fn fails_now(&mut self) -> bool {
        let Some(left) = &mut self.until_failure else {
            return false;
        };
        let fails = *left == 0;
        *left = left.saturating_sub(1);
        fails
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests count")]
    fn fails_now(&self) -> bool {
        false
    }

    /// Takes a block with room for a piece from the heap, if possible.
    #[cfg(feature = "alloc")]
    fn grow(&mut self, layout: Layout) {
        if self.on_heap
            && let Some(block) = self.wish(Pool::need(layout)).grant()
        {
            self.add(block);
        }
    }

    /// The request to the heap that makes room for this many contiguous bytes, if one is needed.
    #[cfg(feature = "alloc")]
    pub(crate) fn lacks(&self, bytes: usize) -> Option<Wish> {
        let lacks = self.on_heap && self.own.longest() < bytes;
        lacks.then(|| self.wish(bytes))
    }

    /// A request for more than the need if possible, so that there are few blocks.
    #[cfg(feature = "alloc")]
    fn wish(&self, bytes: usize) -> Wish {
        let need = bytes.saturating_add(GRAIN + Pool::OVERHEAD);
        let more = (self.own.live() / 4).clamp(HEAP_MIN, HEAP_MAX).max(need);
        Wish { more, need }
    }

    /// Takes a block of the heap over.
    #[cfg(feature = "alloc")]
    pub(crate) fn add(&mut self, block: Block) {
        let Block { start, layout } = block;
        mem::forget(block);
        // SAFETY: the block is fresh from the heap, and has no other user.
        unsafe { self.own.add_region(start, layout.size(), true) };
    }

    #[cfg(not(feature = "alloc"))]
    fn grow(&mut self, _: Layout) {
        debug_assert!(!self.on_heap, "there is no heap");
    }
}

/// Ranges that host their own bookkeeping.
impl Memory {
    /// Bytes that a host must have in addition to those of its pieces.
    pub(crate) const HOST_OVERHEAD: usize =
        2 * align_of::<Home>() + size_of::<Home>() + Pool::OVERHEAD + GRAIN;

    /// Takes over the memory of these frames, for the bookkeeping of their range.
    ///
    /// # Errors
    /// The memory, if it is too small.
    pub(crate) fn host(
        &mut self,
        frames: Frames,
        memory: &'static mut [MaybeUninit<u8>],
    ) -> Result<Host, &'static mut [MaybeUninit<u8>]> {
        let len = memory.len();
        let skip = memory.as_ptr().align_offset(align_of::<Home>());
        let head = skip.saturating_add(size_of::<Home>());
        if len < head {
            return Err(memory);
        }
        let start = NonNull::from(memory).cast::<u8>();
        let mut home = Home {
            links: Links::new(0),
            next: None,
            frames,
            start,
            len,
            pool: Pool::new(),
            closed: false,
        };
        // SAFETY: the memory is longer than its head.
        let rest = unsafe { start.add(head) };
        // SAFETY: the memory behind the head is ours alone until it is taken back, with the pool.
        unsafe { home.pool.add_region(rest, len - head, false) };
        // SAFETY: the memory is longer.
        let host = Host(unsafe { start.add(skip) }.cast());
        // SAFETY: the memory is ours, aligned, and long enough.
        unsafe { host.0.write(home) };
        // SAFETY: the header stays in place until the host is removed.
        unsafe { self.hosts.insert(host.0) };
        self.note_room(host);
        Ok(host)
    }

    fn home(&self, host: Host) -> &Home {
        // SAFETY: a host is in the tree or was just removed from it, and `self` is borrowed.
        unsafe { host.0.as_ref() }
    }

    fn home_mut(&mut self, mut host: Host) -> &mut Home {
        // SAFETY: as in `home`; `self` is mutably borrowed.
        unsafe { host.0.as_mut() }
    }

    /// The frames of a host; none if its range is gone.
    pub(crate) fn frames_of(&self, host: Host) -> Frames {
        self.home(host).frames
    }

    /// The frames of all hosts, and the hosts.
    pub(crate) fn hosted(&self) -> impl Iterator<Item = (Frames, Host)> + use<'_> {
        let hosts = self.hosts.iter().map(Host);
        hosts.map(|host| (self.home(host).frames, host))
    }

    /// Allocates a piece of this host's memory.
    pub(crate) fn alloc_in(&mut self, host: Host, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        self.take_in(host, layout).ok_or(NoMemory)
    }

    /// Bytes of allocated pieces in a host.
    pub(crate) fn live_in(&self, host: Host) -> usize {
        self.home(host).pool.live()
    }

    /// Closes or opens a host. A closed host only gets pieces from `alloc_in`.
    pub(crate) fn set_closed(&mut self, host: Host, closed: bool) {
        let was_closed = mem::replace(&mut self.home_mut(host).closed, closed);
        self.closed = self.closed - usize::from(was_closed) + usize::from(closed);
        self.note_room(host);
    }

    /// The frames of a closed host among these. O(1) if no host is closed, else O(hosts).
    pub(crate) fn closed_in(&self, frames: Frames) -> Option<Frames> {
        if self.closed == 0 {
            return None;
        }
        let mut hosted = self.hosted();
        let (found, _) =
            hosted.find(|&(host, at)| self.home(at).closed && host.overlaps(frames))?;
        Some(found)
    }

    /// Ends a host, as its range is gone. An empty host can be taken back; any other stays the
    /// table's own memory.
    pub(super) fn leave(&mut self, host: Host) {
        if self.hosts.around(host.0.addr().get())[0] != Some(host.0) {
            return;
        }
        if self.live_in(host) > 0 {
            self.home_mut(host).frames = Frames::NONE;
            return;
        }
        self.hosts.remove(host.0);
        self.closed -= usize::from(self.home(host).closed);
        self.store = self.store.filter(|store| *store != host);
        self.home_mut(host).next = self.vacant;
        self.vacant = Some(host);
    }

    /// Undoes `host` for a range that was not plugged. Returns the memory; `None` if other data is
    /// in it.
    pub(crate) fn undo_host(&mut self, host: Host) -> Option<&'static mut [MaybeUninit<u8>]> {
        self.leave(host);
        if self.vacant == Some(host) {
            self.take_back()
        } else {
            None
        }
    }

    /// The memory of an empty host, returned to the caller.
    pub(crate) fn take_back(&mut self) -> Option<&'static mut [MaybeUninit<u8>]> {
        let host = self.vacant?;
        let home = self.home(host);
        let (next, start, len) = (home.next, home.start, home.len);
        self.vacant = next;
        let memory = NonNull::slice_from_raw_parts(start.cast(), len);
        // SAFETY: it was handed in as such a slice, no piece of it is allocated, and the host is in
        // no list any more.
        Some(unsafe { &mut *memory.as_ptr() })
    }
}
