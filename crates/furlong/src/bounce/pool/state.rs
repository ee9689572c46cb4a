//! A pool as data: saved, and restored over the same memory.

use alloc::vec::Vec;

use super::plan;
use crate::addr::{Address, Extent, Iova};
use crate::bounce::{
    Backing, Config, Direction, Entry, Kind, Memory, Plan, Pool, PoolError, SLOT, SLOT_SHIFT,
    Standard, Store, Transient, segment,
};
pub use crate::error::NoMemory;
use crate::error::{messages, reserved};
use crate::sync::atomic::Ordering;

/// A saved pool: plain numbers, in whatever format the caller stores them. With the feature
/// `serde` it can be serialised.
///
/// The memory is not part of it: it stays in place, with devices that use it, and
/// [`Memory::adopt`] finds it again. A restore validates all of a state and refuses one that no
/// pool could have saved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// The version of the format: [`VERSION`](Self::VERSION).
    pub version: u32,
    /// Blocks, transient ones after the others.
    pub blocks: Vec<SavedBlock>,
    /// Mappings, in the order of blocks and slots.
    pub mappings: Vec<SavedMapping>,
}

/// A block in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedBlock {
    /// The device address of its first byte.
    pub device: u64,
    /// Its slots.
    pub slots: u32,
    /// Its areas; 0 for a transient block.
    pub areas: u32,
}

/// A mapping in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedMapping {
    /// The number of its block.
    pub block: u32,
    /// The first slot of its run.
    pub slot: u32,
    /// The slots of its run.
    pub slots: u32,
    /// Bytes from the start of the run to the data.
    pub offset: u32,
    /// Bytes of data.
    pub len: u32,
    /// The number of its device.
    pub device: u32,
    /// The physical address of its original; 0 if it has none.
    pub original: u64,
    /// The number of its [`Direction`].
    pub direction: u8,
    /// The number of its [`Kind`].
    pub kind: u8,
}

messages! {
    /// Error of a restore. A `usize` for a block or a mapping is its index in the state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RestoreError {
        /// The state has this version, which is not supported.
        Version(n: u32) =>
            "the state has version {n}; this library knows version {}", State::VERSION;
        /// The pool could not be made.
        Pool(it: PoolError) => "{it}";
        /// There are more blocks than the plan has.
        TooManyBlocks(n: usize) => "the plan allows fewer than {n} blocks";
        /// The block is invalid, or overlaps one before it.
        Block(n: usize) => "block {n} is not valid, or overlaps another";
        /// The memory of the block is no longer available.
        Gone(n: usize) => "the memory of block {n} no longer exists";
        /// The mapping is invalid, or overlaps one before it.
        Mapping(n: usize) => "mapping {n} is not valid, or overlaps another";
        /// No memory for the records of the block.
        NoMemory(n: usize) => "out of memory for the records of block {n}";
    }
}

/// Error of saving a pool for good: no memory for the lists of its state. The pool continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSaved<P> {
    /// The pool.
    pub pool: P,
}

messages! { NotSaved<P> where [P: core::fmt::Debug]:
    Self { .. } => "{}", NoMemory;
}

impl State {
    /// The version that is saved, and the only one that is restored.
    pub const VERSION: u32 = 1;
}

impl SavedBlock {
    fn extent(&self) -> Option<Extent<Iova>> {
        let aligned = self.device.is_multiple_of(SLOT);
        let len = u64::from(self.slots) * SLOT;
        // More than a process can address, its length is none of a `Backing`.
        let is_backing = isize::try_from(len).is_ok();
        Extent::from_len(Iova::new(self.device), len)
            .filter(|extent| aligned && is_backing && extent.last().raw() < u64::MAX)
    }

    fn backing_len(&self) -> usize {
        (self.slots as usize) << SLOT_SHIFT
    }
}

impl SavedMapping {
    fn of(block: usize, slot: usize, entry: &Entry) -> Self {
        Self {
            block: block as u32,
            slot: slot as u32,
            slots: entry.slots,
            offset: entry.offset,
            len: entry.len,
            device: entry.device,
            original: entry.original,
            direction: entry.direction as u8,
            kind: entry.kind as u8,
        }
    }

