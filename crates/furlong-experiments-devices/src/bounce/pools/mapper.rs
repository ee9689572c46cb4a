//! The mapping side: the pool, or an allocator of slots.
#![forbid(unsafe_code)]

use furlong::addr::Iova;

use furlong_lab::model::Failure;

/// Maps slots without copying, from any thread.
pub(in crate::bounce) trait Mapper: Sync + Sized {
    /// Handle that ends a mapping.
    type Mapping: Copy + Send;
    /// True if events are counted, so that their order must be the same each time.
    const COUNTS: bool;

    /// Maps slots for `len` bytes, or `None` if there is no room now.
    fn map(&self, len: usize) -> Option<Self::Mapping>;

    /// Unmaps a mapping of `len` bytes.
    ///
    /// # Errors
    /// It is not mapped.
    fn unmap(&self, mapping: Self::Mapping, len: usize) -> Result<(), Failure>;

    /// The device address of a mapping.
    fn address(mapping: Self::Mapping) -> Iova;

    /// Checks that nothing is left when everything has been unmapped.
    ///
    /// # Errors
    /// An invariant is broken, or a slot is missing.
    fn finish(self) -> Result<(), Failure>;
}
