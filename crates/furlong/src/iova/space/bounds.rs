//! The first and the last granule of a space, and the gaps beside its extents.

use crate::addr::{Extent, Iova};
use crate::iova::search::query::whole;
use crate::iova::search::summary::{LONGEST, Measure};
use crate::iova::{Config, ExtendError, Reserved, Space, Storage};

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// The bytes of the whole space.
    pub fn extent(&self) -> Extent<Iova> {
        self.bytes(Reserved {
            start: self.bounds.first,
            last: self.bounds.last,
        })
    }

    /// Extends the space to the bytes of `extent`, which contain it. Grants stay valid.
    ///
    /// # Errors
    /// See [`ExtendError`]; nothing has changed.
    ///
    /// # Cost
    /// O(1), no node.
    pub fn extend(&mut self, extent: Extent<Iova>) -> Result<(), ExtendError> {
        let wanted = whole(extent, self.shift).ok_or(ExtendError::Ragged(extent))?;
        if self.bounds.first < wanted.first || wanted.last < self.bounds.last {
            return Err(ExtendError::Smaller(self.extent()));
        }
        self.bounds = wanted;
        Ok(())
    }

    /// Bytes of a granule.
    pub fn granule(&self) -> u64 {
        1 << self.shift
    }

    /// Granules of the largest gap.
    ///
    /// # Cost
    /// O(1); O(log n) if the largest gap has 2^63 - 1 granules or more.
    pub(crate) fn largest(&self) -> u64 {
        let Some(all) = self.tree.summary() else {
            return self.bounds.len();
        };
        let inner = match all.gap.longest() {
            // `LONGEST` or more: a longer gap contains the middle of the 64 bits.
            LONGEST => self.gap_at(LONGEST + 1).map_or(LONGEST, |gap| gap.len()),
            inner => inner,
        };
        let outer = [all.first - self.bounds.first, self.bounds.last - all.last];
        outer.into_iter().fold(inner, u64::max)
    }
}