    /// The unclaimed entry for it. A mapping of a guard or a pointer cannot be claimed with its
    /// original, so it becomes one without an original.
    fn entry(&self, segment: usize) -> Option<Entry> {
        let kind = match Kind::from_number(self.kind)? {
            Kind::Raw | Kind::UnclaimedRaw => Kind::UnclaimedRaw,
            Kind::Guarded | Kind::Pointer | Kind::Allocated | Kind::UnclaimedAllocated => {
                Kind::UnclaimedAllocated
            }
        };
        let data = u64::from(self.offset) + u64::from(self.len);
        let fits = self.len > 0 && data <= u64::from(self.slots) * SLOT;
        let whole = fits && self.slots as usize <= segment;
        let entry = Entry {
            device: self.device,
            slots: self.slots,
            offset: self.offset,
            len: self.len,
            original: self.original,
            direction: Direction::from_number(self.direction)?,
            kind,
        };
        whole.then_some(entry)
    }
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// The pool as data. Mappings and memory stay in place.
    ///
    /// # Errors
    /// [`NoMemory`] if there is none for the lists.
    ///
    /// # Cost
    /// A look at every slot, twice; exact while there are no maps and unmaps.
    pub fn save(&self) -> Result<State, NoMemory> {
        let transient = self.transient_blocks();
        let mut blocks = reserved(self.blocks() + transient)?;
        let mut mappings = reserved(self.mappings().count() + transient)?;
        let mut numbers = reserved(self.blocks.len())?;
        for (_, block) in self.blocks.iter() {
            let base = block.base();
            numbers.push(base.map(|_| blocks.len()));
            if let Some(device) = base {
                let (slots, areas) = (block.slots() as u32, block.areas() as u32);
                blocks.push(SavedBlock {
                    device,
                    slots,
                    areas,
                });
            }
        }
        // A block may be added or wake up meanwhile.
        let saved = self.mappings().filter_map(|(block, slot, entry)| {
            let number = numbers.get(block).copied().flatten()?;
            Some(SavedMapping::of(number, slot, &entry))
        });
        mappings.extend(saved);
        for (_, one) in self.transients.0.lock().iter().take(transient) {
            mappings.push(SavedMapping::of(blocks.len(), one.before, &one.entry));
            blocks.push(SavedBlock {
                device: one.backing.device.raw(),
                slots: (one.backing.len >> SLOT_SHIFT) as u32,
                areas: 0,
            });
        }
        Ok(State {
            version: State::VERSION,
            blocks,
            mappings,
        })
    }

