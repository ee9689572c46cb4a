//! A table as data: saved and restored elsewhere, with its handles.

use alloc::vec::Vec;

use super::segment_table::NO_ENTRY;
use crate::error::{messages, reserved};
use crate::phys::change::start::Starting;
use crate::phys::{
    Config, Descriptor, FRAME_BITS, Frames, NoMemory, Node, Order, Refusal, Segments,
};

/// A saved table: plain numbers, in whatever format the caller stores them. With the feature
/// `serde` it can be serialised.
///
/// [`Segments::restore`] validates all of it and refuses a state that no table could have saved.
///
/// A state has every segment with all its properties, the isolated frames, and whether the table
/// had started. It also has every handle, live or stale, and the order in which handles are reused.
///
/// A state lacks three things. [`Descriptor::of_frame`] makes the descriptors anew, all at once.
/// [`Segments::adopt`] makes new tokens for isolations. Frames that hosted bookkeeping come back as
/// ordinary frames that are not available.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Pfn};
/// use furlong::phys::{Descriptor, SegmentTable, State};
///
/// struct Page(u32);
///
/// impl Descriptor for Page {
///     fn of_frame(_: Pfn) -> Self {
///         Self(0)
///     }
/// }
///
/// let old = SegmentTable::<Page>::new();
/// let frames = Extent::from_len(Pfn::new(0x100), 0x1000).unwrap();
/// let low = old.lock().plug(frames)?;
/// let state: State = old.lock().save()?;
///
/// let new = SegmentTable::<Page>::new();
/// new.lock().restore(&state)?;
/// assert_eq!(new.lock().get(low)?, old.lock().get(low)?);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// The version of the format: [`VERSION`](Self::VERSION).
    pub version: u32,
    /// log2 of the page size in bytes.
    pub page_bits: u32,
    /// True if frames had descriptors.
    pub started: bool,
    /// In ascending order.
    pub segments: Vec<SavedSegment>,
    /// Handles of segments that are gone, in the order in which they are used again.
    pub gone: Vec<SavedHandle>,
    /// Isolated stretches of frames, in ascending order.
    pub isolated: Vec<SavedFrames>,
}

/// A segment in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedSegment {
    /// Its handle.
    pub handle: SavedHandle,
    /// All its frames.
    pub frames: SavedFrames,
    /// Frames that the page allocator may use; may be empty.
    pub avail: SavedFrames,
    /// Free list or NUMA node.
    pub node: u32,
    /// Start of the next search, in frames from the first available one.
    pub start_hint: u64,
    /// The user's value.
    pub user: u64,
}

/// A handle in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedHandle {
    /// The index of its entry.
    pub index: u32,
    /// Number of times that the entry has come to life or died: odd while the segment is alive.
    pub generation: u32,
}

/// Frames `start..end` in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedFrames {
    /// The first frame.
    pub start: u64,
    /// The frame after the last one.
    pub end: u64,
}

impl From<Frames> for SavedFrames {
    fn from(Frames { start, end }: Frames) -> Self {
        Self { start, end }
    }
}

impl SavedFrames {
    fn frames(self) -> Frames {
        Frames::between(self.start, self.end)
    }
}

