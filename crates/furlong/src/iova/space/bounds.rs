//! The first and the last granule of a space, and the gaps beside its extents.

use crate::addr::{Extent, Iova};
use crate::iova::search::query::whole;
use crate::iova::search::summary::Measure;
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
    /// O(1).
    pub(crate) fn largest(&self) -> u64 {
        let Some(all) = self.tree.summary() else {
            return self.bounds.len();
        };
        let outer = [all.first - self.bounds.first, self.bounds.last - all.last];
        outer.into_iter().fold(all.gap.longest(), u64::max)
    }
}
