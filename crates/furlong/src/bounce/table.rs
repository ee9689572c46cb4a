//! A table that only grows, read without a lock.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;

use super::line::try_boxed;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Boxes that are put in and never taken out: whoever finds one may use it as long as the table.
pub(super) struct Table<T> {
    entries: Box<[AtomicPtr<T>]>,
    len: AtomicUsize,
    owns: PhantomData<T>,
}

// SAFETY: it owns boxes.
unsafe impl<T: Send> Send for Table<T> {}
// SAFETY: it lends shared references (`Sync`), and takes boxes in from any thread (`Send`).
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T> Table<T> {
    /// A table for up to `capacity` boxes; `None` if there is no memory.
    pub(super) fn try_new(capacity: usize) -> Option<Self> {
        let null = |_| Some(AtomicPtr::new(core::ptr::null_mut()));
        Some(Self {
            entries: try_boxed(capacity, null)?,
            len: AtomicUsize::new(0),
            owns: PhantomData,
        })
    }

    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// How many there are at least.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Acquire: pairs with `table-push`; each entry below is not null.
        self.len.load(Ordering::Acquire)
    }

    /// The box of this number.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        // Acquire: pairs with `table-entry`; what is in the box is seen.
        let entry = self.entries.get(index)?.load(Ordering::Acquire);
        // SAFETY: null, or from a box that is dropped with the table only, which `self` borrows.
        unsafe { entry.as_ref() }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &T)> {
        let entry = |index| Some((index, self.get(index)?));
        (0..self.len()).filter_map(entry)
    }

    /// Puts a box in, behind all others. One caller at a time, which its lock has to ensure; two
    /// lose nothing, but one is told that the table is full.
    ///
    /// `value` is a slice of one element, which is how memory is obtained that may be refused.
    pub(super) fn push(&self, value: Box<[T]>) -> Result<usize, Box<[T]>> {
        let index = self.len();
        let entry = self.entries.get(index).filter(|_| value.len() == 1);
        let Some(entry) = entry else {
            return Err(value);
        };
        let value = Box::into_raw(value).cast::<T>();
        // Release, `table-entry`: pairs with the load in `get`. A failed attempt puts nothing in
        // and may be relaxed.
        let put = entry.compare_exchange(
            core::ptr::null_mut(),
            value,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if put.is_err() {
            // SAFETY: it was made from a box above, and nobody else has it.
            return Err(unsafe { Box::from_raw(slice_of(value)) });
        }
        // Release, `table-push`: pairs with the load in `len`.
        self.len.store(index + 1, Ordering::Release);
        Ok(index)
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        for entry in &self.entries {
            // Relaxed: `&mut self` was handed here with all that happened before.
            let value = entry.load(Ordering::Relaxed);
            if !value.is_null() {
                // SAFETY: it came from a box in `push`, and nobody borrows the table any more.
                drop(unsafe { Box::from_raw(slice_of(value)) });
            }
        }
    }
}

/// The slice of one element that was put in.
fn slice_of<T>(value: *mut T) -> *mut [T] {
    core::ptr::slice_from_raw_parts_mut(value, 1)
}

impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}