messages! {
    /// Error of a restore; nothing has changed. A `usize` for a segment or an isolation is its
    /// position in the state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RestoreError {
        /// The table has had segments, or has started.
        Used => "the table has been in use";
        /// The state has this version, which is not supported.
        Version(found: u32) =>
            "the state has version {found}; this library knows version {}", State::VERSION;
        /// The state has pages of 2 to this power bytes, and the table has others.
        PageBits(bits: u32) => "the state has pages of 2^{bits} bytes";
        /// There are more handles than any table can have.
        TooMany(handles: usize) => "the state has {handles} handles, more than a table can have";
        /// This handle occurs twice, or its index is not below the number of handles.
        Handle(handle: SavedHandle) => "{handle:?} occurs twice or is too high";
        /// The generation of a segment is even, or that of a segment that is gone is odd.
        Generation(handle: SavedHandle) => "{handle:?} has the other kind";
        /// The segment ends before it begins.
        Empty(at: usize) => "segment {at} ends before it begins";
        /// The segment has frames beyond 2^40, which no 52-bit address reaches.
        Beyond(at: usize) => "segment {at} needs more than {FRAME_BITS} bits";
        /// The segment lies below the one before it, or overlaps it.
        OutOfOrder(at: usize) => "segment {at} begins below the end of the last one";
        /// The available frames are reversed or not all in the segment.
        Avail(at: usize) => "the available frames of segment {at} are outside it";
        /// The hint is beyond the available frames.
        Hint(at: usize) => "the hint of segment {at} is beyond its available frames";
        /// The isolation is empty, below the one before it, not all of one segment, or of a table
        /// that had not started.
        Isolated(at: usize) => "isolation {at} is out of order or spans segments";
        /// The arm has room for this number of segments, and there are more.
        Full(segments: usize) => "the table supports only {segments} segments";
        /// No memory for segments, descriptors and index.
        NoMemory => "out of memory for the restored table";
    }
}

impl From<Refusal> for RestoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full(segments) => Self::Full(segments),
            Refusal::NoMemory => Self::NoMemory,
        }
    }
}

impl From<NoMemory> for RestoreError {
    fn from(NoMemory: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl State {
    /// The version that is saved, and the only one that is restored.
    pub const VERSION: u32 = 1;

    fn handles(&self) -> impl Iterator<Item = (SavedHandle, bool)> {
        let live = self.segments.iter().map(|segment| (segment.handle, true));
        live.chain(self.gone.iter().map(|handle| (*handle, false)))
    }

    /// Checks everything that needs no table.
    fn validate(&self, page_bits: u32, handles_max: usize) -> Result<(), RestoreError> {
        if self.version != Self::VERSION {
            return Err(RestoreError::Version(self.version));
        }
        if self.page_bits != page_bits {
            return Err(RestoreError::PageBits(self.page_bits));
        }
        self.validate_handles(handles_max)?;
        let mut below = 0;
        for (at, segment) in self.segments.iter().enumerate() {
            let (frames, avail) = (segment.frames.frames(), segment.avail.frames());
            if frames.is_empty() {
                return Err(RestoreError::Empty(at));
            }
            if frames.end > 1 << FRAME_BITS {
                return Err(RestoreError::Beyond(at));
            }
            if frames.start < below {
                return Err(RestoreError::OutOfOrder(at));
            }
            if avail.start > avail.end || !frames.covers(avail) {
                return Err(RestoreError::Avail(at));
            }
            if segment.start_hint > avail.len() {
                return Err(RestoreError::Hint(at));
            }
            below = frames.end;
        }
        self.validate_isolated()
    }

    /// Checks that each index below their number occurs once, with a generation of the right
    /// parity.
    fn validate_handles(&self, handles_max: usize) -> Result<(), RestoreError> {
        let count = self.segments.len() + self.gone.len();
        if count > handles_max {
            return Err(RestoreError::TooMany(count));
        }
        let mut seen = reserved(count)?;
        seen.resize(count, false);
        for (handle, is_live) in self.handles() {
            let seen = seen.get_mut(handle.index as usize);
            let seen = seen.ok_or(RestoreError::Handle(handle))?;
            if core::mem::replace(seen, true) {
                return Err(RestoreError::Handle(handle));
            }
            if is_live == handle.generation.is_multiple_of(2) {
                return Err(RestoreError::Generation(handle));
            }
        }
        Ok(())
    }

    fn validate_isolated(&self) -> Result<(), RestoreError> {
        let mut below = 0;
        for (at, isolated) in self.isolated.iter().enumerate() {
            let isolated = isolated.frames();
            let ends_below = |segment: &SavedSegment| segment.frames.end <= isolated.start;
            let owner = self.segments.partition_point(ends_below);
            let owner = self.segments.get(owner);
            let is_its = owner.is_some_and(|owner| owner.frames.frames().covers(isolated));
            if !self.started || isolated.is_empty() || isolated.start < below || !is_its {
                return Err(RestoreError::Isolated(at));
            }
            below = isolated.end;
        }
        Ok(())
    }
}

impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// The table as data.
    ///
    /// # Errors
    /// [`NoMemory`] if there is none for the lists.
    ///
    /// # Cost
    /// O(n), three allocations.
    pub fn save(&self) -> Result<State, NoMemory> {
        fn list<T>(items: impl Iterator<Item = T>, len: usize) -> Result<Vec<T>, NoMemory> {
            let mut list = reserved(len)?;
            list.extend(items.take(len));
            Ok(list)
        }
        let handle = |index: u32| SavedHandle {
            index,
            generation: self.all.get(index).generation(),
        };
        let segment = |index| {
            let entry = self.all.get(index);
            SavedSegment {
                handle: handle(index),
                frames: entry.frames().into(),
                avail: entry.avail().into(),
                node: entry.node().0,
                start_hint: entry.hint(),
                user: entry.user(),
            }
        };
        let order = self.core.order;
        let hidden = self.core.hidden.as_slice();
        let next = |index: &u32| Some(self.all.get(*index).user() as u32);
        let gone = core::iter::successors(Some(self.core.dead), next);
        Ok(State {
            version: State::VERSION,
            page_bits: C::PAGE_BITS,
            started: self.core.started,
            segments: list(order.iter(self.all).map(segment), order.len())?,
            gone: list(gone.map(handle), self.core.dead_len as usize)?,
            isolated: list(
                hidden.iter().map(|hidden| hidden.frames.into()),
                hidden.len(),
            )?,
        })
    }
}

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Restores a saved table into one that was never used; [`State`] lists what a state lacks.
    ///
    /// # Errors
    /// [`RestoreError`]; nothing has changed. The same if [`Descriptor::of_frame`] panics.
    ///
    /// # Cost
    /// O(n log n), and a descriptor made for each frame if the table had started.
    pub fn restore(&mut self, state: &State) -> Result<(), RestoreError> {
        if self.core.used > 0 || self.core.started {
            return Err(RestoreError::Used);
        }
        state.validate(C::PAGE_BITS, self.all.count_max())?;
        let handles = state.segments.len() + state.gone.len();
        self.reserve_entries(handles)?;
        let undo = Undo(self);
        undo.0.link_saved(state);
        if state.started {
            let starting = Starting::new(undo.0)?;
            for isolated in &state.isolated {
                let frames = isolated.frames();
                let index = starting.segments.snapshot().find(frames.start);
                let index = index.expect("it was validated");
                starting.segments.hide(index, frames)?;
            }
            starting.open();
        }
        core::mem::forget(undo);
        Ok(())
    }

