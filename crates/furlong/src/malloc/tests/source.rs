//! The system below the allocators of these tests: Linux, with a budget, a clock and counts. It can
//! refuse each kind of call.

use core::ptr::NonNull;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

use super::super::central::arena::HUGE_PAGE;
use super::super::central::map::Map;
use super::super::{Linux, Misuse, PageSource};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The kinds of calls that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    /// A mapping for anything but records.
    Map,
    /// A mapping for the records of 1 GiB: how many are needed depends on where the system maps.
    Records,
    Unmap,
    Purge,
    Resize,
    Relocate,
    Populate,
    HugePages,
    Split,
    Guard,
    Unguard,
    GuardPage,
    UnguardPage,
    Now,
    Refused,
}

/// A source that returns arenas by default, and can neither resize, move, populate nor guard.
pub(super) struct Source {
    pub(super) page: usize,
    pub(super) returns_arenas: bool,
    /// The bytes that can still be mapped.
    pub(super) left: AtomicUsize,
    pub(super) purges: AtomicBool,
    pub(super) resizes: AtomicBool,
    pub(super) moves: AtomicBool,
    pub(super) guards: bool,
    pub(super) has_huge_pages: bool,
    /// False while it makes no guarded page accessible again.
    pub(super) opens: AtomicBool,
    /// The time, which the test sets, and by how much each look at it adds.
    pub(super) now: AtomicU64,
    pub(super) step_ms: u64,
    /// Called at the beginning of each call.
    pub(super) looks: fn(Call),
    /// Runs in another thread during the next purge.
    pub(super) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// The huge pages, by address, of which a part must not be purged.
    pub(super) huge: Mutex<BTreeSet<usize>>,
    pub(super) calls: [AtomicUsize; 15],
    pub(super) bytes: [AtomicUsize; 15],
}

impl Default for Source {
    fn default() -> Self {
        Self {
            page: 4096,
            returns_arenas: true,
            left: AtomicUsize::new(usize::MAX / 2),
            purges: AtomicBool::new(true),
            resizes: AtomicBool::new(false),
            moves: AtomicBool::new(false),
            guards: false,
            has_huge_pages: true,
            opens: AtomicBool::new(true),
            now: AtomicU64::new(0),
            step_ms: 0,
            looks: |_| (),
            meanwhile: Mutex::new(None),
            huge: Mutex::new(BTreeSet::new()),
            calls: Default::default(),
            bytes: Default::default(),
        }
    }
}

impl Source {
    /// A source that keeps arenas.
    pub(super) fn keeping() -> Self {
        Self {
            returns_arenas: false,
            ..Self::default()
        }
    }

    /// A source that can resize and move mappings.
    pub(super) fn able() -> Self {
        Self {
            resizes: AtomicBool::new(true),
            moves: AtomicBool::new(true),
            ..Self::default()
        }
    }

    fn note(&self, call: Call, len: usize) {
        (self.looks)(call);
        self.calls[call as usize].fetch_add(1, Ordering::SeqCst);
        self.bytes[call as usize].fetch_add(len, Ordering::SeqCst);
    }

    /// The number of calls of a kind.
    pub(super) fn calls(&self, call: Call) -> usize {
        self.calls[call as usize].load(Ordering::SeqCst)
    }

    /// The bytes of all calls of a kind.
    pub(super) fn bytes(&self, call: Call) -> usize {
        self.bytes[call as usize].load(Ordering::SeqCst)
    }

    /// Calls a closure for each of Linux's pages of one of these.
    fn each(&self, page: NonNull<u8>, call: impl Fn(NonNull<u8>) -> bool) -> bool {
        let mut parts = (0..self.page).step_by(4096);
        // SAFETY: within the page.
        parts.all(|at| call(unsafe { page.add(at) }))
    }

    /// Forgets the huge pages with a part of a range.
    fn forget_huge(&self, start: NonNull<u8>, len: usize) {
        let (from, end) = (start.addr().get(), start.addr().get() + len);
        let mut huge = self.huge.lock().expect("nobody panicked");
        huge.retain(|page| *page >= end || *page + HUGE_PAGE <= from);
    }

    /// The calls of map, resize and relocate since the last call of this.
    pub(super) fn take_calls(&self) -> [usize; 3] {
        [Call::Map, Call::Resize, Call::Relocate]
            .map(|call| self.calls[call as usize].swap(0, Ordering::SeqCst))
    }
}

