//! A block: contiguous memory, cut into areas and slots.
#![expect(unsafe_code, reason = "from a slot's number to its memory")]

use core::ptr::NonNull;

use crate::addr::Iova;
use crate::bounce::{
    Area, Backing, Book, Config, Need, Pass, Row, Run, SLOT, SLOT_SHIFT, Shape, Slots, Store,
    Taken, low_bits,
};
use crate::sync::Padded;
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The base of a block without memory.
const DORMANT: u64 = u64::MAX;

/// Contiguous memory, cut into areas and slots.
///
/// A block is dropped only with its pool. When its memory is given back, the block sleeps with
/// every slot taken until it gets other memory. References to blocks therefore stay valid.
pub(crate) struct Block<C: Config> {
    /// The device address of slot 0. It changes only while every slot is taken.
    base: AtomicU64,
    /// The CPU address of slot 0; null while there is no memory.
    memory: AtomicPtr<u8>,
    shape: Shape,
    /// The slots of all areas.
    slots: usize,
    /// A slot's number, shifted right by it, is its area; masked by `area_mask`, its number there.
    area_shift: u32,
    area_mask: usize,
    /// log2 of the number of areas.
    areas_log: u32,
    parts: Row<Padded<Part<C>>>,
    pub(crate) book: Book,
    /// The number of successive times that the block was found empty.
    pub(super) idle: AtomicU32,
}

/// The result of taking a run from a block, with the device address of slot 0 if there is a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) taken: Taken,
    pub(crate) base: u64,
}

/// An area, and its counters.
struct Part<C: Config> {
    area: C::Area,
    counters: C::Counters,
}

impl<C: Config> Block<C> {
    /// Makes a sleeping block; `None` if there is no memory for its records.
    pub(crate) fn try_new(shape: Shape, areas: usize, store: &Store) -> Option<Self> {
        // Several areas have a power of two of slots each. A single area has all slots.
        let area_shift = match areas {
            1 => usize::BITS - 1,
            _ => shape.slots.trailing_zeros(),
        };
        let part = |_| {
            let area = C::Area::try_new(shape, store)?;
            let counters = C::Counters::default();
            Some(Padded(Part { area, counters }))
        };
        Some(Self {
            base: AtomicU64::new(DORMANT),
            memory: AtomicPtr::new(core::ptr::null_mut()),
            shape,
            slots: shape.slots * areas,
            area_shift,
            area_mask: (1 << area_shift) - 1,
            areas_log: areas.ilog2(),
            parts: store.try_row(areas, part)?,
            book: Book::try_new(shape.slots * areas, store)?,
            idle: AtomicU32::new(0),
        })
    }

    /// Bytes that such a block takes from a store, itself included.
    pub(crate) fn footprint(shape: Shape, areas: usize) -> usize {
        Row::<Self>::footprint(1)
            + Row::<Padded<Part<C>>>::footprint(areas)
            + areas * C::Area::footprint(shape)
            + Book::footprint(shape.slots * areas)
    }

    /// The device address of slot 0; `None` while the block sleeps.
    #[inline]
    pub(crate) fn base(&self) -> Option<u64> {
        // Acquire: pairs with `block-wake`; a CPU that sees the address sees the memory, too.
        let base = self.base.load(Ordering::Acquire);
        (base != DORMANT).then_some(base)
    }

    #[inline]
    pub(crate) fn areas(&self) -> usize {
        self.parts.len()
    }

