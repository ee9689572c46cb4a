//! Whoever maps: the pool, or an allocator of slots.
#![forbid(unsafe_code)]

use furlong::addr::Iova;

use furlong_lab::model::Failure;

/// Maps slots whose bytes nobody copies, for any thread.
pub(super) trait Mapper: Sync + Sized {
    /// What ends a mapping.
    type Mapping: Copy + Send;
    /// Whether events are counted, so that they have to come in the same order each time.
    const COUNTS: bool;

    /// Slots for so many bytes; `None` where there is no room at this moment.
    fn map(&self, len: usize) -> Option<Self::Mapping>;

    /// Gives back what `map` returned for as many bytes.
    ///
    /// # Errors
    /// It is not mapped.
    fn unmap(&self, mapping: Self::Mapping, len: usize) -> Result<(), Failure>;

    /// Where a device finds it.
    fn address(mapping: Self::Mapping) -> Iova;

    /// Looks at what is left when all was given back.
    ///
    /// # Errors
    /// Something is broken or missing.
    fn finish(self) -> Result<(), Failure>;
}
