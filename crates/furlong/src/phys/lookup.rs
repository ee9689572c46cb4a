//! Seam: how the segment and the descriptor of a frame are found.
//!
//! | arm | stands for |
//! |---|---|
//! | [`Array`] | the static array of `uvm_physseg.c` without `UVM_HOTPLUG`, with its strategies |
//! | [`Branchless`] | the best that a sorted array can do |
//! | [`Tree`] | `UVM_HOTPLUG`: a red-black tree keyed by the first frame |
//! | [`Direct`] | ours: a table of tables, constant time, readers beside a writer |
//! | [`Flat`] | a pointer a frame: the limit, at 8 bytes a frame |
//!
//! Every arm is built from the same truth, the table's segments in order, by the same two steps: a
//! `prepare` that may fail and changes nothing that is seen, and an `update` that cannot fail.
//!
//! [`Array`]: super::Array
//! [`Branchless`]: super::Branchless
//! [`Tree`]: super::Tree
//! [`Direct`]: super::Direct
//! [`Flat`]: super::Flat
#![forbid(unsafe_code)]

pub(super) use arm::{Arm, Beside, Change, Found, Site};

/// How the segment and the descriptor of a frame are found: one of the arms `Array`,
/// `Branchless`, `Tree`, [`Direct`](super::Direct) and `Flat`. The trait is sealed.
pub trait Lookup: Arm {}

impl<L: Arm> Lookup for L {}

/// An arm whose readers look while a writer changes it.
pub trait Concurrent: Lookup + Beside {}

impl<L: Lookup + Beside> Concurrent for L {}

mod arm {
    use core::ptr::NonNull;

    use super::super::entry::All;
    use super::super::error::Refusal;
    use super::super::limbo::Limbo;
    use super::super::memory::Memory;
    use super::super::segment::Frames;
    use super::super::truth::Truth;

    /// Whether a segment was found, and the index of its entry: of any entry if not, so that nobody
    /// has to branch before it is known what to do about it.
    #[derive(Clone, Copy)]
    pub struct Found {
        pub(in super::super) is_found: bool,
        pub(in super::super) index: u32,
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

    /// All that an arm needs for a change.
    pub struct Site<'a, L: Arm, D> {
        pub(in super::super) shared: &'a L::Shared<D>,
        pub(in super::super) private: &'a mut L::Private<D>,
        pub(in super::super) memory: &'a mut Memory,
        pub(in super::super) limbo: &'a mut Limbo,
        pub(in super::super) truth: Truth<'a, D>,
    }

    /// What is about to happen to frames.
    #[derive(Clone, Copy)]
    pub enum Change {
        /// They become a segment.
        Plug,
        /// They are isolated.
        Isolate,
        /// They are of segments that are there, and found, or found otherwise.
        Refresh,
    }

    /// What an arm does.
    pub trait Arm: Sized {
        /// What readers look at beside a writer.
        type Shared<D>;
        /// The rest.
        type Private<D>;
        /// What a lookup looks at.
        type Reader<'a, D: 'a>: Copy;

        /// An empty structure: the part that readers share.
        fn shared<D>() -> Self::Shared<D>;
        /// And the other part.
        fn private<D>() -> Self::Private<D>;

        /// What a lookup by the writer itself looks at.
        fn reader<'a, D>(
            shared: &'a Self::Shared<D>,
            private: &'a Self::Private<D>,
        ) -> Self::Reader<'a, D>;

        /// The entry of the segment that has `frame`. Calls `seen` for each cell looked at.
        fn find<D>(reader: Self::Reader<'_, D>, frame: u64, seen: impl FnMut()) -> Found;

        /// The descriptor of `frame`. Calls `seen` for each cell looked at.
        fn page<D>(
            reader: Self::Reader<'_, D>,
            frame: u64,
            all: &All<'_, D>,
            seen: impl FnMut(),
        ) -> Option<NonNull<D>>;

        /// Makes room for a change of `frames` that comes next, and for all that isolated frames
        /// can become after it, be they removed or taken back. Nothing is seen of it.
        fn prepare<D>(
            site: &mut Site<'_, Self, D>,
            frames: Frames,
            change: Change,
        ) -> Result<(), Refusal>;

        /// Brings `frames` up to date with the truth. There is room.
        fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames);

        /// Lookups beside the writer may begin.
        fn open<D>(_: &mut Site<'_, Self, D>) {}

        /// A segment has less frames now, or none, and lookups are up to date.
        fn shrunk<D>(_: &mut Site<'_, Self, D>, _index: u32, _left: Frames) {}

        /// A change is over: gives back what was prepared for more than one, and for the `held`
        /// ones that isolated frames wait for.
        fn settle<D>(_: &mut Site<'_, Self, D>, _held: usize) {}

        /// Bytes that a change of `frames` may take, while `held` others are still to come.
        fn footprint<D>(
            _: &Self::Shared<D>,
            _: &Self::Private<D>,
            _frames: Frames,
            _held: usize,
        ) -> usize {
            0
        }

        /// Gives all memory back. There are no readers.
        fn clear<D>(site: &mut Site<'_, Self, D>);

        /// Bytes that the structure takes now.
        fn bytes<D>(shared: &Self::Shared<D>, private: &Self::Private<D>) -> usize;
    }

    /// An arm whose readers need nothing of what belongs to the writer.
    pub trait Beside: Arm {
        /// What a lookup beside a writer looks at.
        fn reader_beside<D>(shared: &Self::Shared<D>) -> Self::Reader<'_, D>;
    }
}
