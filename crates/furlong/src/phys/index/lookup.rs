//! The trait of lookup structures: they find the segment and the descriptor of a frame.
//!
//! | arm | implementation |
//! |---|---|
//! | [`Array`] | the static array of `uvm_physseg.c` without `UVM_HOTPLUG`, with its strategies |
//! | [`Branchless`] | the fastest search of a sorted array |
//! | [`Tree`] | `UVM_HOTPLUG`: a red-black tree keyed by the first frame |
//! | [`Direct`] | ours: a table of tables, constant time, readers beside a writer |
//! | [`Flat`] | a pointer per frame: the limit, at 8 bytes a frame |
//!
//! Every arm is built from the same data, the table's segments in order. Each change takes two
//! steps: `prepare` may fail and changes nothing that lookups see; `update` cannot fail.
//!
//! [`Array`]: crate::phys::Array
//! [`Branchless`]: crate::phys::Branchless
//! [`Tree`]: crate::phys::Tree
//! [`Direct`]: crate::phys::Direct
//! [`Flat`]: crate::phys::Flat
#![forbid(unsafe_code)]

pub(crate) use arm::{Arm, Beside, Change, Found, Site};

/// A lookup structure for segments and descriptors: one of the arms `Array`, `Branchless`, `Tree`,
/// [`Direct`](crate::phys::Direct) and `Flat`. The trait is sealed.
pub trait Lookup: Arm {}

impl<L: Arm> Lookup for L {}

/// An arm that readers can use while a writer changes it.
pub trait Concurrent: Lookup + Beside {}

impl<L: Lookup + Beside> Concurrent for L {}

mod arm {
    use core::ptr::NonNull;

    use super::super::snapshot::Snapshot;
    use crate::phys::error::Refusal;
    use crate::phys::segment::Frames;
    use crate::phys::storage::deferred::Deferred;
    use crate::phys::storage::memory::Memory;
    use crate::phys::table::entry::All;

    /// Hit or miss, and the index of the segment's entry. After a miss the index is that of any
    /// entry, so that the caller can use it before it branches on the result.
    #[derive(Clone, Copy)]
    pub struct Found {
        pub(crate) is_found: bool,
        pub(crate) index: u32,
    }

    impl From<Option<u32>> for Found {
        #[inline]
        fn from(index: Option<u32>) -> Self {
            Self {
                is_found: index.is_some(),
                index: index.unwrap_or(0),
            }
        }
    }

    /// Arguments of a change.
    pub struct Site<'a, L: Arm, D> {
        pub(crate) shared: &'a L::Shared<D>,
        pub(crate) private: &'a mut L::Private<D>,
        pub(crate) memory: &'a mut Memory,
        pub(crate) deferred: &'a mut Deferred,
        pub(crate) snapshot: Snapshot<'a, D>,
    }

    /// A change to frames.
    #[derive(Clone, Copy)]
    pub enum Change {
        /// They become a segment.
        Plug,
        /// They are isolated.
        Isolate,
        /// They are in existing segments, and lookups shall find them, or find them differently.
        Refresh,
    }

    /// The operations of an arm.
    pub trait Arm: Sized {
        /// The part that readers use beside a writer; empty by default.
        type Shared<D>: Default;
        /// The writer's part.
        type Private<D>;
        /// The data of a lookup.
        type Reader<'a, D: 'a>: Copy;

        /// An empty writer's part.
        fn private<D>() -> Self::Private<D>;

        /// The data for lookups by the writer itself.
        fn reader<'a, D>(
            shared: &'a Self::Shared<D>,
            private: &'a Self::Private<D>,
        ) -> Self::Reader<'a, D>;

        /// The entry of the segment that has `frame`. Calls `seen` for each cell it looks at.
        fn find<D>(reader: Self::Reader<'_, D>, frame: u64, seen: impl FnMut()) -> Found;

        /// The descriptor of `frame`. Calls `seen` for each cell it looks at.
        fn page<D>(
            reader: Self::Reader<'_, D>,
            frame: u64,
            all: &All<'_, D>,
            seen: impl FnMut(),
        ) -> Option<NonNull<D>>;

        /// Allocates for a change of `frames` that follows, and for the removal or abort of all
        /// isolations after it. Lookups see nothing of it.
        fn prepare<D>(
            site: &mut Site<'_, Self, D>,
            frames: Frames,
            change: Change,
        ) -> Result<(), Refusal>;

        /// Updates the index of `frames` from the snapshot. Uses what `prepare` has allocated.
        fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames);

        /// Lets lookups beside the writer begin.
        fn open<D>(_: &mut Site<'_, Self, D>) {}

        /// Called when a segment has fewer frames now, or none, and lookups are up to date.
        fn shrunk<D>(_: &mut Site<'_, Self, D>, _index: u32, _left: Frames) {}

        /// Ends a change. Frees prepared memory beyond that for one change and for the `held`
        /// isolations.
        fn settle<D>(_: &mut Site<'_, Self, D>, _held: usize) {}

        /// The most bytes that a change of `frames` takes, beside what `held` isolations need
        /// later.
        fn footprint<D>(
            _: &Self::Shared<D>,
            _: &Self::Private<D>,
            _frames: Frames,
            _held: usize,
        ) -> usize {
            0
        }

        /// Frees all memory. There must be no readers.
        fn clear<D>(site: &mut Site<'_, Self, D>);

        /// Bytes that the structure takes now.
        fn bytes<D>(shared: &Self::Shared<D>, private: &Self::Private<D>) -> usize;
    }

    /// An arm whose readers need nothing of the writer's part.
    pub trait Beside: Arm {
        /// The data for a lookup beside a writer.
        fn reader_beside<D>(shared: &Self::Shared<D>) -> Self::Reader<'_, D>;
    }
}
