//! Further blocks: obtained on demand, and given back when they stay empty.

use super::plan;
use crate::addr::Iova;
use crate::bounce::{
    Backing, Block, Config, GrowError, Growth, Haste, Memory, NoPool, NotConverted, OnDrop, Pool,
    PoolError, Row, SLOT, Wanted, segment,
};
use crate::sync::atomic::Ordering;

/// Memory that a pool has just obtained. Its drop gives it back.
pub(crate) struct Obtained<'a, M: Memory, C: Config> {
    pool: &'a Pool<M, C>,
    /// Taken out once.
    backing: Option<Backing>,
}

impl<M: Memory, C: Config> Obtained<'_, M, C> {
    pub(crate) fn keep(mut self) -> Backing {
        self.backing.take().expect("it is taken out once")
    }
}

impl<M: Memory, C: Config> Drop for Obtained<'_, M, C> {
    fn drop(&mut self) {
        if let Some(backing) = self.backing.take() {
            self.pool.give_back(backing);
        }
    }
}

/// The result of tending a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tended {
    /// Slots added.
    pub grown: usize,
    /// Slots given back.
    pub given_back: usize,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Obtains a further block. The call [may wait](Haste::MayWait), so it is for a work queue,
    /// under no lock. Returns the block's slots.
    ///
    /// # Errors
    /// See [`GrowError`]; nothing has changed.
    pub fn grow(&self) -> Result<usize, GrowError> {
        self.grow_for(self.plan.reach, 1, Haste::MayWait)
    }

    /// Obtains a further block below `reach`, with room for a run of `slots`. Returns its slots.
    pub(crate) fn grow_for(
        &self,
        reach: Iova,
        slots: u32,
        haste: Haste,
    ) -> Result<usize, GrowError> {
        if self.plan.growth == Growth::Never {
            return Err(GrowError::Never);
        }
        let _alone = self.growth.try_lock().ok_or(GrowError::Busy)?;
        let (size, min) = (self.plan.block_slots, self.plan.block_min);
        self.add_block(size, min.max(slots as usize), reach, haste)
    }

    /// True if growth could add a block with room for a run of `slots`.
    pub(crate) fn could_grow_for(&self, slots: u32) -> bool {
        let size = self.plan.block_slots;
        let may = self.plan.growth != Growth::Never && self.blocks() < self.plan.blocks;
        may && slots as usize <= size / self.plan.areas_of(size, segment::<C>())
    }

    pub(super) fn grow_first(&self) -> Result<(), GrowError> {
        let (slots, min) = (self.plan.slots, self.plan.block_min);
        self.add_block(slots, min, self.plan.reach, Haste::MayWait)
            .map(|_| ())
    }

    /// Does deferred work: grows if a map asked for it, and otherwise gives back a block that stays
    /// empty. If there was no memory, and maps wait, the next call tries again: call it now and
    /// then, too, not only when the memory [asks](Memory::wants_tending).
    ///
    /// A further block is given back if it was found empty [`Plan::patience`] times in a row, and
    /// the other blocks are at most half full. So a varying load does not make the pool shrink and
    /// grow by turns. The newest block goes first, at most one per call. A block keeps its records,
    /// 32 bytes a slot, for the next time that the pool grows.
    ///
    /// [`Plan::patience`]: crate::bounce::Plan::patience
    pub fn tend(&self) -> Tended {
        let mut tended = Tended::default();
        // Relaxed: a flag; the state that it is about is read again.
        let wanted = self.wants_growth.load(Ordering::Relaxed) != 0;
        if wanted && let Some(_alone) = self.growth.try_lock() {
            // Relaxed: as above. What asks from now on is for the next call.
            self.wants_growth.store(0, Ordering::Relaxed);
            let (size, min) = (self.plan.block_slots, self.plan.block_min);
            // Smaller than a waiter needs or beyond its reach, a block would be of no use to it.
            let (least, reach) = self.unserved().map_or((0, self.plan.reach), |need| {
                (need.slots as usize, Iova::new(need.reach))
            });
            let added = self.add_block(size, min.max(least), reach, Haste::MayWait);
            tended.grown = added.unwrap_or(0);
            if self.unserved().is_some() {
                // Relaxed: as above. No map asks again for those who sleep.
                self.wants_growth.store(1, Ordering::Relaxed);
            }
        }
        if tended.grown == 0 {
            tended.given_back = self.shrink();
        }
        tended
    }

    fn shrink(&self) -> usize {
        let Some(_alone) = self.growth.try_lock() else {
            return 0;
        };
        let (slots, free) = (self.slots(), self.free_slots());
        let further = self.blocks.iter().rev().filter(|(index, _)| *index > 0);
        let awake = further.filter(|(_, block)| block.base().is_some());
        let mut gone = None;
        for (_, block) in awake {
            let empty = block.free() == block.slots();
            // Relaxed, here and below: the caller holds the lock of growth.
            let idle = block.idle.load(Ordering::Relaxed);
            let idle = if empty { idle.saturating_add(1) } else { 0 };
            block.idle.store(idle, Ordering::Relaxed);
            let (rest, rest_free) = (slots - block.slots(), free.saturating_sub(block.slots()));
            let roomy = 2 * rest_free >= rest;
            if gone.is_none() && idle >= self.plan.patience.max(1) && empty && roomy {
                gone = Some(block);
            }
        }
        gone.map_or(0, |block| self.put_to_sleep(block))
    }

    /// Takes the memory of an empty block and gives it back. Returns the block's slots.
    fn put_to_sleep(&self, block: &Block<C>) -> usize {
        match block.sleep() {
            Ok(backing) => {
                self.give_back(backing);
                block.slots()
            }
            Err(_) => {
                // Another CPU may have found the slots taken during the attempt.
                self.notify(None);
                0
            }
        }
    }

    /// Adds a block of `slots` slots; without memory for it, of half as many, and so on to `min`.
    fn add_block(
        &self,
        slots: usize,
        min: usize,
        reach: Iova,
        haste: Haste,
    ) -> Result<usize, GrowError> {
        if self.blocks() >= self.plan.blocks {
            return Err(GrowError::Limit(self.plan.blocks));
        }
        let reach = reach.min(self.plan.reach);
        let mut slots = slots;
        loop {
            let added = self.add_block_of(slots, reach, haste);
            let half = slots / 2;
            let areas = self.plan.areas_of(half.max(1), segment::<C>());
            let halves = half >= min.max(1) && plan::shape(half, areas, segment::<C>()).is_ok();
            // If there is no place for another block, a smaller one that sleeps may exist.
            let smaller = matches!(added, Err(GrowError::NoMemory | GrowError::Limit(_)));
            if !smaller || !halves {
                return added;
            }
            slots = half;
        }
    }

    fn add_block_of(&self, slots: usize, reach: Iova, haste: Haste) -> Result<usize, GrowError> {
        let bytes = slots as u64 * SLOT;
        let wanted = Wanted {
            len: usize::try_from(bytes).map_err(|_| GrowError::NoMemory)?,
            align: bytes.next_power_of_two().min(128 * SLOT),
            reach,
            haste,
        };
        let sleeping =
            |(_, block): &(usize, &Block<C>)| block.slots() == slots && block.base().is_none();
        let (index, backing) = match self.blocks.iter().find(sleeping) {
            Some((index, _)) => (index, self.obtain(&wanted)?.keep()),
            None => self.push_obtained(&wanted, slots)?,
        };
        let block = self.blocks.get(index).expect("it was just found or put in");
        block.wake(&backing);
        self.notify(None);
        Ok(slots)
    }

    /// Makes a block, obtains memory for it, and adds the block to the table, still without it.
    fn push_obtained(&self, wanted: &Wanted, slots: usize) -> Result<(usize, Backing), GrowError> {
        let undo = self.undo();
        let block = self.make_block(slots, self.plan.areas_of(slots, segment::<C>()))?;
        let obtained = self.obtain(wanted)?;
        // The caller holds the lock of growth, so the place is still free.
        let index = self.push(block)?;
        core::mem::forget(undo);
        Ok((index, obtained.keep()))
    }

    /// Its drop rewinds the store to the current mark, also after a panic. Everything made from the
    /// store since then must be gone.
    fn undo(&self) -> impl Drop + use<'_, M, C> {
        let mark = self.store.mark();
        OnDrop(move || self.store.rewind(mark))
    }

    /// Makes a block without memory, if there is a place for it in the table.
    fn make_block(&self, slots: usize, areas: usize) -> Result<Row<Block<C>>, GrowError> {
        if self.blocks.len() == self.blocks.capacity() {
            return Err(GrowError::Limit(self.blocks.capacity()));
        }
        let shape = plan::shape(slots, areas, segment::<C>()).map_err(|_| GrowError::NoMemory)?;
        let (store, undo) = (&self.store, self.undo());
        let block = store.try_row(1, |_| Block::try_new(shape, areas, store));
        let block = block.ok_or(GrowError::NoMemory)?;
        core::mem::forget(undo);
        Ok(block)
    }

    fn push(&self, block: Row<Block<C>>) -> Result<usize, GrowError> {
        let pushed = self.blocks.push(block);
        pushed.map_err(|_| GrowError::Limit(self.blocks.capacity()))
    }

    /// Adds a block without memory to the table. Returns its number.
    #[cfg(feature = "alloc")]
    pub(super) fn push_shaped(&self, slots: usize, areas: usize) -> Result<usize, GrowError> {
        self.push(self.make_block(slots, areas)?)
    }

    /// Obtains memory, shared and zeroed.
    pub(crate) fn obtain(&self, wanted: &Wanted) -> Result<Obtained<'_, M, C>, GrowError> {
        let backing = self.memory().obtain(wanted).ok_or(GrowError::NoMemory)?;
        let fits = self.is_placed(&backing, wanted.len) && self.is_apart(&backing, wanted.reach);
        if !fits {
            self.free_private(backing);
            return Err(GrowError::Misplaced);
        }
        let backing = self.risked(backing, |backing| self.memory().share(backing));
        let backing = match backing {
            Ok(backing) => backing,
            Err(backing) => {
                self.free_private(backing);
                return Err(GrowError::NotShared);
            }
        };
        self.fresh_run(&backing).zero(0, backing.len);
        let backing = Some(backing);
        Ok(Obtained {
            pool: self,
            backing,
        })
    }

    /// Shares memory, or makes it private. If that panics, it is unknown whether the host can see
    /// the memory. The memory is then leaked on purpose, and counted.
    pub(crate) fn risked(
        &self,
        backing: Backing,
        convert: impl FnOnce(&Backing) -> Result<(), NotConverted>,
    ) -> Result<Backing, Backing> {
        let lost = OnDrop(|| self.count_leaked((backing.len as u64 / SLOT) as usize));
        let converted = convert(&backing);
        core::mem::forget(lost);
        match converted {
            Ok(()) => Ok(backing),
            Err(NotConverted) => Err(backing),
        }
    }

    /// True if memory is below `reach` and overlaps no other block.
    fn is_apart(&self, backing: &Backing, reach: Iova) -> bool {
        let Some(extent) = backing.extent() else {
            return false;
        };
        let overlaps =
            |other: &Backing| other.extent().is_some_and(|other| other.overlaps(&extent));
        let mut blocks = self.awake().filter_map(Block::backing);
        let transients = self.transients.0.lock();
        let mut transients = transients.iter().map(|(_, one)| &one.backing);
        extent.last() <= reach && !blocks.any(|other| overlaps(&other)) && !transients.any(overlaps)
    }

    pub(crate) fn count_leaked(&self, slots: usize) {
        // Relaxed: a number that orders nothing.
        self.leaked.fetch_add(slots, Ordering::Relaxed);
    }

    /// Gives back all blocks without mappings. Memory with mappings stays with its devices for
    /// good.
    pub(super) fn put_all_to_sleep(&self) {
        for (_, block) in self.blocks.iter() {
            if block.base().is_some() {
                self.put_to_sleep(block);
            }
        }
    }

    /// Ends a pool that could not be made, and returns its memory source.
    pub(super) fn dissolve(mut self, cause: PoolError) -> NoPool<M> {
        self.put_all_to_sleep();
        let memory = self.memory.take();
        NoPool {
            cause,
            memory: memory.expect("a pool has its memory until it is dropped"),
        }
    }
}
