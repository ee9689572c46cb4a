//! The pool: blocks, those who wait, and what it tells about itself.
#![forbid(unsafe_code)]

use core::fmt;
use core::mem::MaybeUninit;

use super::area::sealed::Slots;
use super::block::{Block, segment};
use super::config::{Config, Standard};
use super::counters::Counters;
use super::device::{Device, Limits};
use super::error::{NoPool, PoolError, StillMapped};
use super::memory::Memory;
use super::need;
use super::plan::{Access, Growth, Plan, PlanError, shape};
use super::queue::Queue;
use super::store::Store;
use super::table::Table;
use super::transient::Transients;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Lock, OneCpu, Padded, TryLock, serial};

/// Bounce memory for devices that do not reach everything, shared by many CPUs.
///
/// # Mapping
/// [`map`](Self::map) takes a run of slots for a buffer, copies the buffer there and gives the
/// address for the device; syncing copies in the direction asked for, and unmapping copies back
/// what the device has written. It takes a slice and returns a guard; kernels that know physical
/// addresses only use [`map_raw`](Self::map_raw) and its fellows, which are unsafe.
///
/// # What a device can see
/// The bytes of its own mappings, and of each run what is left of the slots around them, which the
/// pool's [`Zeroing`](super::Zeroing) says to zero. A mapping is filled from its original even when
/// the device is to write: what it does not write comes back as it was. A copy back has at most the
/// bytes that were mapped; a sync beyond them is refused.
///
/// # Under pressure
/// A map asks its CPU's area, then others in the pool's [`Order`](super::Order). If none has room,
/// all are asked once more, thoroughly; then the pool grows, if its [`Plan`] says that it may here;
/// then a transient block is obtained for this mapping alone; then the map is refused. Whoever can
/// wait [waits](Self::wait).
///
/// # Locks
/// The areas' own, if they have any; one of those who wait and one of transient blocks, neither of
/// which is taken while no map waits and no transient block exists. Memory is obtained, shared and
/// freed under none of them. Counters may be called under an area's, and must not come back.
///
/// # Panics
/// Where a [`Memory`], [`Counters`], a CPU or a waker panics, what the call had taken is given
/// back: slots, quota, memory. Memory that was being shared or made private is lost, and counted as
/// [`leaked`](Self::leaked).
///
/// # Example
/// ```
/// use furlong::bounce::{Device, FromDevice, HeapMemory, Limits, OneCpu, Plan, Pool};
///
/// let pool = Pool::new(HeapMemory::new(), OneCpu, &Plan::new(512, 1))?;
/// let disk = Device::new(1, Limits::new())?;
///
/// let mut sector = [0; 512];
/// let mut read = pool.map(&disk, FromDevice(&mut sector))?;
/// let _for_the_descriptor = read.address();
/// // .. the device works ..
/// read.sync_for_cpu(0..512)?;
/// assert_eq!(read.original()[0], 0);
/// read.finish(512); // copies back, and gives the slots back
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// Linux 6.12 `kernel/dma/swiotlb.c`.
pub struct Pool<M: Memory, C: Config = Standard> {
    pub(super) blocks: Table<Block<C>>,
    /// Taken out only when the pool ends.
    pub(super) memory: Option<M>,
    /// Where what it knows is kept.
    pub(super) store: Store,
    pub(super) cpu: C::Cpu,
    pub(super) plan: Plan,
    tag: u32,
    /// Transient blocks that exist.
    pub(super) transient_count: AtomicUsize,
    /// Maps that wait; in lines that are written when one comes or goes.
    pub(super) waiting: Padded<AtomicUsize>,
    pub(super) queue: Padded<Lock<C::Lock, Queue>>,
    pub(super) transients: Padded<Lock<C::Lock, Transients>>,
    pub(super) growth: TryLock<()>,
    /// Somebody found no room since the pool was tended.
    pub(super) wants_growth: AtomicUsize,
    /// Slots whose memory could not be made private again.
    pub(super) leaked: AtomicUsize,
    /// What is counted off the path.
    pub(super) counters: C::Counters,
}

impl<M: Memory> Pool<M> {
    /// A pool as planned, with its first block. What it knows is kept on the heap.
    ///
    /// Where there is no memory for the block it is halved, down to [`Plan::block_min`]. All who
    /// call count as one CPU, with one area; [`with_config`](Self::with_config) takes what says
    /// which CPU a caller is on.
    ///
    /// # Errors
    /// [`NoPool`], with what was given and why.
    #[cfg(feature = "alloc")]
    pub fn new(memory: M, cpu: OneCpu, plan: &Plan) -> Result<Self, NoPool<M>> {
        Self::with_config(memory, cpu, plan)
    }