    #[inline]
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.slots as u64 * SLOT
    }

    /// The number of free slots; 0 while the block sleeps.
    pub(crate) fn free(&self) -> usize {
        self.parts.iter().map(|part| part.0.area.free()).sum()
    }

    /// The number of the area that has a slot.
    #[inline]
    pub(super) fn area_of(&self, slot: usize) -> usize {
        slot >> self.area_shift
    }

    /// The areas, with their counters.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&C::Area, &C::Counters)> {
        self.parts
            .iter()
            .map(|part| (&part.0.area, &part.0.counters))
    }

    /// Takes a run for CPU `here` in the area that is `step` steps from its own. Returns a slot of
    /// the block, and the device address of slot 0.
    ///
    /// The CPU's turn in that area determines the segment at which the search begins. It is the
    /// number of the CPU divided by the number of areas, plus `step`: an area's own CPU has turn 0.
    #[inline(always)]
    pub(crate) fn take(&self, here: usize, step: usize, need: &Need, pass: Pass) -> Answer {
        let none = |taken| Answer { taken, base: 0 };
        let Some(base) = self.base() else {
            return none(Taken::none());
        };
        if !need.reaches(base, self.bytes()) {
            return none(Taken::none());
        }
        let number = here.wrapping_add(step) & (self.parts.len() - 1);
        let turn = (here >> self.areas_log).wrapping_add(step);
        let part = &self.parts[number].0;
        let begin = number << self.area_shift;
        let first = base + begin as u64 * SLOT;
        let taken = part
            .area
            .take(need, (first, self.shape.begin(turn)), pass, &part.counters);
        let Some(slot) = taken.slot() else {
            return none(taken);
        };
        // The block may have slept meanwhile, and have other memory now. It cannot sleep while we
        // have one of its slots, so check again.
        if self.base() != Some(base) {
            part.area.give(slot, need.slots, &part.counters);
            return none(Taken::none().rolled_back_if(true));
        }
        let taken = taken.behind(begin);
        Answer { taken, base }
    }

    /// True if a run could be taken in some area now.
    pub(crate) fn fits(&self, need: &Need) -> bool {
        let Some(base) = self.base().filter(|base| need.reaches(*base, self.bytes())) else {
            return false;
        };
        let first = |number: usize| base + (number * self.shape.slots) as u64 * SLOT;
        let mut parts = self.parts.iter().enumerate();
        parts.any(|(number, part)| part.0.area.fits(need, first(number)))
    }

    /// True if a run could be taken if every slot were free.
    pub(crate) fn could_fit(&self, need: &Need) -> bool {
        let Some(base) = self.base().filter(|base| need.reaches(*base, self.bytes())) else {
            return false;
        };
        let all = low_bits(self.shape.segment as u32);
        let mut firsts = (0..self.slots).step_by(self.shape.segment);
        firsts.any(|slot| need.place(all, base + slot as u64 * SLOT).is_some())
    }

    pub(crate) fn settle(&self) {
        self.parts.iter().for_each(|part| part.0.area.settle());
    }

    /// Takes exactly these slots, if all of them are free, for a pool that is restored.
    #[cfg(feature = "alloc")]
    pub(crate) fn take_at(&self, slot: usize, len: u32) -> bool {
        let part = &self.parts[self.area_of(slot)].0;
        part.area.take_at(slot & self.area_mask, len)
    }

    /// Frees a run.
    #[inline]
    pub(crate) fn give(&self, slot: usize, len: u32) {
        let part = &self.parts[self.area_of(slot)].0;
        part.area.give(slot & self.area_mask, len, &part.counters);
    }

    /// Gives the sleeping block memory, and frees its slots. The memory is shared, zeroed and of
    /// the block's size.
    pub(crate) fn wake(&self, backing: &Backing) {
        debug_assert!(self.base().is_none() && backing.len as u64 == self.bytes());
        // Relaxed: published by the store below.
        self.memory.store(backing.start.as_ptr(), Ordering::Relaxed);
        let base = crate::addr::Address::raw(backing.device);
        // Release, `block-wake`: pairs with the load in `base`.
        self.base.store(base, Ordering::Release);
        // Relaxed: a count for the caller of `tend`.
        self.idle.store(0, Ordering::Relaxed);
        self.parts.iter().for_each(|part| part.0.area.open());
    }

    /// Takes all slots if all are free, and the memory away.
    pub(super) fn sleep(&self) -> Result<Backing, Busy> {
        let closed = self.parts.iter().take_while(|part| part.0.area.close());
        let closed = closed.count();
        let backing = self.backing().filter(|_| closed == self.parts.len());
        let Some(backing) = backing else {
            let parts = self.parts.iter().take(closed);
            parts.for_each(|part| part.0.area.reopen());
            return Err(Busy);
        };
        // Relaxed, twice: a CPU that takes a slot later gets it from `wake`. A CPU that reads the
        // address without having a slot gets a value that may change at once.
        self.base.store(DORMANT, Ordering::Relaxed);
        self.memory.store(core::ptr::null_mut(), Ordering::Relaxed);
        Ok(backing)
    }

    /// The memory; `None` while the block sleeps.
    pub(crate) fn backing(&self) -> Option<Backing> {
        let device = Iova::new(self.base()?);
        // Relaxed: a caller that has a slot, or tends the pool, has seen `block-wake`.
        let start = NonNull::new(self.memory.load(Ordering::Relaxed))?;
        let len = usize::try_from(self.bytes()).ok()?;
        Some(Backing { start, device, len })
    }

    /// The slot at a device address, and the device address of slot 0.
    #[inline]
    pub(crate) fn slot_at(&self, at: u64) -> Option<(usize, u64)> {
        let base = self.base()?;
        let slot = at.checked_sub(base)? >> SLOT_SHIFT;
        (slot < self.slots as u64).then_some((slot as usize, base))
    }

    /// The memory of a run.
    ///
    /// # Safety
    /// For the lifetime, which the caller chooses, the run is taken, and nobody else uses its
    /// memory but devices and hosts.
    #[inline]
    pub(crate) unsafe fn run<'a>(&self, slot: usize, len: u32) -> Run<'a> {
        // Relaxed: the caller has the run, and took it after `block-wake`.
        let memory = self.memory.load(Ordering::Relaxed);
        debug_assert!(slot + len as usize <= self.slots());
        let at = slot << SLOT_SHIFT;
        // SAFETY: the block has memory while a slot of it is taken, and has had all of its bytes
        // since `wake`; the run is in the block.
        let start = unsafe { memory.add(at) };
        // SAFETY: not null, as it is in the block's memory.
        let start = unsafe { NonNull::new_unchecked(start) };
        // SAFETY: the memory is valid for the CPU by the contract of `Memory`; the rest is the
        // caller's promise.
        unsafe { Run::new(start, (len as usize) << SLOT_SHIFT) }
    }
}

/// A slot of the block is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

/// Slots of a segment under a configuration.
#[inline]
pub(crate) const fn segment<C: Config>() -> usize {
    <C::Area as Area>::SEGMENT
}
