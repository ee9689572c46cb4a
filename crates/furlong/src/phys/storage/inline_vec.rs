//! A list of small values that begins in an inline array and moves to the table's memory when the
//! array is full.
#![forbid(unsafe_code)]

use crate::phys::{Memory, NoMemory, RawArray};

/// A list of values: the first `N` need no allocation.
pub(crate) struct InlineVec<T, const N: usize> {
    inline: [T; N],
    /// The storage once there were more than `N` values.
    moved: RawArray<T>,
    len: usize,
    /// Fills unused slots.
    fill: T,
}

impl<T: Copy, const N: usize> InlineVec<T, N> {
    /// An empty list; `fill` fills unused slots.
    pub(crate) const fn new(fill: T) -> Self {
        Self {
            inline: [fill; N],
            moved: RawArray::new(),
            len: 0,
            fill,
        }
    }

    fn room(&self) -> usize {
        self.moved.room().max(N)
    }

    /// The room after a `reserve` of `more` values.
    fn room_for(&self, more: usize) -> Option<usize> {
        let need = self.len.checked_add(more)?;
        let room = self.room();
        let grown = || need.max(2 * room).max(8);
        Some(if need <= room { room } else { grown() })
    }

    /// Makes room for `more` values.
    pub(crate) fn reserve(&mut self, memory: &mut Memory, more: usize) -> Result<(), NoMemory> {
        let room = self.room_for(more).ok_or(NoMemory)?;
        if room == self.room() {
            return Ok(());
        }
        let (inline, fill) = (&self.inline, self.fill);
        let copy = |old: &RawArray<T>, at| *old.get(at).or(inline.get(at)).unwrap_or(&fill);
        let mut old = self.moved.grow(memory, room, copy)?;
        old.free(memory);
        Ok(())
    }

    /// Bytes that a `reserve` of `more` values allocates.
    pub(crate) fn footprint(&self, more: usize) -> usize {
        match self.room_for(more) {
            Some(room) if room == self.room() => 0,
            Some(room) => RawArray::<T>::footprint(room),
            None => usize::MAX,
        }
    }

    fn all(&mut self) -> &mut [T] {
        if self.moved.room() > 0 {
            self.moved.as_mut_slice()
        } else {
            &mut self.inline
        }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        let all = if self.moved.room() > 0 {
            self.moved.as_slice()
        } else {
            &self.inline
        };
        &all[..self.len]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len;
        &mut self.all()[..len]
    }

    /// Inserts `value` at `at`. There must be room.
    pub(crate) fn insert(&mut self, at: usize, value: T) {
        let len = self.len;
        assert!(len < self.room() && at <= len, "room was made before");
        let all = self.all();
        all.copy_within(at..len, at + 1);
        all[at] = value;
        self.len += 1;
    }

    pub(crate) fn push(&mut self, value: T) {
        self.insert(self.len, value);
    }

    pub(crate) fn remove(&mut self, at: usize) -> T {
        let value = self.as_slice()[at];
        self.as_mut_slice().copy_within(at + 1.., at);
        self.len -= 1;
        value
    }

    /// Removes the first `count` values.
    pub(super) fn remove_first(&mut self, count: usize) {
        self.as_mut_slice().copy_within(count.., 0);
        self.len -= count;
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}
