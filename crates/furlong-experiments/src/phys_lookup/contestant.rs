//! What an arm of `phys-lookup` is: a lookup of the library, the way in to it, and its limits.
#![forbid(unsafe_code)]

use furlong::phys::{Array, Branchless, Custom, Direct, Flat, Lookup, SegmentTable, Tree, View};
use furlong::rcu::Reader;

/// A table of an arm: all of it as the library has it by default but the lookup.
pub(super) type Table<D, L> = SegmentTable<D, Custom<L>>;

/// An arm.
pub(super) trait Contestant: Lookup + 'static {
    /// So many segments it can have.
    const SEGMENTS_MAX: usize = usize::MAX;
    /// Frames below it can be looked up.
    const FRAMES_MAX: u64 = u64::MAX;

    /// Goes in, looks, and leaves again.
    ///
    /// An arm whose readers cannot look beside a writer is looked at under the table's lock. A
    /// kernel would take a lock that readers share; for one reader that is no cheaper.
    fn look<D, T>(
        table: &Table<D, Self>,
        _: &Reader<'_>,
        look: impl FnOnce(View<'_, D, Custom<Self>>) -> T,
    ) -> T {
        let segments = table.lock();
        look(segments.view())
    }
}

impl Contestant for Array {
    const SEGMENTS_MAX: usize = 32;
}

impl Contestant for Branchless {}

impl Contestant for Tree {}

impl Contestant for Direct {
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

impl Contestant for Flat {
    const FRAMES_MAX: u64 = 1 << 26;
}
