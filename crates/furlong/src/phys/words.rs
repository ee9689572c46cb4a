//! Arrays of atomic words that readers follow, and that grow by being replaced.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::error::NoMemory;
use super::limbo::Limbo;
use super::memory::Memory;

/// An array that grows by being replaced.
pub(super) struct Words<T> {
    start: Option<NonNull<T>>,
    room: usize,
}

impl<T> Words<T> {
    pub(super) const fn new() -> Self {
        Self {
            start: None,
            room: 0,
        }
    }

    /// `room` words at `start`, made elsewhere.
    pub(super) fn from_start(start: NonNull<T>, room: usize) -> Self {
        let start = Some(start);
        Self { start, room }
    }

    pub(super) fn room(&self) -> usize {
        self.room
    }

    pub(super) fn as_ptr(&self) -> *mut T {
        self.start.map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    pub(super) fn get(&self, at: usize) -> Option<&T> {
        let start = self.start.filter(|_| at < self.room)?;
        // SAFETY: the array has room for so many, all of them written.
        let place = unsafe { start.add(at) };
        // SAFETY: as above; they live as long as the array.
        Some(unsafe { place.as_ref() })
    }

    fn layout(room: usize) -> Result<Layout, NoMemory> {
        Layout::array::<T>(room).map_err(|_| NoMemory)
    }

    pub(super) fn bytes(&self) -> usize {
        Self::layout(self.room).map_or(0, Memory::footprint)
    }

    /// Replaces it by one with room for `room`: at first `make` says what is at each place.
    /// Returns the old one, that readers may have.
    pub(super) fn grow(
        &mut self,
        memory: &mut Memory,
        room: usize,
        make: impl Fn(&Self, usize) -> T,
    ) -> Result<Self, NoMemory> {
        let start = memory.alloc(Self::layout(room)?)?.cast::<T>();
        for at in 0..room {
            // SAFETY: there is room for so many.
            let place = unsafe { start.add(at) };
            // SAFETY: the memory is ours.
            unsafe { place.write(make(self, at)) };
        }
        let start = Some(start);
        Ok(core::mem::replace(self, Self { start, room }))
    }

    /// # Safety
    /// Only readers that are inside now can still reach it.
    pub(super) unsafe fn retire(self, limbo: &mut Limbo) {
        if let (Some(start), Ok(layout)) = (self.start, Self::layout(self.room)) {
            // SAFETY: it was allocated so; the caller's promise.
            unsafe { limbo.put(start.cast(), layout) };
        }
    }

    pub(super) fn free(&mut self, memory: &mut Memory) {
        if let (Some(start), Ok(layout)) = (self.start.take(), Self::layout(self.room)) {
            // SAFETY: it was allocated so, and nobody has it.
            unsafe { memory.free(start.cast(), layout) };
        }
        self.room = 0;
    }
}
