//! The pool: its blocks, its waiters, and its statistics.

use core::mem::MaybeUninit;

use super::plan::shape;
use super::transient::Transients;
use crate::bounce::area::need;
use crate::bounce::{
    Access, Block, Config, Counters, Device, Growth, Limits, Memory, NoPool, Plan, PlanError,
    PoolError, Queue, Slots, Standard, StillMapped, Store, Table, segment,
};
use crate::forms::debug_as;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Lock, OneCpu, Padded, TryLock, serial};

/// Bounce memory for devices that do not reach all memory, shared by many CPUs.
///
/// # Mapping
/// [`map`](Self::map) takes a run of slots for a buffer, copies the buffer there and returns the
/// device address. A sync copies in the requested direction, and unmapping copies the device's
/// writes back. `map` takes a slice and returns a guard. Kernels that only have physical addresses
/// use [`map_raw`](Self::map_raw) and related functions, which are unsafe.
///
/// # What a device can see
/// A device sees the bytes of its own mappings, and in each run the rest of the slots around them.
/// The pool's [`Zeroing`](crate::bounce::Zeroing) policy may zero that rest. A mapping is filled
/// from its original even if the device is to write: bytes that it does not write come back
/// unchanged. A copy back has at most the bytes that were mapped; a sync beyond them is refused.
///
/// # Under pressure
/// A map searches its CPU's area, then others in the pool's [`Order`](crate::bounce::Order). If
/// none has room, it takes these steps until one succeeds. It searches all areas again, thoroughly.
/// It lets the pool grow, if the [`Plan`] permits growth in a map. It obtains a transient block for
/// this mapping alone. Then it is refused. A caller that can wait uses [`wait`](Self::wait).
///
/// # Locks
/// Areas may have locks of their own. There is one lock for waiters and one for transient blocks.
/// A map that finds room at once takes neither, nor does its end, unless a map waits. Memory is
/// obtained, shared and freed under none of them. Counters may be called under an area's lock, and
/// must not call the pool.
///
/// # Panics
/// If a [`Memory`], [`Counters`], a CPU or a waker panics, everything that the call had taken is
/// given back: slots, quota, memory. Memory that was being shared or made private is lost, and
/// counted as [`leaked`](Self::leaked).
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
    pub(crate) blocks: Table<Block<C>>,
    /// Taken out only when the pool ends.
    pub(crate) memory: Option<M>,
    /// Storage of the pool's tables.
    pub(crate) store: Store,
    pub(crate) cpu: C::Cpu,
    pub(crate) plan: Plan,
    tag: u32,
    /// The number of transient blocks.
    pub(crate) transient_count: AtomicUsize,
    /// The number of waiting maps, in cache lines that are written only when one comes or goes.
    pub(crate) waiting: Padded<AtomicUsize>,
    pub(crate) queue: Padded<Lock<C::Lock, Queue>>,
    pub(crate) transients: Padded<Lock<C::Lock, Transients>>,
    pub(crate) growth: TryLock<()>,
    /// Nonzero if a map has found no room since the pool was tended.
    pub(crate) wants_growth: AtomicUsize,
    /// Slots whose memory could not be made private again.
    pub(super) leaked: AtomicUsize,
    /// Counters of the slow path.
    pub(crate) counters: C::Counters,
}

impl<M: Memory> Pool<M> {
    /// Makes a pool as planned, with its first block. Its tables are on the heap.
    ///
    /// Without memory for the block, the block is halved, down to [`Plan::block_min`]. All callers
    /// count as one CPU, with one area; [`with_config`](Self::with_config) takes a function that
    /// returns the caller's CPU.
    ///
    /// # Errors
    /// [`NoPool`] with the memory source and the reason.
    #[cfg(feature = "alloc")]
    pub fn new(memory: M, cpu: OneCpu, plan: &Plan) -> Result<Self, NoPool<M>> {
        Self::with_config(memory, cpu, plan)
    }

    /// Makes a pool without a heap. Its tables are in `tables`, [`table_bytes`](Self::table_bytes)
    /// of memory that devices do not see.
    ///
    /// # Errors
    /// [`NoPool`] with the memory source and the reason; `tables` is lost.
    ///
    /// # Example
    /// See [`RegionMemory`](crate::bounce::RegionMemory).
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
    /// Makes a pool with any configuration; otherwise like [`new`](Pool::new).
    ///
    /// # Errors
    /// [`NoPool`] with the memory source and the reason.
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

    /// Makes a pool with any configuration, without a heap; otherwise like
    /// [`new_in`](Pool::new_in).
    ///
    /// # Errors
    /// [`NoPool`] with the memory source and the reason; `tables` is lost.
    pub fn with_config_in(
        tables: &'static mut [MaybeUninit<u8>],
        memory: M,
        cpu: C::Cpu,
        plan: &Plan,
    ) -> Result<Self, NoPool<M>> {
        Self::begin(Store::given(tables), memory, cpu, plan)
    }

