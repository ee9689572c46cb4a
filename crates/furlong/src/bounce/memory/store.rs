//! Storage of a pool's tables: on the heap, or in memory from the caller.

use core::alloc::Layout;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::forms::debug_as;
use crate::sync::LINE;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Memory for the tables of one pool.
#[derive(Debug)]
pub struct Store {
    /// Memory from the caller; `None` if tables are on the heap.
    given: Option<Given>,
}

/// Memory from the caller, which is never returned.
#[derive(Debug)]
struct Given {
    start: NonNull<u8>,
    len: usize,
    /// Bytes that are used up.
    used: AtomicUsize,
}

// SAFETY: it owns the memory that it names.
unsafe impl Send for Given {}
// SAFETY: as above; one exchange decides who gets which part.
unsafe impl Sync for Given {}

impl Store {
    /// A store on the heap.
    #[cfg(feature = "alloc")]
    pub(crate) fn heap() -> Self {
        Self { given: None }
    }

    /// True if its rows are on the heap.
    pub(super) fn is_heap(&self) -> bool {
        self.given.is_none()
    }

    /// A store in this memory only.
    pub(crate) fn given(memory: &'static mut [MaybeUninit<u8>]) -> Self {
        let len = memory.len();
        let start = NonNull::from(memory).cast();
        let used = AtomicUsize::new(0);
        let given = Some(Given { start, len, used });
        Self { given }
    }

    /// The number of bytes used up, for a `rewind` if the next steps fail.
    pub(crate) fn mark(&self) -> usize {
        let given = self.given.as_ref();
        // Relaxed: allocations are serialised by the lock of growth.
        given.map_or(0, |given| given.used.load(Ordering::Relaxed))
    }

    /// Gives back everything allocated since the mark. Nothing of it may be left.
    pub(crate) fn rewind(&self, mark: usize) {
        if let Some(given) = &self.given {
            // Relaxed: as in `mark`.
            given.used.store(mark, Ordering::Relaxed);
        }
    }

    /// Makes a row of `len` values with `make`; `None` if out of memory, or if `make` returns
    /// `None`.
    pub(crate) fn try_row<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> Option<T>,
    ) -> Option<Row<T>> {
        self.filled(Layout::array::<T>(len).ok()?, len, make)
    }

    /// Makes a row in cache lines that it shares with nothing else.
    pub(crate) fn try_lines<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> Option<T>,
    ) -> Option<Row<T>> {
        let layout = Layout::array::<T>(len).ok()?.align_to(LINE).ok()?;
        self.filled(layout.pad_to_align(), len, make)
    }

    fn filled<T>(
        &self,
        layout: Layout,
        len: usize,
        mut make: impl FnMut(usize) -> Option<T>,
    ) -> Option<Row<T>> {
        let mut row = self.room(layout)?;
        for index in 0..len {
            let value = make(index)?;
            // SAFETY: the layout has room for `len` values.
            let place = unsafe { row.start.add(index) };
            // SAFETY: the place has no value yet.
            unsafe { place.write(value) };
            row.len += 1;
        }
        Some(row)
    }

    /// An empty row with room for `layout`.
    fn room<T>(&self, layout: Layout) -> Option<Row<T>> {
        let start = match &self.given {
            _ if layout.size() == 0 => NonNull::<T>::dangling(),
            Some(given) => given.take(layout)?.cast(),
            None => heap(layout)?.cast(),
        };
        Some(Row {
            start,
            len: 0,
            layout,
            on_heap: self.is_heap(),
        })
    }
}

impl Given {
    fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        let address = self.start.as_ptr().addr();
        let place = |used: usize| {
            let at = address.checked_add(used)?;
            let at = at.checked_next_multiple_of(layout.align())? - address;
            let end = at.checked_add(layout.size())?;
            (end <= self.len).then_some((at, end))
        };
        // Relaxed, twice: the caller hands its part on with other synchronization.
        let before = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                place(used).map(|(_, end)| end)
            });
        let (at, _) = place(before.ok()?)?;
        // SAFETY: in the memory, as just checked.
        Some(unsafe { self.start.add(at) })
    }
}

#[cfg(feature = "alloc")]
fn heap(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the size is not 0, which `room` has checked.
    NonNull::new(unsafe { alloc::alloc::alloc(layout) })
}

#[cfg(not(feature = "alloc"))]
fn heap(_: Layout) -> Option<NonNull<u8>> {
    None
}

/// Frees memory that `heap` has returned for this layout.
///
/// # Safety
/// Nobody uses it any more.
unsafe fn free(start: NonNull<u8>, layout: Layout) {
    #[cfg(feature = "alloc")]
    // SAFETY: obtained from the heap with this layout.
    unsafe {
        alloc::alloc::dealloc(start.as_ptr(), layout);
    }
    #[cfg(not(feature = "alloc"))]
    unreachable!("{layout:?} at {start:p} was not allocated by the heap");
}

/// Values in a store. Its drop frees those on the heap.
pub(crate) struct Row<T> {
    start: NonNull<T>,
    /// The number of initialised values.
    len: usize,
    /// The layout of the allocation.
    layout: Layout,
    on_heap: bool,
}

// SAFETY: it owns its values, as a box does.
unsafe impl<T: Send> Send for Row<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Row<T> {}

impl<T> Row<T> {
    /// The most bytes that a row of `len` values takes from a store.
    pub(crate) const fn footprint(len: usize) -> usize {
        size_of::<T>()
            .saturating_mul(len)
            .saturating_add(align_of::<T>() - 1)
    }

