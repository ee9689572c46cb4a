//! A table that only grows, read without a lock.

use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::bounce::{Row, Store};
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Values that are added and never removed: a reference to one is valid as long as the table.
pub(crate) struct Table<T> {
    entries: Row<AtomicPtr<T>>,
    len: AtomicUsize,
    /// True if all its values are on the heap; false if none is.
    on_heap: bool,
    owns: PhantomData<T>,
}

// SAFETY: it owns its values.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: it lends shared references (`Sync`), and takes values from any thread (`Send`).
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T> Table<T> {
    /// Makes a table for up to `capacity` values of the same store; `None` if out of memory.
    pub(crate) fn try_new(capacity: usize, store: &Store) -> Option<Self> {
        let null = |_| Some(AtomicPtr::new(core::ptr::null_mut()));
        Some(Self {
            entries: store.try_row(capacity, null)?,
            len: AtomicUsize::new(0),
            on_heap: store.is_heap(),
            owns: PhantomData,
        })
    }

    /// Bytes that it takes from a store, its values not included.
    pub(crate) const fn footprint(capacity: usize) -> usize {
        Row::<AtomicPtr<T>>::footprint(capacity)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// A lower bound of the number of values.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with `table-push`; each entry below is not null.
        self.len.load(Ordering::Acquire)
    }

    /// The value with this number.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        // Acquire: pairs with `table-entry`; the value is seen.
        let entry = self.entries.get(index)?.load(Ordering::Acquire);
        // SAFETY: null, or from a row that is dropped only with the table, which `self` borrows.
        unsafe { entry.as_ref() }
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &T)> {
        let entries = self.entries[..self.len()].iter().enumerate();
        entries.filter_map(|(index, entry)| {
            // Acquire: pairs with `table-entry`, as in `get`.
            let entry = entry.load(Ordering::Acquire);
            // SAFETY: as in `get`.
            Some((index, unsafe { entry.as_ref() }?))
        })
    }

    /// Adds a value at the end: a row of one, from the table's store. The caller's lock must ensure
    /// that there is one call at a time. If there are two, nothing is lost, but one of them is told
    /// that the table is full.
    pub(crate) fn push(&self, value: Row<T>) -> Result<usize, Row<T>> {
        let index = self.len();
        let entry = self.entries.get(index).filter(|_| value.len() == 1);
        let Some(entry) = entry else {
            return Err(value);
        };
        let value = value.into_raw();
        // Release, `table-entry`: pairs with the load in `get`. A failed attempt publishes nothing
        // and may be relaxed.
        let put = entry.compare_exchange(
            core::ptr::null_mut(),
            value.as_ptr(),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if put.is_err() {
            // SAFETY: it was made from a row above, and has no other user.
            return Err(unsafe { Row::from_raw(value, self.on_heap) });
        }
        // Release, `table-push`: pairs with the load in `len`.
        self.len.store(index + 1, Ordering::Release);
        Ok(index)
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for entry in self.entries.iter() {
            // Relaxed: `&mut self` was handed here with everything that happened before.
            if let Some(value) = NonNull::new(entry.load(Ordering::Relaxed)) {
                // SAFETY: it came from a row in `push`, and nobody borrows the table any more.
                drop(unsafe { Row::from_raw(value, self.on_heap) });
            }
        }
    }
}