    /// Adds the segments of a state, and the handles of those that are gone.
    fn link_saved(&mut self, state: &State) {
        for saved in &state.segments {
            let entry = self.all.get(saved.handle.index);
            entry.set_frames(saved.frames.frames());
            entry.set_avail(saved.avail.frames());
            entry.set_hint(saved.start_hint);
            entry.set_user(saved.user);
            entry.set_node(Node(saved.node));
            entry.set_generation(saved.handle.generation);
            self.core.order.insert(self.all, saved.handle.index);
        }
        for handle in state.gone.iter().rev() {
            let entry = self.all.get(handle.index);
            entry.set_generation(handle.generation);
            entry.set_user(u64::from(self.core.dead));
            self.core.dead = handle.index;
        }
        self.core.dead_len = state.gone.len() as u32;
        self.core.used = (state.segments.len() + state.gone.len()) as u32;
    }
}

/// Its drop resets the table to one that was never used.
struct Undo<'s, 'a, D, C: Config, const N: usize>(&'s mut Segments<'a, D, C, N>);

impl<D, C: Config, const N: usize> Drop for Undo<'_, '_, D, C, N> {
    fn drop(&mut self) {
        let Segments { all, core, .. } = &mut *self.0;
        for index in 0..core.used {
            all.get(index).set_generation(0);
        }
        core.order = Order::EMPTY;
        core.hidden.clear();
        core.splits = 0;
        (core.used, core.dead, core.dead_len) = (0, NO_ENTRY, 0);
        self.0.settle();
    }
}