    /// The same without a heap: what the pool knows is kept in `tables`, which has
    /// [`table_bytes`](Self::table_bytes) of memory that devices do not see.
    ///
    /// # Errors
    /// [`NoPool`], with what was given and why; `tables` is lost.
    ///
    /// # Example
    /// See [`RegionMemory`](super::RegionMemory).
    pub fn new_in(
        tables: &'static mut [MaybeUninit<u8>],
        memory: M,
        cpu: OneCpu,
        plan: &Plan,
    ) -> Result<Self, NoPool<M>> {
        Self::with_config_in(tables, memory, cpu, plan)
    }
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// A pool with any configuration; otherwise as [`new`](Pool::new).
    ///
    /// # Errors
    /// [`NoPool`], with what was given and why.
    ///
    /// # Example
    /// ```
    /// use furlong::bounce::{AreaFirst, Cpu, Custom, HeapMemory, LockFree, Plan, Pool, ZeroPads};
    /// # fn this_cpu() -> usize { 0 }
    ///
    /// struct ThisCpu;
    /// impl Cpu for ThisCpu {
    ///     fn number(&self) -> usize { this_cpu() }
    /// }
    ///
    /// type Arms = Custom<AreaFirst, LockFree, ZeroPads, ThisCpu>;
    /// let plan = Plan::new(512, 8); // eight areas, one a CPU
    /// let pool = Pool::<_, Arms>::with_config(HeapMemory::new(), ThisCpu, &plan)?;
    /// assert_eq!(pool.slots(), 512);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[cfg(feature = "alloc")]
    pub fn with_config(memory: M, cpu: C::Cpu, plan: &Plan) -> Result<Self, NoPool<M>> {
        Self::begin(Store::heap(), memory, cpu, plan)
    }

    /// A pool with any configuration, without a heap; otherwise as [`new_in`](Pool::new_in).
    ///
    /// # Errors
    /// [`NoPool`], with what was given and why; `tables` is lost.
    pub fn with_config_in(
        tables: &'static mut [MaybeUninit<u8>],
        memory: M,
        cpu: C::Cpu,
        plan: &Plan,
    ) -> Result<Self, NoPool<M>> {
        Self::begin(Store::given(tables), memory, cpu, plan)
    }

    /// Bytes that the tables of such a pool take at most, with all blocks that it may have.
    ///
    /// Blocks that are halved because there is no memory for whole ones may need more: the pool
    /// then has fewer.
    ///
    /// # Errors
    /// There can be no such pool.
    pub fn table_bytes(plan: &Plan) -> Result<usize, PlanError> {
        let segment = segment::<C>();
        let first = Block::<C>::footprint(plan.validate(segment)?, plan.areas);
        let mut bytes = first
            + Table::<Block<C>>::footprint(plan.blocks)
            + Queue::footprint(plan.waiters)
            + Transients::footprint(plan.transients);
        if plan.growth != Growth::Never && plan.blocks > 1 {
            let areas = plan.areas_of(plan.block_slots, segment);
            let further = Block::<C>::footprint(shape(plan.block_slots, areas, segment)?, areas);
            bytes += (plan.blocks - 1) * further;
        }
        Ok(bytes)
    }

    fn begin(store: Store, memory: M, cpu: C::Cpu, plan: &Plan) -> Result<Self, NoPool<M>> {
        let pool = Self::empty(store, memory, cpu, plan)?;
        match pool.grow_first() {
            Ok(()) => Ok(pool),
            Err(error) => Err(pool.dissolve(PoolError::Block(error))),
        }
    }

    /// A pool without a block.
    pub(super) fn empty(
        store: Store,
        memory: M,
        cpu: C::Cpu,
        plan: &Plan,
    ) -> Result<Self, NoPool<M>> {
        let refuse = |cause, memory| NoPool { cause, memory };
        if let Err(error) = plan.validate(segment::<C>()) {
            return Err(refuse(PoolError::Plan(error), memory));
        }
        let tables = (
            Table::try_new(plan.blocks, &store),
            Queue::try_new(plan.waiters, &store),
            Transients::try_new(plan.transients, &store),
        );
        let (Some(blocks), Some(queue), Some(transients)) = tables else {
            return Err(refuse(PoolError::NoMemory, memory));
        };
        Ok(Self {
            blocks,
            memory: Some(memory),
            store,
            cpu,
            plan: *plan,
            tag: serial(),
            transient_count: AtomicUsize::new(0),
            waiting: Padded(AtomicUsize::new(0)),
            queue: Padded(Lock::new(C::Lock::default(), queue)),
            transients: Padded(Lock::new(C::Lock::default(), transients)),
            growth: TryLock::new(()),
            wants_growth: AtomicUsize::new(0),
            leaked: AtomicUsize::new(0),
            counters: C::Counters::default(),
        })
    }

    /// Lets a device use this pool, if it is restricted, and no other then.
    #[must_use = "the device comes back, and only then may use the pool"]
    pub fn admit(&self, device: Device) -> Device {
        match self.plan.access {
            Access::Everyone => device,
            Access::Restricted => device.restricted_to(self.tag),
        }
    }

