//! The words of a table with frames above 1 TiB: in pages where there is memory, under middle
//! tables, under a top. All frames are found the same way, without a branch.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::geometry::{MIDDLE_FRAME_BITS, MIDDLE_PAGES, PAGE_FRAME_BITS, PAGE_SECTIONS};
use super::leaf::Block;
use super::root::Word;
use crate::phys::{Deferred, Memory, NoMemory, Pool, RawArray, SECTION_BITS};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::const_unless_loom;

/// Leads to a page, the words of consecutive sections; without memory there, to the empty page.
type PageWord<D> = AtomicPtr<Word<D>>;
/// Leads to a middle table of pages; without memory there, to the empty one.
type MiddleWord<D> = AtomicPtr<PageWord<D>>;

/// The readers' data: leads to the top.
pub(super) struct Top<D>(AtomicPtr<MiddleWord<D>>);

impl<D> Top<D> {
    const_unless_loom! {
        pub(super) const fn new() -> Self {
            Self(AtomicPtr::new(core::ptr::null_mut()))
        }
    }

    /// The word of the section of a frame for which the top has room.
    #[inline(always)]
    pub(super) fn word(&self, frame: u64, seen: &mut impl FnMut()) -> *mut Block<D> {
        seen();
        // Acquire: pairs with `wide-top`; its words are seen initialised.
        let top = self.0.load(Ordering::Acquire);
        // SAFETY: this top and every later one have a word for each frame below the limit.
        let place = unsafe { top.add((frame >> MIDDLE_FRAME_BITS) as usize) };
        seen();
        // SAFETY: tops are freed after a grace period.
        // Acquire: pairs with `top-middle`; the middle table is seen initialised.
        let middle = unsafe { &*place }.load(Ordering::Acquire);
        // SAFETY: a middle table has `MIDDLE_PAGES` words.
        let place = unsafe { middle.add(page_in_middle(frame)) };
        seen();
        // SAFETY: middle tables live as long as the structure.
        // Acquire: pairs with `middle-page`; the page is seen initialised.
        let page = unsafe { &*place }.load(Ordering::Acquire);
        // SAFETY: a page has `PAGE_SECTIONS` words.
        let word = unsafe { page.add(section_in_page(frame >> SECTION_BITS)) };
        // SAFETY: pages live as long as the structure.
        // Acquire: pairs with `section-word`; the cell or leaf is seen initialised.
        unsafe { &*word }.load(Ordering::Acquire)
    }
}

#[inline(always)]
fn page_in_middle(frame: u64) -> usize {
    (frame >> PAGE_FRAME_BITS) as usize % MIDDLE_PAGES
}

#[inline(always)]
fn section_in_page(section: u64) -> usize {
    section as usize % PAGE_SECTIONS
}

/// The writer's data.
pub(super) struct Wide<D> {
    top: RawArray<MiddleWord<D>>,
    /// The empty middle table and the empty page, for ranges without memory.
    no_middle: RawArray<PageWord<D>>,
    no_page: RawArray<Word<D>>,
    /// True once sections are found here.
    is_used: bool,
    bytes: usize,
}

