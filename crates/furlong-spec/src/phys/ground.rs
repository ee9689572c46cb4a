//! Memory that is lent to a table for good, and taken back when the table is gone.
#![expect(
    unsafe_code,
    reason = "what is lent for ever is taken back after the borrower"
)]

use core::cell::RefCell;
use core::mem::MaybeUninit;
use std::boxed::Box;

/// A table, and memory that is lent to it for as long as it lives.
///
/// The table cannot be moved out, and is dropped before the memory.
pub(super) struct Grounded<T> {
    table: T,
    ground: Ground,
}

/// What has been lent.
struct Ground(RefCell<Vec<*mut [MaybeUninit<u8>]>>);

impl Drop for Ground {
    fn drop(&mut self) {
        for memory in self.0.take() {
            // SAFETY: it was a box in `lend`, and the table that it was lent to is gone.
            drop(unsafe { Box::from_raw(memory) });
        }
    }
}

impl<T> Grounded<T> {
    pub(super) fn new(table: T) -> Self {
        Self {
            table,
            ground: Ground(RefCell::default()),
        }
    }

    /// The table.
    pub(super) fn get(&self) -> &T {
        &self.table
    }

    /// Hands `len` bytes to `borrow`, which gives them to the table; what comes back of them, then
    /// or later, is dropped and not kept.
    pub(super) fn lend<R>(
        &self,
        len: usize,
        borrow: impl FnOnce(&T, &'static mut [MaybeUninit<u8>]) -> R,
    ) -> R {
        let memory = Box::into_raw(Box::<[u8]>::new_uninit_slice(len));
        self.ground.0.borrow_mut().push(memory);
        // SAFETY: the memory lives until the table is gone. All calls are in this module's parent,
        // and pass it to the table, which has no other memory of this name.
        borrow(&self.table, unsafe { &mut *memory })
    }
}