// SAFETY: all memory is Linux's, and aligned to larger pages.
unsafe impl PageSource for Source {
    fn page_size(&self) -> usize {
        self.page
    }

    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        assert!(len.is_multiple_of(self.page) && align >= self.page);
        let records = len == Map::records(self.page).0;
        self.note(if records { Call::Records } else { Call::Map }, len);
        let take = |left: usize| left.checked_sub(len);
        let taken = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        taken.ok()?;
        Linux.map(len, align)
    }

    unsafe fn unmap(&self, start: NonNull<u8>, len: usize) {
        self.note(Call::Unmap, len);
        self.left.fetch_add(len, Ordering::SeqCst);
        self.forget_huge(start, len);
        // SAFETY: the caller's promise.
        unsafe { Linux.unmap(start, len) };
    }

    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool {
        assert!((start.addr().get() | len).is_multiple_of(self.page));
        self.note(Call::Purge, len);
        let (from, end) = (start.addr().get(), start.addr().get() + len);
        let huge = self.huge.lock().expect("nobody panicked").clone();
        for page in huge {
            let (first, last) = (page, page + HUGE_PAGE);
            assert!(last <= from || end <= first || from <= first && last <= end);
        }
        let meanwhile = self.meanwhile.lock().expect("nobody panicked").take();
        if let Some(run) = meanwhile {
            thread::spawn(run).join().expect("what it asserts holds");
        }
        // SAFETY: the caller's promise.
        self.purges.load(Ordering::SeqCst) && unsafe { Linux.purge(start, len) }
    }

    fn returns_arenas(&self) -> bool {
        self.returns_arenas
    }

    unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool {
        self.note(Call::Resize, new);
        let more = new.saturating_sub(old);
        let can = self.resizes.load(Ordering::SeqCst) && more <= self.left.load(Ordering::SeqCst);
        // SAFETY: the caller's promise.
        let done = can && unsafe { Linux.resize(start, old, new) };
        if done {
            self.left.fetch_sub(more, Ordering::SeqCst);
            self.left
                .fetch_add(old.saturating_sub(new), Ordering::SeqCst);
        }
        if done && new < old {
            // SAFETY: within the mapping.
            self.forget_huge(unsafe { start.add(new) }, old - new);
        }
        done
    }

    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
        self.note(Call::Relocate, len);
        // SAFETY: the caller's promise.
        let moved =
            self.moves.load(Ordering::SeqCst) && unsafe { Linux.relocate(from, len, to, room) };
        if moved {
            self.forget_huge(from, len);
            self.left.fetch_add(len, Ordering::SeqCst);
        }
        moved
    }

    unsafe fn populate(&self, start: NonNull<u8>, len: usize) {
        self.note(Call::Populate, len);
        if self.guards {
            // SAFETY: the caller's promise.
            unsafe { Linux.populate(start, len) };
        }
    }

    unsafe fn prefer_huge_pages(&self, start: NonNull<u8>, len: usize) -> bool {
        self.note(Call::HugePages, len);
        let (from, end) = (start.addr().get(), start.addr().get() + len);
        let pages = (from.next_multiple_of(HUGE_PAGE)..end).step_by(HUGE_PAGE);
        let mut huge = self.huge.lock().expect("nobody panicked");
        huge.extend(pages.filter(|page| self.has_huge_pages && page + HUGE_PAGE <= end));
        self.has_huge_pages
    }

    unsafe fn split_huge_pages(&self, start: NonNull<u8>, len: usize) {
        self.note(Call::Split, len);
        self.forget_huge(start, len);
    }

    unsafe fn guard(&self, start: NonNull<u8>, len: usize) -> bool {
        self.note(Call::Guard, len);
        // SAFETY: the caller's promise.
        self.guards && unsafe { Linux.guard(start, len) }
    }

    unsafe fn unguard(&self, start: NonNull<u8>, len: usize) -> bool {
        self.note(Call::Unguard, len);
        // SAFETY: the caller's promise.
        self.opens.load(Ordering::SeqCst) && unsafe { Linux.unguard(start, len) }
    }

    unsafe fn guard_page(&self, page: NonNull<u8>) -> bool {
        self.note(Call::GuardPage, self.page);
        // SAFETY: the caller's promise.
        self.guards && self.each(page, |page| unsafe { Linux.guard_page(page) })
    }

    unsafe fn unguard_page(&self, page: NonNull<u8>) -> bool {
        self.note(Call::UnguardPage, self.page);
        let opens = self.opens.load(Ordering::SeqCst);
        // SAFETY: the caller's promise.
        opens && self.each(page, |page| unsafe { Linux.unguard_page(page) })
    }

    fn now_ms(&self) -> u64 {
        self.note(Call::Now, 0);
        self.now.fetch_add(self.step_ms, Ordering::SeqCst)
    }

    /// Always the same number, so that a failure can be repeated.
    fn random(&self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    fn refused(&self) {
        self.note(Call::Refused, 0);
    }

    /// Unwinds with the reason.
    fn stop(&self, misuse: Misuse, address: usize) -> ! {
        eprintln!("the program was stopped: {misuse}: {address:#x}");
        resume_unwind(Box::new((misuse, address)))
    }
}