impl<D> Wide<D> {
    pub(super) const fn new() -> Self {
        Self {
            top: RawArray::new(),
            no_middle: RawArray::new(),
            no_page: RawArray::new(),
            is_used: false,
            bytes: 0,
        }
    }

    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) fn use_it(&mut self) {
        self.is_used = true;
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Publishes the top to readers. Returns the number of frames for which it has room; 0 if it is
    /// not in use.
    pub(super) fn publish(&self, top: &Top<D>) -> u64 {
        if !self.is_used {
            return 0;
        }
        // Release, `wide-top`: pairs with the load in `Top::word`.
        top.0.store(self.top.as_ptr(), Ordering::Release);
        (self.top.room() as u64) << MIDDLE_FRAME_BITS
    }

    /// Makes pages for frames `start..end`. Their words lead to `empty` at first.
    pub(super) fn cover(
        &mut self,
        memory: &mut Memory,
        deferred: &mut Deferred,
        (start, end): (u64, u64),
        empty: *mut Block<D>,
    ) -> Result<(), NoMemory> {
        self.need_empty(memory, empty)?;
        let last = ((end - 1) >> MIDDLE_FRAME_BITS) as usize;
        if last >= self.top.room() {
            self.grow_top(memory, deferred, (last + 1).next_power_of_two())?;
        }
        for page in start >> PAGE_FRAME_BITS..=(end - 1) >> PAGE_FRAME_BITS {
            self.need_page(memory, page << PAGE_FRAME_BITS, empty)?;
        }
        Ok(())
    }

    fn need_empty(&mut self, memory: &mut Memory, empty: *mut Block<D>) -> Result<(), NoMemory> {
        if self.no_page.room() == 0 {
            self.no_page
                .grow(memory, PAGE_SECTIONS, |_, _| AtomicPtr::new(empty))?;
            self.bytes += self.no_page.bytes();
        }
        if self.no_middle.room() == 0 {
            let page = self.no_page.as_ptr();
            self.no_middle
                .grow(memory, MIDDLE_PAGES, |_, _| AtomicPtr::new(page))?;
            self.bytes += self.no_middle.bytes();
        }
        Ok(())
    }

    fn grow_top(
        &mut self,
        memory: &mut Memory,
        deferred: &mut Deferred,
        room: usize,
    ) -> Result<(), NoMemory> {
        let no_middle = self.no_middle.as_ptr();
        let before = self.top.bytes();
        let copy = |old: &RawArray<MiddleWord<D>>, at| {
            // Relaxed: the writer's own word.
            let middle = old.get(at).map(|place| place.load(Ordering::Relaxed));
            AtomicPtr::new(middle.unwrap_or(no_middle))
        };
        let old = self.top.grow(memory, room, copy)?;
        self.bytes = self.bytes + self.top.bytes() - before;
        // SAFETY: the new top is published before the change ends; see `update::prepare`.
        unsafe { old.retire(deferred) };
        Ok(())
    }

    fn need_page(
        &mut self,
        memory: &mut Memory,
        frame: u64,
        empty: *mut Block<D>,
    ) -> Result<(), NoMemory> {
        let at = (frame >> MIDDLE_FRAME_BITS) as usize;
        let place = self.top.get(at).expect("the top was grown");
        // Relaxed: the writer's own word.
        if place.load(Ordering::Relaxed) == self.no_middle.as_ptr() {
            let no_page = self.no_page.as_ptr();
            let mut middle = RawArray::new();
            middle.grow(memory, MIDDLE_PAGES, |_: &_, _| AtomicPtr::new(no_page))?;
            self.bytes += middle.bytes();
            // Release, `top-middle`: pairs with the load in `Top::word`.
            place.store(middle.as_ptr(), Ordering::Release);
        }
        let place = self.page_word(frame).expect("there is a middle table");
        // Relaxed: the writer's own word.
        if place.load(Ordering::Relaxed) == self.no_page.as_ptr() {
            let mut page = RawArray::new();
            page.grow(memory, PAGE_SECTIONS, |_: &_, _| AtomicPtr::new(empty))?;
            // Release, `middle-page`: pairs with the load in `Top::word`.
            place.store(page.as_ptr(), Ordering::Release);
            self.bytes += page.bytes();
        }
        Ok(())
    }

    /// The middle table of a frame, if there is one.
    fn middle(&self, frame: u64) -> Option<NonNull<PageWord<D>>> {
        let place = self.top.get((frame >> MIDDLE_FRAME_BITS) as usize)?;
        // Relaxed: the writer's own word.
        let middle = NonNull::new(place.load(Ordering::Relaxed))?;
        (middle.as_ptr() != self.no_middle.as_ptr()).then_some(middle)
    }

    /// The word that leads to the page of a frame, if there is a middle table.
    fn page_word(&self, frame: u64) -> Option<&PageWord<D>> {
        // SAFETY: a middle table has `MIDDLE_PAGES` words.
        let word = unsafe { self.middle(frame)?.add(page_in_middle(frame)) };
        // SAFETY: middle tables live as long as the structure.
        Some(unsafe { word.as_ref() })
    }

    /// The page of a frame, if there is one.
    fn page(&self, frame: u64) -> Option<NonNull<Word<D>>> {
        // Relaxed: the writer's own word.
        let page = NonNull::new(self.page_word(frame)?.load(Ordering::Relaxed))?;
        (page.as_ptr() != self.no_page.as_ptr()).then_some(page)
    }

    /// The word of a section, if there is a page for it.
    pub(super) fn word(&self, section: u64) -> Option<&Word<D>> {
        let page = self.page(section << SECTION_BITS)?;
        // SAFETY: a page has `PAGE_SECTIONS` words.
        let word = unsafe { page.add(section_in_page(section)) };
        // SAFETY: pages live as long as the structure.
        Some(unsafe { word.as_ref() })
    }

    /// First frames of the existing middle tables.
    fn middles(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let all = (0..self.top.room()).map(|at| (at as u64) << MIDDLE_FRAME_BITS);
        all.filter(|frame| self.middle(*frame).is_some())
    }

    /// First frames of all possible pages of a middle table.
    fn pages_of(middle: u64) -> impl Iterator<Item = u64> {
        (0..MIDDLE_PAGES as u64).map(move |at| middle + (at << PAGE_FRAME_BITS))
    }

    /// All sections that have a page.
    pub(super) fn sections(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let pages = self.middles().flat_map(Self::pages_of);
        let pages = pages.filter(|frame| self.page(*frame).is_some());
        let first = |frame: u64| frame >> SECTION_BITS;
        pages.flat_map(move |frame| first(frame)..first(frame) + PAGE_SECTIONS as u64)
    }

    /// Frees all arrays. There must be no readers.
    pub(super) fn free(&mut self, memory: &mut Memory) {
        for middle in self.middles() {
            for page in Self::pages_of(middle).filter_map(|frame| self.page(frame)) {
                RawArray::from_start(page, PAGE_SECTIONS).free(memory);
            }
            if let Some(middle) = self.middle(middle) {
                RawArray::from_start(middle, MIDDLE_PAGES).free(memory);
            }
        }
        self.top.free(memory);
        self.no_middle.free(memory);
        self.no_page.free(memory);
        *self = Self::new();
    }

    /// The most bytes that pages for frames `start..end` take, with everything above them.
    pub(super) fn footprint(start: u64, end: u64) -> usize {
        let count = |bits: u32| (((end - 1) >> bits) - (start >> bits) + 1) as usize;
        // One more of each, for the empty ones.
        let pages = match Layout::array::<Word<D>>(PAGE_SECTIONS) {
            Ok(page) => Pool::small_footprint(page, count(PAGE_FRAME_BITS) + 1),
            Err(_) => return usize::MAX,
        };
        let middle = RawArray::<PageWord<D>>::footprint(MIDDLE_PAGES);
        let top = ((end - 1) >> MIDDLE_FRAME_BITS) as usize + 1;
        let top = RawArray::<MiddleWord<D>>::footprint(top.next_power_of_two());
        pages + middle * (count(MIDDLE_FRAME_BITS) + 1) + top
    }
}
