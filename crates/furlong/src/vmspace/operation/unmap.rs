//! Unmapping.

use crate::addr::VirtAddr;
use crate::vmspace::{Config, Freed, Hold, Pages, Space, UnmapError, Value};

/// The largest number of index changes that [`Space::unmap`] makes; see [`Space::prepare`].
pub const UNMAP_CHANGES: usize = 1;

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Unmaps all areas in `len` bytes from `start` on, rounded up to whole pages. Each piece is
    /// passed to `freed`, in ascending order.
    ///
    /// # Errors
    /// See [`UnmapError`]: of several causes, the first in its order. Nothing has changed.
    ///
    /// # Cost
    /// One index change; with a red-black tree no memory, except if an area is cut in two.
    pub fn unmap(
        &mut self,
        start: VirtAddr,
        len: u64,
        freed: impl FnMut(Freed<A>),
    ) -> Result<(), UnmapError> {
        let pages = self.plan_unmap(start, len)?;
        if self.cuts_in_vain(pages) {
            return Err(UnmapError::TooManyAreas);
        }
        let cut = self.changing(|space| space.cut(pages, freed));
        cut.map_err(|_| UnmapError::NoMemory)
    }

    pub(super) fn plan_unmap(&self, start: VirtAddr, len: u64) -> Result<Pages, UnmapError> {
        if !self.state.grid.is_aligned(start) {
            return Err(UnmapError::Unaligned);
        }
        let pages = self.state.grid.count(len);
        let end = u128::from(self.state.grid.page(start)) + u128::from(pages);
        if end > u128::from(self.state.grid.last) + 1 {
            return Err(UnmapError::Beyond);
        }
        Pages::of_len(self.state.grid.page(start), pages).ok_or(UnmapError::ZeroLen)
    }
}
