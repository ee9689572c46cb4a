//! The page source of an allocator under test: Linux, with a limit and a record of all mappings.
#![expect(unsafe_code, reason = "it brings memory to an allocator")]

use core::ptr::NonNull;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use furlong::malloc::{Latch, Linux, Misuse, PageSource};

/// The length of each mapping by its start, and the number of bytes that may still be mapped.
#[derive(Debug)]
struct Book {
    mapped: BTreeMap<usize, usize>,
    left: usize,
    /// The number of reads of the clock.
    looks: u64,
}

/// Pages from Linux. Dropping it unmaps everything that is still mapped.
#[derive(Debug)]
pub struct Pages {
    book: Mutex<Book>,
    /// The least size of a page.
    page: usize,
}

impl Pages {
    /// A source of at most `limit` bytes in total.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            book: Mutex::new(Book {
                mapped: BTreeMap::new(),
                left: limit,
                looks: 0,
            }),
            page: 1,
        }
    }

    /// The same with pages of at least `page` bytes, a power of two: no call may name less.
    #[must_use]
    pub const fn of(mut self, page: usize) -> Self {
        self.page = page;
        self
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for a call about whole pages.
    fn book_for(&self, start: NonNull<u8>, len: usize) -> MutexGuard<'_, Book> {
        let is_whole = (address(start) | len).is_multiple_of(self.page_size());
        assert!(is_whole, "{len} bytes at {start:?} are not whole pages");
        self.book()
    }
}

fn at(start: usize) -> NonNull<u8> {
    NonNull::new(core::ptr::with_exposed_provenance_mut(start)).expect("memory is not at 0")
}

fn address(start: NonNull<u8>) -> usize {
    start.as_ptr().expose_provenance()
}

impl Book {
    /// The mapping that contains the whole range.
    fn holder(&self, start: usize, len: usize) -> (usize, usize) {
        let holder = self.mapped.range(..=start).next_back();
        let (first, whole) = holder.expect("the allocator names memory that is mapped");
        assert!(
            start + len <= first + whole,
            "{len} bytes at {start:#x} are not mapped"
        );
        (*first, *whole)
    }

    /// Removes a range from the record.
    fn cut(&mut self, start: usize, len: usize) {
        let (first, whole) = self.holder(start, len);
        self.mapped.remove(&first);
        if start > first {
            self.mapped.insert(first, start - first);
        }
        if start + len < first + whole {
            self.mapped.insert(start + len, first + whole - start - len);
        }
        self.left += len;
    }
}

// SAFETY: all memory comes from Linux; the limit and the record do not change it.
unsafe impl PageSource for Pages {
    fn page_size(&self) -> usize {
        Linux.page_size().max(self.page)
    }

    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        let mut book = self.book();
        assert!(len.is_multiple_of(self.page_size()) && align >= self.page_size());
        if len > book.left {
            return None;
        }
        let start = Linux.map(len, align)?;
        book.left -= len;
        book.mapped.insert(address(start), len);
        Some(start)
    }

    unsafe fn unmap(&self, start: NonNull<u8>, len: usize) {
        let mut book = self.book_for(start, len);
        book.cut(address(start), len);
        // SAFETY: the caller's promise; the range is recorded as mapped.
        unsafe { Linux.unmap(start, len) };
    }

    fn returns_arenas(&self) -> bool {
        true
    }

    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool {
        self.book_for(start, len).holder(address(start), len);
        // SAFETY: the caller's promise; the range is recorded as mapped.
        unsafe { Linux.purge(start, len) }
    }

    unsafe fn resize(&self, start: NonNull<u8>, old: usize, new: usize) -> bool {
        let mut book = self.book_for(start, old | new);
        let whole = book.holder(address(start), old);
        let is_whole = whole == (address(start), old);
        if new > old && (!is_whole || new - old > book.left) {
            return false;
        }
        // SAFETY: the caller's promise; the range is recorded as mapped.
        let done = unsafe { Linux.resize(start, old, new) };
        if done && new < old {
            book.cut(address(start) + new, old - new);
        } else if done {
            book.left -= new - old;
            book.mapped.insert(address(start), new);
        }
        done
    }

    unsafe fn relocate(&self, from: NonNull<u8>, len: usize, to: NonNull<u8>, room: usize) -> bool {
        let mut book = self.book_for(from, len);
        book.holder(address(to), room);
        // SAFETY: the caller's promise; both ranges are recorded as mapped.
        let done = unsafe { Linux.relocate(from, len, to, room) };
        if done {
            book.cut(address(from), len);
        }
        done
    }

    unsafe fn prefer_huge_pages(&self, start: NonNull<u8>, len: usize) -> bool {
        self.book_for(start, len).holder(address(start), len);
        // SAFETY: the caller's promise; the range is recorded as mapped.
        unsafe { Linux.prefer_huge_pages(start, len) }
    }

    unsafe fn split_huge_pages(&self, start: NonNull<u8>, len: usize) {
        self.book_for(start, len).holder(address(start), len);
        // SAFETY: the caller's promise; the range is recorded as mapped.
        unsafe { Linux.split_huge_pages(start, len) };
    }

    unsafe fn guard(&self, start: NonNull<u8>, len: usize) -> bool {
        self.book_for(start, len).holder(address(start), len);
        // SAFETY: the caller's promise; the range is recorded as mapped.
        unsafe { Linux.guard(start, len) }
    }

    unsafe fn unguard(&self, start: NonNull<u8>, len: usize) -> bool {
        self.book_for(start, len).holder(address(start), len);
        // SAFETY: as above.
        unsafe { Linux.unguard(start, len) }
    }

    unsafe fn guard_page(&self, page: NonNull<u8>) -> bool {
        self.book_for(page, Linux.page_size())
            .holder(address(page), Linux.page_size());
        // SAFETY: the caller's promise; the page is recorded as mapped.
        self.page_size() == Linux.page_size() && unsafe { Linux.guard_page(page) }
    }

    unsafe fn unguard_page(&self, page: NonNull<u8>) -> bool {
        self.book_for(page, Linux.page_size())
            .holder(address(page), Linux.page_size());
        // SAFETY: as above.
        unsafe { Linux.unguard_page(page) }
    }

    fn caller(&self) -> u32 {
        Linux.caller()
    }

    fn wait(&self, latch: &Latch, caller: u32) {
        Linux.wait(latch, caller);
    }

    fn wake(&self, latch: &Latch, caller: u32) {
        Linux.wake(latch, caller);
    }

    /// Advances by 100 ms at every read, so that periodic work comes due within a stream.
    fn now_ms(&self) -> u64 {
        let mut book = self.book();
        book.looks += 1;
        book.looks * 100
    }

    /// The same number each time, so that a seed is enough to repeat a stream.
    fn random(&self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    fn stop(&self, misuse: Misuse, address: usize) -> ! {
        panic!("the program was stopped: {misuse}: {address:#x}")
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        while let Some((start, len)) = self.book().mapped.pop_first() {
            // SAFETY: it is mapped, and the allocator that used it is gone.
            unsafe { Linux.unmap(at(start), len) };
        }
    }
}