    /// Saves and ends the pool. Its memory is not freed, and devices continue to use it. A state
    /// that is never restored leaks that memory.
    ///
    /// # Errors
    /// [`NotSaved`] with the pool, if there is no memory for the lists; nothing has changed.
    #[expect(
        clippy::result_large_err,
        reason = "it is what was given, once in a life"
    )]
    pub fn into_state(self) -> Result<State, NotSaved<Self>> {
        match self.save() {
            Ok(state) => {
                self.abandon();
                Ok(state)
            }
            Err(NoMemory) => Err(NotSaved { pool: self }),
        }
    }

    /// Checks a state, before any memory is adopted.
    fn validate(state: &State, plan: &Plan) -> Result<(), RestoreError> {
        if state.version != State::VERSION {
            return Err(RestoreError::Version(state.version));
        }
        let lasting = state.blocks.iter().filter(|block| block.areas > 0);
        let (lasting, all) = (lasting.count(), state.blocks.len());
        if lasting > plan.blocks || all - lasting > plan.transients {
            return Err(RestoreError::TooManyBlocks(all));
        }
        for (index, block) in state.blocks.iter().enumerate() {
            let error = RestoreError::Block(index);
            let extent = block.extent().ok_or(error)?;
            let (slots, areas) = (block.slots as usize, block.areas as usize);
            // Lasting blocks are numbered by their places, so transient ones come after them.
            let in_order = (areas > 0) == (index < lasting);
            let shaped = areas == 0 || plan::shape(slots, areas, segment::<C>()).is_ok();
            let mut before = state.blocks[..index].iter().filter_map(SavedBlock::extent);
            if !in_order
                || !shaped
                || areas > plan.areas
                || before.any(|before| before.overlaps(&extent))
            {
                return Err(error);
            }
        }
        for (index, mapping) in state.mappings.iter().enumerate() {
            let error = RestoreError::Mapping(index);
            let block = state.blocks.get(mapping.block as usize).ok_or(error)?;
            mapping.entry(segment::<C>()).ok_or(error)?;
            let end = mapping.slot.checked_add(mapping.slots).ok_or(error)?;
            if end > block.slots {
                return Err(error);
            }
        }
        let alone = |(index, block): (usize, &SavedBlock)| {
            let own = |mapping: &&SavedMapping| mapping.block as usize == index;
            block.areas > 0 || state.mappings.iter().filter(own).count() == 1
        };
        let mut blocks = state.blocks.iter().enumerate();
        let crowded = blocks.position(|block| !alone(block));
        crowded.map_or(Ok(()), |index| Err(RestoreError::Block(index)))
    }

    /// Restores the pool that was saved as `state`, over memory at its old place. Its mappings are
    /// unclaimed until their owners [claim](Self::claim) them.
    ///
    /// # Errors
    /// See [`RestoreError`]. Memory that was adopted before the error is not freed, as devices may
    /// use it. The same if [`Memory::adopt`] panics.
    pub fn restore_with_config(
        state: &State,
        memory: M,
        cpu: C::Cpu,
        plan: &Plan,
    ) -> Result<Self, RestoreError> {
        Self::validate(state, plan)?;
        let pool = Self::empty(Store::heap(), memory, cpu, plan);
        let pool = pool.map_err(|none| RestoreError::Pool(none.cause))?;
        let mut restoring = Restoring(Some(pool));
        restoring.pool().restore_all(state)?;
        Ok(restoring.0.take().expect("it is taken out once"))
    }

    fn restore_all(&self, state: &State) -> Result<(), RestoreError> {
        for (index, saved) in state.blocks.iter().enumerate() {
            let backing = self.adopt(saved).ok_or(RestoreError::Gone(index))?;
            if saved.areas > 0 {
                let number = self.push_shaped(saved.slots as usize, saved.areas as usize);
                let number = number.map_err(|_| RestoreError::NoMemory(index))?;
                self.blocks.get(number).expect("just put in").wake(&backing);
            } else {
                self.restore_transient(state, index, backing)
                    .ok_or(RestoreError::Mapping(index))?;
            }
        }
        for (index, mapping) in state.mappings.iter().enumerate() {
            let areas = state.blocks[mapping.block as usize].areas;
            if areas > 0 {
                self.restore_mapping(mapping)
                    .ok_or(RestoreError::Mapping(index))?;
            }
        }
        Ok(())
    }

    fn adopt(&self, saved: &SavedBlock) -> Option<Backing> {
        let device = Iova::new(saved.device);
        let backing = self.memory().adopt(device, saved.backing_len())?;
        let same = backing.device == device && backing.len == saved.backing_len();
        same.then_some(backing)
    }

    fn restore_mapping(&self, mapping: &SavedMapping) -> Option<()> {
        // Transient blocks come after the others, which are numbered as before.
        let block = self.blocks.get(mapping.block as usize)?;
        let slot = mapping.slot as usize;
        let shape = block.shape();
        let in_segment = slot % shape.segment + mapping.slots as usize <= shape.segment;
        let taken = in_segment && block.take_at(slot, mapping.slots);
        let entry = mapping.entry(segment::<C>()).filter(|_| taken)?;
        block.book.open(slot, &entry);
        Some(())
    }

    fn restore_transient(&self, state: &State, index: usize, backing: Backing) -> Option<()> {
        let mut own = state.mappings.iter();
        let mapping = own.find(|mapping| mapping.block as usize == index)?;
        let transient = Transient {
            backing,
            before: mapping.slot as usize,
            generation: 0,
            entry: mapping.entry(segment::<C>())?,
            ended: false,
        };
        self.transients.0.lock().put(transient).ok()?;
        // Relaxed: no other thread has the pool yet.
        self.transient_count.fetch_add(1, Ordering::Relaxed);
        Some(())
    }

    /// Drops the pool without freeing its memory.
    fn abandon(mut self) {
        self.memory = None;
    }
}

/// A pool that is being restored. Its drop, after an error or a panic of the memory's code,
/// abandons the adopted memory.
struct Restoring<M: Memory, C: Config>(Option<Pool<M, C>>);

impl<M: Memory, C: Config> Restoring<M, C> {
    fn pool(&self) -> &Pool<M, C> {
        self.0.as_ref().expect("it is here until it is restored")
    }
}

impl<M: Memory, C: Config> Drop for Restoring<M, C> {
    fn drop(&mut self) {
        if let Some(pool) = self.0.take() {
            pool.abandon();
        }
    }
}

impl<M: Memory> Pool<M, Standard> {
    /// Restores the pool that was saved as `state`; see
    /// [`restore_with_config`](Self::restore_with_config).
    ///
    /// # Errors
    /// See [`RestoreError`].
    pub fn restore(
        state: &State,
        memory: M,
        cpu: <Standard as Config>::Cpu,
        plan: &Plan,
    ) -> Result<Self, RestoreError> {
        Self::restore_with_config(state, memory, cpu, plan)
    }
}