    #[inline]
    pub(super) fn admits(&self, device: &Device) -> bool {
        match self.plan.access {
            Access::Everyone => device.pool().is_none(),
            Access::Restricted => device.pool() == Some(self.tag),
        }
    }

    /// Takes a device away that has nothing mapped here any more.
    ///
    /// # Errors
    /// [`StillMapped`], with the device, if it has.
    ///
    /// # Cost
    /// A look at every slot.
    pub fn remove(&self, device: Device) -> Result<(), StillMapped> {
        match self.mappings_of(&device) {
            0 => Ok(()),
            mappings => Err(StillMapped { device, mappings }),
        }
    }

    /// How many mappings of a device are alive.
    ///
    /// # Cost
    /// A look at every slot; exact while the device maps and unmaps nothing.
    pub fn mappings_of(&self, device: &Device) -> usize {
        self.mappings()
            .filter(|(_, _, entry)| entry.device == device.id())
            .count()
            + self.transients_of(device.id())
    }

    /// How large the longest mapping is that fits wherever its original lies, in an empty segment,
    /// as `swiotlb_max_mapping_size` of Linux says it: a boundary, an alignment beyond a segment,
    /// and areas shorter than one allow less.
    pub fn longest(&self, limits: &Limits) -> u64 {
        need::longest(limits, segment::<C>())
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where its memory comes from.
    pub fn memory(&self) -> &M {
        let memory = self.memory.as_ref();
        memory.expect("a pool has its memory until it is dropped")
    }

    /// Slots of all blocks that have memory; transient ones not included.
    pub fn slots(&self) -> usize {
        self.awake().map(Block::slots).sum()
    }

    /// Blocks that have memory; transient ones not included.
    pub fn blocks(&self) -> usize {
        self.awake().count()
    }

    /// Slots that are free.
    ///
    /// # Cost
    /// A look at every area: exact while nobody maps or unmaps. No counter is kept that CPUs would
    /// share.
    pub fn free_slots(&self) -> usize {
        self.awake().map(Block::free).sum()
    }

    /// Slots that are mapped, in blocks and transient ones.
    ///
    /// # Cost
    /// As [`free_slots`](Self::free_slots).
    pub fn used_slots(&self) -> usize {
        let used = |block: &Block<C>| block.slots().saturating_sub(block.free());
        self.awake().map(used).sum::<usize>() + self.transient_slots()
    }

    /// How many slots were mapped at a time, at most: no less than there were, and no more than
    /// each area had at its own worst moment, or, without locks and where several CPUs use an area,
    /// each part of one. Transient blocks are not included.
    ///
    /// # Cost
    /// As [`free_slots`](Self::free_slots).
    pub fn high_water(&self) -> usize {
        let areas = self.awake().flat_map(Block::parts);
        areas.map(|(area, _)| area.high_water()).sum()
    }

    /// Begins to count the high-water mark anew from what is mapped now.
    pub fn reset_high_water(&self) {
        let areas = self.awake().flat_map(Block::parts);
        areas.for_each(|(area, _)| area.reset_high_water());
    }

    /// Transient blocks that exist.
    pub fn transient_blocks(&self) -> usize {
        // Relaxed: a snapshot.
        self.transient_count.load(Ordering::Relaxed)
    }

    /// Slots whose memory could not be made private again, and is nobody's any more.
    pub fn leaked(&self) -> usize {
        // Relaxed: a number that orders nothing.
        self.leaked.load(Ordering::Relaxed)
    }

    /// Maps that wait for room.
    pub fn waiters(&self) -> usize {
        // Relaxed: a snapshot.
        self.waiting.0.load(Ordering::Relaxed)
    }

    /// What has been counted so far, everywhere.
    pub fn counters(&self) -> C::Counters {
        let mut sum = C::Counters::default();
        sum.absorb(&self.counters);
        for (_, block) in self.blocks.iter() {
            block.parts().for_each(|(_, more)| sum.absorb(more));
        }
        sum
    }

    /// The blocks that have memory.
    pub(super) fn awake(&self) -> impl Iterator<Item = &Block<C>> {
        let blocks = self.blocks.iter().map(|(_, block)| block);
        blocks.filter(|block| block.base().is_some())
    }
}

impl<M: Memory, C: Config> Drop for Pool<M, C> {
    /// Gives all memory back in which nothing is mapped. Guards borrow the pool; what is mapped
    /// still was mapped by address, or its guard was forgotten: a device may use it, and it is lost
    /// on purpose.
    fn drop(&mut self) {
        if self.memory.is_some() {
            self.put_all_to_sleep();
        }
    }
}

impl<M: Memory, C: Config> fmt::Debug for Pool<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("blocks", &self.blocks())
            .field("slots", &self.slots())
            .finish_non_exhaustive()
    }
}
