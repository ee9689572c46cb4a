//! A space as data: saved, and restored elsewhere.

use alloc::vec::Vec;

use crate::error::{messages, reserved};

use super::address_space::Heap;
use super::layout::Grid;
use crate::addr::{Address, VirtAddr};
use crate::vmspace::{
    Attr, Config, Direction, Entry, Flags, Hold, Index, Layout, LayoutError, NoMemory, Pages, Prot,
    Space, Value,
};

/// A saved space: plain numbers, and the values of its areas. With the feature `serde` it can be
/// serialised if the values can.
///
/// Its content is not trusted: [`Space::restore`] refuses every state that no space could have
/// saved, but for its limits. They may have been lowered, and bind the next change.
///
/// # Example
/// ```
/// use furlong::vmspace::{Layout, Prot, Request, Space, State};
///
/// let mut old: Space<u32> = Space::new(Layout::LINUX_X86_64)?;
/// let start = old.map(Request::object(0x4000, Prot::READ, 0, 7), drop)?;
/// let state: State<u32> = old.save()?;
///
/// let new = Space::<u32>::restore(&state)?;
/// assert_eq!(new.find(start), old.find(start));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State<A> {
    /// The version of the format: [`VERSION`](Self::VERSION).
    pub version: u32,
    /// The geometry and the limits.
    pub layout: SavedLayout,
    /// The start and the end of the heap, in bytes.
    pub heap: (u64, u64),
    /// The areas, in ascending order.
    pub areas: Vec<SavedArea<A>>,
}

/// A [`Layout`] in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedLayout {
    /// Bytes of a page.
    pub page: u64,
    /// The last byte of the space.
    pub last: u64,
    /// The lowest address that may be mapped.
    pub low: u64,
    /// The start of an upward search.
    pub bottom: u64,
    /// The last byte that a downward search may take.
    pub top: u64,
    /// True if the search for a place goes downwards.
    pub is_top_down: bool,
    /// The pages that must stay free below the lower end of an area that grows.
    pub guard: u64,
    /// The limit of areas.
    pub areas_max: u64,
    /// The limit of pages.
    pub pages_max: u64,
    /// The largest number of pages that an area may reach by growing.
    pub stack_max: u64,
}

/// An area in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedArea<A> {
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub last: u64,
    /// The bits of the allowed accesses.
    pub prot: u32,
    /// The bits of the accesses that may be allowed.
    pub may: u32,
    /// The bits of the further properties.
    pub flags: u16,
    /// The difference of a page's offset in the object and its page number; see [`Attr::origin`].
    pub origin: u64,
    /// The caller's value.
    pub value: A,
}

messages! {
    /// The reason why a state was not restored. Errors about an area contain its position in the
    /// state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RestoreError {
        /// The state has an unknown version.
        Version(n: u32) =>
            "the state has version {n}; this library knows version {}", State::<()>::VERSION;
        /// The layout is invalid.
        Layout(it: LayoutError) => "{it}";
        /// This machine cannot count so many areas.
        AreasMax(n: u64) => "the state has {n} areas, more than the index can have";
        /// The heap ends before it begins.
        Heap => "the heap ends before it begins";
        /// The area ends before it begins, or not at pages.
        Ragged(n: usize) => "area {n} does not consist of whole pages";
        /// The area is outside the space, or below its lowest address.
        Outside(n: usize) => "area {n} is not in the space";
        /// The area lies below the one before it, or overlaps it.
        OutOfOrder(n: usize) => "area {n} begins below the end of the last one";
        /// The protection is unknown, or exceeds the accesses that may be allowed.
        Prot(n: usize) => "area {n} has a protection that is not allowed";
        /// A flag is unknown, or the flags contradict each other.
        Flags(n: usize) => "area {n} has flags that exclude each other";
        /// The area ends beyond the last possible offset of its object.
        Offset(n: usize) => "area {n} ends beyond the last offset of its object";
        /// Out of memory for the index.
        NoMemory => "out of memory for the index";
    }
}

impl From<&Layout> for SavedLayout {
    fn from(layout: &Layout) -> Self {
        Self {
            page: layout.page,
            last: layout.last.raw(),
            low: layout.low.raw(),
            bottom: layout.bottom.raw(),
            top: layout.top.raw(),
            is_top_down: layout.direction == Direction::TopDown,
            guard: layout.guard,
            areas_max: layout.areas_max as u64,
            pages_max: layout.pages_max,
            stack_max: layout.stack_max,
        }
    }
}

impl<A> State<A> {
    /// The version that is saved, and the only one that can be restored.
    pub const VERSION: u32 = 1;
}

