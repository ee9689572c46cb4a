//! Memory that is lent to a table until the table is dropped.
#![expect(
    unsafe_code,
    reason = "what is lent for ever is taken back after the borrower"
)]

use core::cell::RefCell;
use core::mem::MaybeUninit;
use std::boxed::Box;

/// A table, and memory that is lent to it for its whole life.
///
/// The table cannot be moved out. It is dropped before the memory.
pub(super) struct Grounded<T> {
    table: T,
    ground: Ground,
}

/// The memory lent, as raw boxes.
struct Ground(RefCell<Vec<*mut [MaybeUninit<u8>]>>);

impl Drop for Ground {
    fn drop(&mut self) {
        for memory in self.0.take() {
            // SAFETY: it was a box in `lend`, and the table that borrowed it is gone.
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

    /// Passes `len` new bytes to `borrow`, which gives them to the table. Memory that the table
    /// returns is ignored here; it is freed after the table.
    pub(super) fn lend<R>(
        &self,
        len: usize,
        borrow: impl FnOnce(&T, &'static mut [MaybeUninit<u8>]) -> R,
    ) -> R {
        let memory = Box::into_raw(Box::<[u8]>::new_uninit_slice(len));
        self.ground.0.borrow_mut().push(memory);
        // SAFETY: the memory outlives the table. All callers are in this module's parent and pass
        // it to the table, which is the only one to use it.
        borrow(&self.table, unsafe { &mut *memory })
    }
}
