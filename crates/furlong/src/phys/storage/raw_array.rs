//! Arrays in the table's memory. To grow, an array is replaced by a longer copy.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::phys::{Deferred, Memory, NoMemory, Pool};

/// An array of values that need no drop. The owner frees it by hand, to the memory it came from.
pub(crate) struct RawArray<T> {
    /// `room` values, all initialised; dangling if `room` is 0.
    start: NonNull<T>,
    room: usize,
}

// SAFETY: it owns its values, as a box does.
unsafe impl<T: Send> Send for RawArray<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for RawArray<T> {}

impl<T> RawArray<T> {
    pub(crate) const fn new() -> Self {
        const {
            assert!(
                !core::mem::needs_drop::<T>(),
                "the values must not need drop"
            );
        }
        Self {
            start: NonNull::dangling(),
            room: 0,
        }
    }

    /// `room` initialised words at `start`.
    pub(crate) fn from_start(start: NonNull<T>, room: usize) -> Self {
        Self { start, room }
    }

    pub(crate) fn room(&self) -> usize {
        self.room
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        match self.room {
            0 => core::ptr::null_mut(),
            _ => self.start.as_ptr(),
        }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: `room` values were written there, or `room` is 0; `self` is borrowed.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.room) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `self` is mutably borrowed.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.room) }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.as_slice().get(at)
    }

    fn layout(room: usize) -> Result<Layout, NoMemory> {
        Layout::array::<T>(room).map_err(|_| NoMemory)
    }

    /// Bytes that an array of `room` values takes.
    pub(crate) fn footprint(room: usize) -> usize {
        Self::layout(room).map_or(usize::MAX, Pool::footprint)
    }

    pub(crate) fn bytes(&self) -> usize {
        Self::footprint(self.room)
    }

    /// Replaces the array by one of `room` values. `make` computes each value from the old array
    /// and the position. Returns the old array, which readers may still use.
    pub(crate) fn grow(
        &mut self,
        memory: &mut Memory,
        room: usize,
        make: impl Fn(&Self, usize) -> T,
    ) -> Result<Self, NoMemory> {
        let start = memory.alloc(Self::layout(room)?)?.cast::<T>();
        for at in 0..room {
            // SAFETY: the piece has room for `room` values.
            let place = unsafe { start.add(at) };
            // SAFETY: the memory is ours.
            unsafe { place.write(make(self, at)) };
        }
        Ok(core::mem::replace(self, Self { start, room }))
    }

    /// # Safety
    /// Nothing leads to the array any more, except in readers that are inside now.
    pub(crate) unsafe fn retire(self, deferred: &mut Deferred) {
        if let Some(layout) = self.allocated() {
            // SAFETY: it was allocated with this layout; the caller's promise.
            unsafe { deferred.put(self.start.cast(), layout) };
        }
    }

    pub(crate) fn free(&mut self, memory: &mut Memory) {
        if let Some(layout) = self.allocated() {
            // SAFETY: it was allocated with this layout, and nothing else uses it.
            unsafe { memory.free(self.start.cast(), layout) };
        }
        *self = Self::new();
    }

    fn allocated(&self) -> Option<Layout> {
        Self::layout(self.room).ok().filter(|_| self.room > 0)
    }
}
