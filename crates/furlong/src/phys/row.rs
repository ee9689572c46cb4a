//! A row of small values that begins in a static array and moves to the table's memory when that is
//! full.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::error::NoMemory;
use super::memory::Memory;

/// Values in a row: the first `N` of them without an allocation.
pub(super) struct Row<T, const N: usize> {
    inline: [T; N],
    /// Where they are once there were more than `N`, with room for `room`.
    moved: Option<NonNull<T>>,
    room: usize,
    len: usize,
}

// SAFETY: it owns its values, as an array does.
unsafe impl<T: Send, const N: usize> Send for Row<T, N> {}

impl<T: Copy, const N: usize> Row<T, N> {
    /// An empty row; `fill` stands where no value is.
    pub(super) const fn new(fill: T) -> Self {
        Self {
            inline: [fill; N],
            moved: None,
            room: N,
            len: 0,
        }
    }

    /// Makes room for `more` values.
    pub(super) fn reserve(&mut self, memory: &mut Memory, more: usize) -> Result<(), NoMemory> {
        let need = self.len.checked_add(more).ok_or(NoMemory)?;
        if need <= self.room {
            return Ok(());
        }
        let room = need.max(2 * self.room).max(8);
        let new = memory.alloc(Self::layout(room)?)?.cast::<T>();
        // SAFETY: the new place has room for more than these, and is another one.
        unsafe { new.copy_from_nonoverlapping(self.place(), self.len) };
        self.give_back(memory);
        self.moved = Some(new);
        self.room = room;
        Ok(())
    }

    /// Moves back into the array. What is left in the row is forgotten.
    pub(super) fn give_back(&mut self, memory: &mut Memory) {
        if let (Some(old), Ok(layout)) = (self.moved.take(), Self::layout(self.room)) {
            // SAFETY: it was allocated there with this layout, and `moved` is `None` now.
            unsafe { memory.free(old.cast(), layout) };
        }
        self.room = N;
    }

    fn layout(room: usize) -> Result<Layout, NoMemory> {
        Layout::array::<T>(room).map_err(|_| NoMemory)
    }

    fn place(&self) -> NonNull<T> {
        self.moved.unwrap_or(NonNull::from(&self.inline).cast())
    }

    pub(super) fn as_slice(&self) -> &[T] {
        match self.moved {
            // SAFETY: so many values were written there, and `self` is borrowed.
            Some(moved) => unsafe { core::slice::from_raw_parts(moved.as_ptr(), self.len) },
            None => &self.inline[..self.len],
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        match self.moved {
            // SAFETY: so many values were written there, and `self` is mutably borrowed.
            Some(moved) => unsafe { core::slice::from_raw_parts_mut(moved.as_ptr(), self.len) },
            None => &mut self.inline[..self.len],
        }
    }

    /// Puts `value` at `at`, for which room was made.
    pub(super) fn insert(&mut self, at: usize, value: T) {
        assert!(
            self.len < self.room && at <= self.len,
            "room was made before"
        );
        self.len += 1;
        if let Some(moved) = self.moved {
            // SAFETY: there is room for the value behind the others.
            let last = unsafe { moved.add(self.len - 1) };
            // SAFETY: as above. Until it is written nothing may be borrowed there.
            unsafe { last.write(value) };
        }
        let values = self.as_mut_slice();
        let last = values.len() - 1;
        values.copy_within(at..last, at + 1);
        values[at] = value;
    }

    pub(super) fn push(&mut self, value: T) {
        self.insert(self.len, value);
    }

    pub(super) fn remove(&mut self, at: usize) -> T {
        let values = self.as_mut_slice();
        let value = values[at];
        values.copy_within(at + 1.., at);
        self.len -= 1;
        value
    }
}