impl SavedLayout {
    fn layout(&self) -> Result<Layout, RestoreError> {
        let areas_max = usize::try_from(self.areas_max);
        let direction = if self.is_top_down {
            Direction::TopDown
        } else {
            Direction::BottomUp
        };
        Ok(Layout {
            page: self.page,
            last: VirtAddr::new(self.last),
            low: VirtAddr::new(self.low),
            bottom: VirtAddr::new(self.bottom),
            top: VirtAddr::new(self.top),
            direction,
            guard: self.guard,
            areas_max: areas_max.map_err(|_| RestoreError::AreasMax(self.areas_max))?,
            pages_max: self.pages_max,
            stack_max: self.stack_max,
        })
    }
}

impl<A> SavedArea<A> {
    /// Converts the area to pages and checks it; `at` is its position.
    fn validate(&self, at: usize, grid: &Grid) -> Result<(Pages, Attr), RestoreError> {
        let mask = (1 << grid.shift) - 1;
        if self.last < self.start || self.start & mask != 0 || self.last & mask != mask {
            return Err(RestoreError::Ragged(at));
        }
        let pages = Pages {
            first: self.start >> grid.shift,
            last: self.last >> grid.shift,
        };
        if pages.first < grid.low || grid.last < pages.last {
            return Err(RestoreError::Outside(at));
        }
        let (prot, may) = (Prot::from_bits(self.prot), Prot::from_bits(self.may));
        if !Prot::ALL.contains(may) || !may.contains(prot) {
            return Err(RestoreError::Prot(at));
        }
        let flags = Flags::from_bits(self.flags);
        let grows = flags.contains(Flags::GROWS_DOWN);
        let is_other = flags.and(Flags::SHARED | Flags::OBJECT | Flags::DROPPABLE) != Flags::NONE;
        let is_droppable = flags.contains(Flags::DROPPABLE);
        let is_kept = is_droppable && !flags.contains(Flags::WIPE_ON_FORK);
        if flags != flags.known() || grows && is_other || is_kept {
            return Err(RestoreError::Flags(at));
        }
        let offset = pages.first.wrapping_add(self.origin);
        let last = offset.checked_add(pages.last - pages.first);
        let fits = last.is_some_and(|last| last <= u64::MAX >> grid.shift);
        if flags.contains(Flags::OBJECT) && !fits {
            return Err(RestoreError::Offset(at));
        }
        let attr = Attr::new(prot, may, flags).with_origin(self.origin);
        Ok((pages, attr))
    }
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Saves the space as data.
    ///
    /// # Errors
    /// [`NoMemory`] if there is no memory for the list of areas.
    ///
    /// # Cost
    /// O(n), one allocation, and a clone of each value.
    pub fn save(&self) -> Result<State<A>, NoMemory> {
        let mut areas = reserved(self.len())?;
        let saved = |area: Entry<'_, A>| {
            let extent = self.state.grid.extent(area.pages);
            SavedArea {
                start: extent.start().raw(),
                last: extent.last().raw(),
                prot: area.attr.prot().bits(),
                may: area.attr.may().bits(),
                flags: area.attr.flags().bits(),
                origin: area.attr.origin,
                value: area.value.clone(),
            }
        };
        areas.extend(self.index.iter(Pages::ALL).map(saved));
        let Heap { start, end } = self.state.heap;
        Ok(State {
            version: State::<A>::VERSION,
            layout: SavedLayout::from(&self.state.layout),
            heap: (start.raw(), end.raw()),
            areas,
        })
    }
}

impl<A: Value, C: Config<Index<A>: Default>> Space<A, C> {
    /// Restores a saved space. Its areas are the same as before: equal neighbours are not merged.
    ///
    /// # Errors
    /// See [`RestoreError`].
    ///
    /// # Cost
    /// O(n log n), and a clone of each value.
    pub fn restore(state: &State<A>) -> Result<Self, RestoreError> {
        if state.version != State::<A>::VERSION {
            return Err(RestoreError::Version(state.version));
        }
        let space = Self::with_config(state.layout.layout()?);
        let mut space = space.map_err(RestoreError::Layout)?;
        let (start, end) = state.heap;
        if end < start {
            return Err(RestoreError::Heap);
        }
        space.state.heap = Heap {
            start: VirtAddr::new(start),
            end: VirtAddr::new(end),
        };
        let mut above = Some(0);
        for (at, saved) in state.areas.iter().enumerate() {
            let (pages, attr) = saved.validate(at, &space.state.grid)?;
            if above.is_none_or(|above| pages.first < above) {
                return Err(RestoreError::OutOfOrder(at));
            }
            above = pages.last.checked_add(1);
            let put = space.index.put(pages, attr, saved.value.clone());
            put.map_err(|_| RestoreError::NoMemory)?;
            space.state.count_in(pages.len(), attr);
        }
        Ok(space)
    }
}
