//! What has been unlinked and may still be in a reader's hands.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::error::NoMemory;
use super::memory::Memory;
use super::row::Row;
use crate::rcu::{Period, Rcu};

/// Gives a chain of unlinked things back; see [`Limbo::put_chain`].
pub(super) type Release = unsafe fn(NonNull<u8>, &mut Memory);

#[derive(Clone, Copy)]
enum Dead {
    Piece(NonNull<u8>, Layout),
    Chain(NonNull<u8>, Release),
}

#[derive(Clone, Copy)]
struct Waiting {
    dead: Dead,
    /// `None` until the change that unlinked it is over.
    period: Option<Period>,
}

/// Things that wait for readers to leave.
pub(super) struct Limbo {
    waiting: Row<Option<Waiting>, 8>,
}

// SAFETY: it owns what it points to, memory that belongs to one table.
unsafe impl Send for Limbo {}

impl Limbo {
    /// Bytes of a thing that waits.
    pub(super) const ITEM: usize = size_of::<Option<Waiting>>();

    pub(super) const fn new() -> Self {
        Self {
            waiting: Row::new(None),
        }
    }

    /// Bytes that it takes to grow, beside twice those of what is reserved for.
    pub(super) fn footprint(&self) -> usize {
        2 * self.waiting.as_slice().len() * Self::ITEM
    }

    /// Makes room for `more` things.
    pub(super) fn reserve(&mut self, memory: &mut Memory, more: usize) -> Result<(), NoMemory> {
        self.waiting.reserve(memory, more)
    }

    /// Puts an unlinked piece of memory in, for which room was made.
    ///
    /// # Safety
    /// It came from the table's memory with this layout. Only readers that are inside now can still
    /// reach it.
    pub(super) unsafe fn put(&mut self, piece: NonNull<u8>, layout: Layout) {
        self.push(Dead::Piece(piece, layout));
    }

    /// Puts unlinked things in that are linked to each other, with the function that gives them
    /// back; room was made for one.
    ///
    /// # Safety
    /// `release` may be called with `first` and the table's memory. Only readers that are inside
    /// now can still reach them.
    pub(super) unsafe fn put_chain(&mut self, first: NonNull<u8>, release: Release) {
        self.push(Dead::Chain(first, release));
    }

    fn push(&mut self, dead: Dead) {
        let period = None;
        self.waiting.push(Some(Waiting { dead, period }));
    }

    /// The change is over: what it put in waits for those who are inside now.
    pub(super) fn stamp(&mut self, rcu: &impl Rcu) {
        let fresh = |waiting: &&mut Option<Waiting>| {
            waiting.is_some_and(|waiting| waiting.period.is_none())
        };
        let waiting = self.waiting.as_mut_slice().iter_mut().rev();
        let mut period = None;
        for waiting in waiting.take_while(fresh).flatten() {
            waiting.period = Some(*period.get_or_insert_with(|| rcu.snapshot()));
        }
    }

    /// Gives back what no reader has any more: all of it if there are none, as `alone` says.
    pub(super) fn sweep(&mut self, memory: &mut Memory, rcu: &impl Rcu, alone: bool) {
        if self.waiting.as_slice().is_empty() {
            return;
        }
        if alone {
            // SAFETY: there are no readers.
            unsafe { self.clear(memory) };
            return;
        }
        rcu.advance();
        // The oldest come first, and periods end in their order.
        let over = |waiting: &Option<Waiting>| {
            let period = waiting.and_then(|waiting| waiting.period);
            period.is_some_and(|period| rcu.elapsed(period))
        };
        let waiting = self.waiting.as_slice();
        let count = waiting.iter().take_while(|waiting| over(waiting)).count();
        // SAFETY: their periods are over.
        unsafe { self.release_first(memory, count) };
    }

    /// Gives everything back.
    ///
    /// # Safety
    /// There are no readers.
    pub(super) unsafe fn clear(&mut self, memory: &mut Memory) {
        let count = self.waiting.as_slice().len();
        // SAFETY: there are no readers.
        unsafe { self.release_first(memory, count) };
    }

    /// How many things wait.
    #[cfg(all(test, not(loom), feature = "alloc"))]
    pub(super) fn len(&self) -> usize {
        self.waiting.as_slice().len()
    }

    /// # Safety
    /// No reader has the first `count` things any more.
    unsafe fn release_first(&mut self, memory: &mut Memory, count: usize) {
        for waiting in self.waiting.as_slice()[..count].iter().flatten() {
            match waiting.dead {
                // SAFETY: as `put` was promised, and now nobody reaches it.
                Dead::Piece(piece, layout) => unsafe { memory.free(piece, layout) },
                // SAFETY: as `put_chain` was promised, and now nobody reaches them.
                Dead::Chain(first, release) => unsafe { release(first, memory) },
            }
        }
        self.waiting.remove_first(count);
    }
}