    /// The most bytes that the tables of such a pool take, with all blocks that it may have.
    ///
    /// Blocks that are halved for lack of memory may need more; the pool then has fewer blocks.
    ///
    /// # Errors
    /// [`PlanError`] if the plan is invalid.
    pub fn table_bytes(plan: &Plan) -> Result<usize, PlanError> {
        let segment = segment::<C>();
        let first = Block::<C>::footprint(plan.validate(segment)?, plan.areas);
        let mut bytes = first
            .saturating_add(Table::<Block<C>>::footprint(plan.blocks))
            .saturating_add(Queue::footprint(plan.waiters))
            .saturating_add(Transients::footprint(plan.transients));
        if plan.growth != Growth::Never && plan.blocks > 1 {
            let areas = plan.areas_of(plan.block_slots, segment);
            let further = Block::<C>::footprint(shape(plan.block_slots, areas, segment)?, areas);
            bytes = bytes.saturating_add((plan.blocks - 1).saturating_mul(further));
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

    /// Makes a pool without a block.
    pub(crate) fn empty(
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

    /// Admits a device to this pool. If the pool is restricted, the device can use no other then.
    #[must_use = "the device comes back, and only then may use the pool"]
    pub fn admit(&self, device: Device) -> Device {
        match self.plan.access {
            Access::Everyone => device,
            Access::Restricted => device.restricted_to(self.tag),
        }
    }

    #[inline]
    pub(crate) fn admits(&self, device: &Device) -> bool {
        match self.plan.access {
            Access::Everyone => device.pool().is_none(),
            Access::Restricted => device.pool() == Some(self.tag),
        }
    }

    /// Removes a device that has no mappings here any more.
    ///
    /// # Errors
    /// [`StillMapped`] with the device, if it still has mappings.
    ///
    /// # Cost
    /// A look at every slot.
    pub fn remove(&self, device: Device) -> Result<(), StillMapped> {
        match self.mappings_of(&device) {
            0 => Ok(()),
            mappings => Err(StillMapped { device, mappings }),
        }
    }

    /// The number of live mappings of a device.
    ///
    /// # Cost
    /// A look at every slot; exact while the device maps and unmaps nothing.
    pub fn mappings_of(&self, device: &Device) -> usize {
        self.mappings()
            .filter(|(_, _, entry)| entry.device == device.id())
            .count()
            + self.transients_of(device.id())
    }

    /// The length of the longest mapping that fits in an empty segment for any address of its
    /// original, like Linux's `swiotlb_max_mapping_size`. A boundary, an alignment above a segment,
    /// and areas shorter than a segment allow less.
    pub fn longest(&self, limits: &Limits) -> u64 {
        need::longest(limits, segment::<C>())
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The source of its memory.
    pub fn memory(&self) -> &M {
        let memory = self.memory.as_ref();
        memory.expect("a pool has its memory until it is dropped")
    }

    /// Slots of all blocks that have memory, without transient ones.
    pub fn slots(&self) -> usize {
        self.awake().map(Block::slots).sum()
    }

    /// Blocks that have memory, without transient ones.
    pub fn blocks(&self) -> usize {
        self.awake().count()
    }

    /// The number of free slots.
    ///
    /// # Cost
    /// A look at every area; exact while there are no maps and unmaps. There is no counter, as CPUs
    /// would share it.
    pub fn free_slots(&self) -> usize {
        self.awake().map(Block::free).sum()
    }

    /// The number of mapped slots, including transient blocks.
    ///
    /// # Cost
    /// Like [`free_slots`](Self::free_slots).
    pub fn used_slots(&self) -> usize {
        let used = |block: &Block<C>| block.slots().saturating_sub(block.free());
        self.awake().map(used).sum::<usize>() + self.transient_slots()
    }

    /// An upper bound of the most slots that were mapped at a time, without transient blocks.
    ///
    /// It is the sum of the areas' maxima, which need not have occurred together. Without locks, if
    /// several CPUs use an area, it is the sum over parts of that area.
    ///
    /// # Cost
    /// Like [`free_slots`](Self::free_slots).
    pub fn high_water(&self) -> usize {
        let areas = self.awake().flat_map(Block::parts);
        areas.map(|(area, _)| area.high_water()).sum()
    }

    /// Restarts the high-water mark at the number of slots mapped now.
    pub fn reset_high_water(&self) {
        let areas = self.awake().flat_map(Block::parts);
        areas.for_each(|(area, _)| area.reset_high_water());
    }

    /// The number of transient blocks.
    pub fn transient_blocks(&self) -> usize {
        // Relaxed: a snapshot.
        self.transient_count.load(Ordering::Relaxed)
    }

    /// The number of slots whose memory could not be made private again, and is lost.
    pub fn leaked(&self) -> usize {
        // Relaxed: a number that orders nothing.
        self.leaked.load(Ordering::Relaxed)
    }

    /// The number of maps that wait for room.
    pub fn waiters(&self) -> usize {
        // Relaxed: a snapshot.
        self.waiting.0.load(Ordering::Relaxed)
    }

    /// The sum of all counters.
    pub fn counters(&self) -> C::Counters {
        let mut sum = C::Counters::default();
        sum.absorb(&self.counters);
        for (_, block) in self.blocks.iter() {
            block.parts().for_each(|(_, more)| sum.absorb(more));
        }
        sum
    }

    /// The blocks that have memory.
    pub(crate) fn awake(&self) -> impl Iterator<Item = &Block<C>> {
        let blocks = self.blocks.iter().map(|(_, block)| block);
        blocks.filter(|block| block.base().is_some())
    }
}

impl<M: Memory, C: Config> Drop for Pool<M, C> {
    /// Gives back all memory without mappings. Guards borrow the pool, so a mapping that is left
    /// was made by address, or its guard was forgotten. A device may still use its memory, which is
    /// therefore leaked on purpose.
    fn drop(&mut self) {
        if self.memory.is_some() {
            self.put_all_to_sleep();
        }
    }
}

debug_as! { Pool<M, C> where [M: Memory, C: Config]:
    |it| Pool { blocks: it.blocks(), slots: it.slots(), .. }
}