    /// The same for a row in cache lines of its own.
    pub(crate) const fn footprint_in_lines(len: usize) -> usize {
        size_of::<T>()
            .saturating_mul(len)
            .saturating_add(2 * (LINE - 1))
    }

    /// The values, for their only owner to change.
    pub(crate) fn as_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` values were made there; `self` is mutably borrowed.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Converts a row of one value to a pointer, for [`from_raw`](Self::from_raw).
    pub(super) fn into_raw(self) -> NonNull<T> {
        debug_assert!(self.layout == Layout::new::<T>(), "it has one value");
        core::mem::ManuallyDrop::new(self).start
    }

    /// The row of one value at this pointer.
    ///
    /// # Safety
    /// The pointer came from [`into_raw`](Self::into_raw), and no other row was made of it since.
    /// `on_heap` says whether its store is the heap.
    pub(super) unsafe fn from_raw(start: NonNull<T>, on_heap: bool) -> Self {
        Self {
            start,
            len: 1,
            layout: Layout::new::<T>(),
            on_heap,
        }
    }
}

impl<T> Deref for Row<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were made there; `self` is borrowed.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for Row<T> {
    fn drop(&mut self) {
        let values: *mut [T] = self.as_mut();
        // SAFETY: they were made, and nobody sees them after this.
        unsafe { core::ptr::drop_in_place(values) };
        if self.on_heap && self.layout.size() > 0 {
            // SAFETY: obtained in `room` with this layout, and its values are gone.
            unsafe { free(self.start.cast(), self.layout) };
        }
    }
}

debug_as! { Row<T> where [T: fmt::Debug]: |it| [it.iter()] }

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::{LINE, Row, Store};
    use core::mem::MaybeUninit;
    use std::rc::Rc;
    use std::sync::Mutex;

    /// A store in memory that is never freed and begins with a line. It stays reachable, so that
    /// leak checkers do not report it.
    fn given(len: usize) -> Store {
        static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
        let memory: &'static mut [_] = Box::leak(vec![MaybeUninit::uninit(); len + LINE].into());
        KEPT.lock().unwrap().push(memory.as_ptr().addr());
        let first = memory.as_ptr().align_offset(LINE);
        Store::given(&mut memory[first..first + len])
    }

    #[test]
    fn rows_of_memory_that_was_handed_in_do_not_meet_and_are_aligned() {
        let store = given(200);
        let bytes = store.try_row(3, |at| Some(at as u8)).unwrap();
        let words = store.try_row(20, |at| Some(at as u64)).unwrap();
        assert!(words.as_ptr().is_aligned());
        assert!(store.try_row(8, |at| Some(at as u64)).is_none());
        assert_eq!(*bytes, [0, 1, 2]);
        assert!(words.iter().copied().eq(0..20));
        let mark = store.mark();
        assert_eq!(
            store.try_row(5, |_| Some(7_u8)).as_deref(),
            Some(&[7; 5][..])
        );
        store.rewind(mark);
        assert_eq!(store.mark(), mark);
        assert!(mark <= Row::<u8>::footprint(3) + Row::<u64>::footprint(20));
    }

    #[test]
    fn a_row_in_lines_of_its_own_takes_its_footprint_if_its_store_is_aligned_worst() {
        let taken = (0..LINE).map(|before| {
            let store = given(4 * LINE);
            let _before = store.try_row(before, |_| Some(0_u8)).unwrap();
            let mark = store.mark();
            let row = store.try_lines(1, |_| Some(7_u8)).unwrap();
            assert!(row.as_ptr().addr().is_multiple_of(LINE));
            store.mark() - mark
        });
        assert_eq!(taken.max(), Some(Row::<u8>::footprint_in_lines(1)));
        let longer = Row::<u64>::footprint_in_lines(10) - Row::<u64>::footprint_in_lines(3);
        assert_eq!(longer, 7 * 8);
    }

    #[test]
    fn values_are_dropped_when_their_row_is_and_when_it_is_not_finished() {
        for store in [Store::heap(), given(1000)] {
            let counted = Rc::new(());
            let row = store.try_row(4, |_| Some(Rc::clone(&counted))).unwrap();
            assert_eq!(Rc::strong_count(&counted), 5);
            drop(row);
            assert_eq!(Rc::strong_count(&counted), 1);
            let half = store.try_row(4, |at| (at < 2).then(|| Rc::clone(&counted)));
            assert!(half.is_none());
            assert_eq!(Rc::strong_count(&counted), 1);
        }
    }

    #[test]
    fn a_value_that_goes_round_by_its_pointer_is_dropped_once() {
        for store in [Store::heap(), given(100)] {
            let counted = Rc::new(());
            let row = store.try_row(1, |_| Some(Rc::clone(&counted))).unwrap();
            let start = row.into_raw();
            assert_eq!(Rc::strong_count(&counted), 2);
            // SAFETY: the pointer just came from `into_raw`.
            drop(unsafe { Row::from_raw(start, store.is_heap()) });
            assert_eq!(Rc::strong_count(&counted), 1);
        }
    }

    #[test]
    fn a_row_without_values_or_bytes_needs_no_memory() {
        let store = given(0);
        assert!(store.try_row(0, |_| Some(1_u64)).is_some());
        assert!(
            store
                .try_row(5, |_| Some(()))
                .is_some_and(|row| row.len() == 5)
        );
        assert!(store.try_row(1, |_| Some(1_u8)).is_none());
    }
}
