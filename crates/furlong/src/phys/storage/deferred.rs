//! Unlinked memory that waits for a grace period, because readers may still use it.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::phys::{InlineVec, Memory, NoMemory};
use crate::rcu::{Period, Rcu};

/// Frees a chain of unlinked items; see [`Deferred::put_chain`].
pub(crate) type Release = unsafe fn(NonNull<u8>, &mut Memory);

#[derive(Clone, Copy)]
enum Dead {
    Piece(NonNull<u8>, Layout),
    Chain(NonNull<u8>, Release),
}

#[derive(Clone, Copy)]
struct Waiting {
    dead: Dead,
    /// `None` until the end of the change that unlinked it.
    period: Option<Period>,
}

/// Items that wait for readers to leave.
pub(crate) struct Deferred {
    waiting: InlineVec<Option<Waiting>, 8>,
}

// SAFETY: it owns what it points to, memory that belongs to one table.
unsafe impl Send for Deferred {}

impl Deferred {
    /// Bytes of the list for each item.
    pub(crate) const ITEM: usize = size_of::<Option<Waiting>>();

    pub(crate) const fn new() -> Self {
        Self {
            waiting: InlineVec::new(None),
        }
    }

    /// Bytes for growth of the list, in addition to two `ITEM`s for each reserved item.
    pub(crate) fn footprint(&self) -> usize {
        2 * self.waiting.as_slice().len() * Self::ITEM
    }

    /// Makes room for `more` items.
    pub(crate) fn reserve(&mut self, memory: &mut Memory, more: usize) -> Result<(), NoMemory> {
        self.waiting.reserve(memory, more)
    }

    /// Adds an unlinked piece of memory. There must be room for it.
    ///
    /// # Safety
    /// The piece came from the table's memory with this layout. Only readers that are inside now
    /// can still reach it.
    pub(crate) unsafe fn put(&mut self, piece: NonNull<u8>, layout: Layout) {
        self.push(Dead::Piece(piece, layout));
    }

    /// Adds a chain of unlinked items, with the function that frees it. There must be room for one.
    ///
    /// # Safety
    /// `release` may be called with `first` and the table's memory. Only readers that are inside
    /// now can still reach the items.
    pub(crate) unsafe fn put_chain(&mut self, first: NonNull<u8>, release: Release) {
        self.push(Dead::Chain(first, release));
    }

    fn push(&mut self, dead: Dead) {
        let period = None;
        self.waiting.push(Some(Waiting { dead, period }));
    }

    /// Ends a change: the items that it added now wait for the readers that are inside.
    pub(crate) fn stamp(&mut self, rcu: &impl Rcu) {
        let fresh = |waiting: &&mut Option<Waiting>| {
            waiting.is_some_and(|waiting| waiting.period.is_none())
        };
        let waiting = self.waiting.as_mut_slice().iter_mut().rev();
        let mut period = None;
        for waiting in waiting.take_while(fresh).flatten() {
            waiting.period = Some(*period.get_or_insert_with(|| rcu.snapshot()));
        }
    }

    /// Frees the items that no reader can have any more; all of them if `alone`: there are no
    /// readers.
    pub(crate) fn sweep(&mut self, memory: &mut Memory, rcu: &impl Rcu, alone: bool) {
        if self.waiting.as_slice().is_empty() {
            return;
        }
        if alone {
            // SAFETY: there are no readers.
            unsafe { self.clear(memory) };
            return;
        }
        rcu.advance();
        // The oldest items come first, and their grace periods end in order.
        let over = |waiting: &Option<Waiting>| {
            let period = waiting.and_then(|waiting| waiting.period);
            period.is_some_and(|period| rcu.elapsed(period))
        };
        let waiting = self.waiting.as_slice();
        let count = waiting.iter().take_while(|waiting| over(waiting)).count();
        // SAFETY: their grace periods are over.
        unsafe { self.release_first(memory, count) };
    }

    /// Frees everything.
    ///
    /// # Safety
    /// There are no readers.
    pub(crate) unsafe fn clear(&mut self, memory: &mut Memory) {
        let count = self.waiting.as_slice().len();
        // SAFETY: there are no readers.
        unsafe { self.release_first(memory, count) };
    }

    /// The number of waiting items.
    #[cfg(all(test, not(loom), feature = "alloc"))]
    pub(crate) fn len(&self) -> usize {
        self.waiting.as_slice().len()
    }

    /// # Safety
    /// No reader has the first `count` items any more.
    unsafe fn release_first(&mut self, memory: &mut Memory, count: usize) {
        for waiting in self.waiting.as_slice()[..count].iter().flatten() {
            match waiting.dead {
                // SAFETY: as the caller of `put` promised, and now no reader reaches it.
                Dead::Piece(piece, layout) => unsafe { memory.free(piece, layout) },
                // SAFETY: as the caller of `put_chain` promised, and now no reader reaches them.
                Dead::Chain(first, release) => unsafe { release(first, memory) },
            }
        }
        self.waiting.remove_first(count);
    }
}
