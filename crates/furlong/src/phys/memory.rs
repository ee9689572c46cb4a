//! Memory for what the table keeps: its own, which it was given or which comes from the heap; and
//! where that has no room, the memory of ranges that host their own bookkeeping.
//!
//! Who has a piece does not outlive the memory: both are fields of one table, memory the last one.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::error::NoMemory;
use super::pool::{GRAIN, Pool};
use super::segment::Frames;

/// The least that is asked of the heap at a time.
#[cfg(feature = "alloc")]
const HEAP_MIN: usize = 1 << 16;
/// The most, but for a larger piece.
#[cfg(feature = "alloc")]
const HEAP_MAX: usize = 1 << 20;

/// The memory of one table.
pub(super) struct Memory {
    own: Pool,
    /// Whether its own may grow on the heap.
    on_heap: bool,
    /// The oldest first.
    hosts: Option<Host>,
    /// Hosts in which nothing is any more, and which nobody has taken back.
    vacant: Option<Host>,
    /// Allocations of its own until one fails, in tests.
    #[cfg(test)]
    pub(super) until_failure: Option<usize>,
}

/// The first frames of a range, which host what is kept about it. It is described there.
struct Home {
    next: Option<Host>,
    frames: Frames,
    /// All that was handed in.
    start: NonNull<u8>,
    len: usize,
    pool: Pool,
    /// Nothing more is put there, for the range is about to leave.
    closed: bool,
}

/// Names the memory of a range that hosts its own bookkeeping.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Host(NonNull<Home>);

// SAFETY: it owns all that it points to.
unsafe impl Send for Memory {}

impl Memory {
    pub(super) const fn new() -> Self {
        Self {
            own: Pool::new(),
            on_heap: false,
            hosts: None,
            vacant: None,
            #[cfg(test)]
            until_failure: None,
        }
    }

    /// Lets it grow on the heap.
    #[cfg(feature = "alloc")]
    pub(super) fn grow_on_heap(&mut self) {
        self.on_heap = true;
    }

    /// Whether it has ever been given anything, or may take it from the heap.
    pub(super) fn has_source(&self) -> bool {
        self.on_heap || !self.own.is_empty() || self.hosts.is_some()
    }

    /// What a piece takes.
    pub(super) const fn footprint(layout: Layout) -> usize {
        Pool::footprint(layout)
    }

    /// What `count` small pieces take, with the chunks that they are cut from.
    pub(super) const fn small_footprint(layout: Layout, count: usize) -> usize {
        Pool::small_footprint(layout, count)
    }

    /// Bytes of pieces that are out.
    pub(super) fn live(&self) -> usize {
        let hosted = self.hosts().map(|host| self.live_in(host));
        self.own.live() + hosted.sum::<usize>()
    }

    /// Takes memory over for as long as the table lives; too little of it stays unused.
    pub(super) fn donate(&mut self, memory: &'static mut [MaybeUninit<u8>]) {
        let len = memory.len();
        // SAFETY: the memory is ours alone, and for ever.
        unsafe { self.own.add_region(NonNull::from(memory).cast(), len, None) };
    }

