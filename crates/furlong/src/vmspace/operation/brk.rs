//! The heap and its break.

use core::mem;

use crate::addr::{Address, VirtAddr};
use crate::vmspace::{
    Attr, BrkError, Config, Flags, Freed, Hold, Index, Pages, Prot, Space, Value,
};

/// The largest number of index changes that [`Space::set_brk`] makes; see [`Space::prepare`].
pub const BRK_CHANGES: usize = 1;

/// The attributes of the heap.
const HEAP: Attr = Attr::new(Prot::READ.or(Prot::WRITE), Prot::ALL, Flags::NONE);

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Sets the start of the heap, as a loader does; the heap is empty.
    pub fn start_brk(&mut self, start: VirtAddr) {
        self.state.heap.start = start;
        self.state.heap.end = start;
    }

    /// The end of the heap, in bytes. Linux's `brk` returns it, after success and after failure.
    pub fn brk(&self) -> VirtAddr {
        self.state.heap.end
    }

    /// Moves the end of the heap to `end`, in bytes. A heap that grows is merged with the area
    /// before it, if that has the same attributes and its value [merges](Value::merges) with
    /// `value`. Unmapped ranges, and values that are no longer used, are passed to `freed`.
    ///
    /// # Errors
    /// See [`BrkError`]; nothing has changed.
    ///
    /// # Cost
    /// [`BRK_CHANGES`] index changes.
    pub fn set_brk(
        &mut self,
        end: VirtAddr,
        value: A,
        mut freed: impl FnMut(Freed<A>),
    ) -> Result<(), BrkError> {
        if end < self.state.heap.start {
            return Err(BrkError::BelowStart);
        }
        let page = self.state.layout.page;
        let old = self
            .state
            .heap
            .end
            .align_up(page)
            .map(|at| self.state.grid.page(at));
        let new = end.align_up(page).map(|at| self.state.grid.page(at));
        let (Some(old), Some(new)) = (old, new) else {
            return Err(BrkError::Beyond);
        };
        if new < old {
            let pages = Pages {
                first: new,
                last: old - 1,
            };
            self.changing(|space| space.shrink(pages, end, &mut freed))?;
            freed(Freed::Merged(value));
        } else if new > old {
            let merged = self.changing(|space| space.enlarge(old, new - old, value))?;
            self.state.heap.end = end;
            merged.into_iter().map(Freed::Merged).for_each(freed);
        } else {
            self.state.heap.end = end;
            freed(Freed::Merged(value));
        }
        Ok(())
    }

    fn shrink(
        &mut self,
        pages: Pages,
        end: VirtAddr,
        freed: impl FnMut(Freed<A>),
    ) -> Result<(), BrkError> {
        if self.is_vacant(pages) {
            return Err(BrkError::NotMapped);
        }
        if self.cuts_in_vain(pages) {
            return Err(BrkError::TooManyAreas);
        }
        // Before pages are handed out, because `freed` may panic.
        let old = mem::replace(&mut self.state.heap.end, end);
        let cut = self.cut(pages, freed);
        cut.map_err(|_| {
            self.state.heap.end = old;
            BrkError::NoMemory
        })
    }

    /// Maps more of the heap. Returns `value` unused if an existing area was extended.
    fn enlarge(&mut self, first: u64, len: u64, value: A) -> Result<Option<A>, BrkError> {
        let pages = self.state.grid.within(first, len).ok_or(BrkError::Beyond)?;
        if first < self.state.grid.low {
            return Err(BrkError::BelowLow);
        }
        let [below, next] = self.index.beside(first);
        // At least one page stays free behind the heap.
        let limit = next.map(|next| self.lower_end(next.pages.first, next.attr.flags()));
        if limit.is_some_and(|limit| limit <= pages.last.saturating_add(1)) {
            return Err(BrkError::Occupied);
        }
        if !self.fits(len, 0) {
            return Err(BrkError::TooManyPages);
        }
        if self.len() > self.state.layout.areas_max {
            return Err(BrkError::TooManyAreas);
        }
        // Only an area of the heap is extended, not one that the loader put before it.
        let start = self.state.grid.page(self.state.heap.start);
        let left = below.filter(|left| {
            let is_heap = left.pages.last >= start && left.attr == HEAP;
            is_heap && left.pages.abuts(pages) && left.value.merges(&value)
        });
        let merged = match left.map(|left| left.pages) {
            None => {
                let put = self.index.put(pages, HEAP, value);
                put.map_err(|_| BrkError::NoMemory)?;
                None
            }
            Some(left) => {
                let grown = self.index.grow(left.first, left.through(pages));
                grown.map_err(|_| BrkError::NoMemory)?;
                Some(value)
            }
        };
        self.state.count_in(len, HEAP);
        Ok(merged)
    }
}
