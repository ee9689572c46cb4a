//! The interface of an arm of `phys-lookup`: a lookup of the library, access to it, and its limits.

use furlong::phys::{Array, Branchless, Custom, Direct, Flat, Lookup, SegmentTable, Tree, View};
use furlong::rcu::Reader;

/// Table of an arm: everything but the lookup is the library's default.
pub(super) type Table<D, L> = SegmentTable<D, Custom<L>>;

/// An arm.
pub(super) trait LookupArm: Lookup + 'static {
    /// Maximum number of segments.
    const SEGMENTS_MAX: usize = usize::MAX;
    /// Exclusive upper bound of the frames that can be looked up.
    const FRAMES_MAX: u64 = u64::MAX;

    /// Enters a read-side section, calls `look`, and leaves.
    ///
    /// An arm without concurrent readers is read under the table's lock. A kernel would take a lock
    /// that readers share; for a single reader that is no cheaper.
    fn look<D, T>(
        table: &Table<D, Self>,
        _: &Reader<'_>,
        look: impl FnOnce(View<'_, D, Custom<Self>>) -> T,
    ) -> T {
        let segments = table.lock();
        look(segments.view())
    }
}

impl LookupArm for Array {
    const SEGMENTS_MAX: usize = 32;
}

impl LookupArm for Branchless {}

impl LookupArm for Tree {}

impl LookupArm for Direct {
    #[inline]
    fn look<D, T>(
        table: &Table<D, Self>,
        reader: &Reader<'_>,
        look: impl FnOnce(View<'_, D, Custom<Self>>) -> T,
    ) -> T {
        let guard = reader.enter();
        look(table.read(&guard))
    }
}

impl LookupArm for Flat {
    const FRAMES_MAX: u64 = 1 << 26;
}