    /// A piece of memory, not initialised: of its own, else of what any range hosts.
    pub(super) fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        let own = if self.fails_now() {
            None
        } else {
            self.alloc_own(layout)
        };
        own.or_else(|| self.alloc_hosted(layout)).ok_or(NoMemory)
    }

    fn alloc_hosted(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let mut next = self.hosts;
        while let Some(host) = next {
            let home = self.home_mut(host);
            if !home.closed
                && let Some(piece) = home.pool.take(layout)
            {
                return Some(piece);
            }
            next = home.next;
        }
        None
    }

    fn alloc_own(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let piece = self.own.take(layout);
        if piece.is_some() {
            return piece;
        }
        self.grow(layout);
        self.own.take(layout)
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// It came from `alloc` or `alloc_in` of this memory with this layout, and nobody uses it any
    /// more.
    pub(super) unsafe fn free(&mut self, piece: NonNull<u8>, layout: Layout) {
        let host = self.hosts().find(|host| self.has(*host, piece));
        let pool = match host {
            Some(host) => &mut self.home_mut(host).pool,
            None => &mut self.own,
        };
        // SAFETY: the caller's promise; no two pools have a byte in common.
        unsafe { pool.put(piece, layout) };
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

    /// A block of the heap in which there is room for a piece, if there is one to be had: more than
    /// that if it can be, so that there are few.
    #[cfg(feature = "alloc")]
    fn grow(&mut self, layout: Layout) {
        let need = layout.size().checked_add(layout.align().max(GRAIN));
        let need = need.and_then(|need| need.checked_add(Pool::OVERHEAD));
        let (true, Some(need)) = (self.on_heap, need) else {
            return;
        };
        let more = (self.own.live() / 4).clamp(HEAP_MIN, HEAP_MAX).max(need);
        for size in [more, need] {
            let Ok(block) = Layout::from_size_align(size, GRAIN) else {
                continue;
            };
            // SAFETY: the size is not zero.
            let start = unsafe { alloc::alloc::alloc(block) };
            if let Some(start) = NonNull::new(start) {
                // SAFETY: fresh from the heap.
                unsafe { self.own.add_region(start, size, Some(block)) };
                return;
            }
        }
    }

    #[cfg(not(feature = "alloc"))]
    fn grow(&mut self, _: Layout) {
        debug_assert!(!self.on_heap, "there is no heap");
    }
}

/// Ranges that host their own bookkeeping.
impl Memory {
    /// The bytes that a host must have beside those of its pieces.
    pub(super) const HOST_OVERHEAD: usize =
        2 * align_of::<Home>() + size_of::<Home>() + Pool::OVERHEAD + GRAIN;

    /// Takes over the memory of these frames, for what is kept about a range.
    ///
    /// # Errors
    /// The memory, if it is too small.
    pub(super) fn host(
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
            next: None,
            frames,
            start,
            len,
            pool: Pool::new(),
            closed: false,
        };
        // SAFETY: the memory is longer than its head.
        let rest = unsafe { start.add(head) };
        // SAFETY: what is behind the head is ours alone until it is taken back, with the pool.
        unsafe { home.pool.add_region(rest, len - head, None) };
        // SAFETY: the memory is longer.
        let host = Host(unsafe { start.add(skip) }.cast());
        // SAFETY: the memory is ours, aligned, and long enough.
        unsafe { host.0.write(home) };
        match self.hosts().last() {
            Some(last) => self.home_mut(last).next = Some(host),
            None => self.hosts = Some(host),
        }
        Ok(host)
    }

    /// All hosts that are in use.
    fn hosts(&self) -> impl Iterator<Item = Host> + use<'_> {
        core::iter::successors(self.hosts, |host| self.home(*host).next)
    }

    fn home(&self, host: Host) -> &Home {
        // SAFETY: a host is in the list or was just taken out of it, and `self` is borrowed.
        unsafe { host.0.as_ref() }
    }

    fn home_mut(&mut self, mut host: Host) -> &mut Home {
        // SAFETY: as in `home`; `self` is mutably borrowed.
        unsafe { host.0.as_mut() }
    }

    fn has(&self, host: Host, piece: NonNull<u8>) -> bool {
        let home = self.home(host);
        let start = home.start.addr().get();
        (start..start + home.len).contains(&piece.addr().get())
    }

    /// The frames of all hosts, and the hosts.
    pub(super) fn hosted(&self) -> impl Iterator<Item = (Frames, Host)> + use<'_> {
        self.hosts().map(|host| (self.home(host).frames, host))
    }

    /// A piece of this host's memory.
    pub(super) fn alloc_in(&mut self, host: Host, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        self.home_mut(host).pool.take(layout).ok_or(NoMemory)
    }

    /// Bytes of pieces that are out of a host.
    pub(super) fn live_in(&self, host: Host) -> usize {
        self.home(host).pool.live()
    }

    /// Whether nothing more is put into a host but by name.
    pub(super) fn set_closed(&mut self, host: Host, closed: bool) {
        self.home_mut(host).closed = closed;
    }

    /// The range of a host is gone. If nothing is left there it can be taken back; else it stays
    /// the table's own.
    pub(super) fn leave(&mut self, host: Host) {
        if !self.hosts().any(|at| at == host) {
            return;
        }
        if self.live_in(host) > 0 {
            self.home_mut(host).frames = Frames::NONE;
            return;
        }
        let after = self.home(host).next;
        let before = self.hosts().find(|at| self.home(*at).next == Some(host));
        match before {
            Some(before) => self.home_mut(before).next = after,
            None => self.hosts = after,
        }
        self.home_mut(host).next = self.vacant;
        self.vacant = Some(host);
    }

    /// The memory of a host whose range was never there; `None` if something of others is in it.
    pub(super) fn undo_host(&mut self, host: Host) -> Option<&'static mut [MaybeUninit<u8>]> {
        self.leave(host);
        if self.vacant == Some(host) {
            self.take_back()
        } else {
            None
        }
    }

    /// The memory of a host that nothing is in any more: the caller's again.
    pub(super) fn take_back(&mut self) -> Option<&'static mut [MaybeUninit<u8>]> {
        let host = self.vacant?;
        let home = self.home(host);
        let (next, start, len) = (home.next, home.start, home.len);
        self.vacant = next;
        let memory = NonNull::slice_from_raw_parts(start.cast(), len);
        // SAFETY: it was handed in as such a slice, no piece of it is out, and the host is in no
        // list any more.
        Some(unsafe { &mut *memory.as_ptr() })
    }
}
