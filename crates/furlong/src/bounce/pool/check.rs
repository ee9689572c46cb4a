//! `check()`: walks every invariant of a pool and names the broken one.

use crate::error::messages;

use crate::bounce::{Backing, Block, Config, Memory, Pool, SLOT, Slots, bits};
use crate::check::Check;

messages! {
    /// A broken invariant of a pool, numbered as in the module's documentation. Slot numbers count
    /// from the start of the block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BrokenPool {
        /// I1: the slot is free and part of a mapping.
        FreeAndMapped(n_0: usize, n: usize) => "I1: slot {n} of block {n_0} is free and mapped";
        /// I2: the slot is taken, but no mapping has it.
        Lost(n_0: usize, n: usize) =>
            "I2: slot {n} of block {n_0} is taken but belongs to no mapping";
        /// I3: the record at this slot does not describe its run.
        Record(n_0: usize, n: usize) => "I3: the record of slot {n} of block {n_0} is wrong";
        /// I4: the run that begins at this slot crosses a segment.
        Crosses(n_0: usize, n: usize) => "I4: the run at slot {n} of block {n_0} crosses a segment";
        /// I5: these blocks overlap, or one of them is misaligned.
        Blocks(n_0: usize, n: usize) => "I5: blocks {n_0} and {n} overlap or are misaligned";
        /// I6: the block sleeps, and one of its slots is free.
        Asleep(n: usize) => "I6: block {n} has no memory but has a free slot";
    }
}

impl<M: Memory, C: Config> Check for Pool<M, C> {
    type Broken = BrokenPool;

    /// O(slots); exact while there are no maps and unmaps.
    fn check(&self) -> Result<(), BrokenPool> {
        for (index, block) in self.blocks.iter() {
            if block.base().is_none() {
                if block.free() > 0 {
                    return Err(BrokenPool::Asleep(index));
                }
                continue;
            }
            check_slots(index, block)?;
            let own = block.backing();
            let apart = |other: &Block<C>| {
                let pair = own.as_ref().zip(other.backing());
                pair.is_none_or(|(own, other)| is_apart(own, &other))
            };
            let mut others = self.blocks.iter().skip(index + 1);
            if let Some((other, _)) = others.find(|(_, other)| !apart(other)) {
                return Err(BrokenPool::Blocks(index, other));
            }
        }
        Ok(())
    }
}

fn is_apart(one: &Backing, other: &Backing) -> bool {
    let extents = one.extent().zip(other.extent());
    extents.is_some_and(|(one, other)| !one.overlaps(&other))
}

fn check_slots<C: Config>(index: usize, block: &Block<C>) -> Result<(), BrokenPool> {
    let shape = block.shape();
    // The end of the last run that began.
    let mut end = 0;
    for slot in 0..block.slots() {
        let in_area = slot % shape.slots;
        let (area, _) = block.parts().nth(block.area_of(slot)).expect("its area");
        let word = area.word(in_area / shape.segment);
        let at = (in_area % shape.segment) as u32;
        let is_free = word & bits(at, 1) != 0;
        let begins = block.book.start(slot);
        if is_free && (begins.is_some() || slot < end) {
            return Err(BrokenPool::FreeAndMapped(index, slot));
        }
        let Some((_, entry)) = begins else {
            if !is_free && slot >= end {
                return Err(BrokenPool::Lost(index, slot));
            }
            continue;
        };
        let data = u64::from(entry.offset) + u64::from(entry.len);
        if slot < end || entry.len == 0 || data > u64::from(entry.slots) * SLOT {
            return Err(BrokenPool::Record(index, slot));
        }
        if at as usize + entry.slots as usize > shape.segment {
            return Err(BrokenPool::Crosses(index, slot));
        }
        end = slot + entry.slots as usize;
    }
    Ok(())
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::BrokenPool;
    use crate::bounce::{Entry, HeapMemory, OneCpu, Plan, Pool, SLOT};
    use crate::check::Check;

    fn pool() -> Pool<HeapMemory> {
        let pool = Pool::new(HeapMemory::new(), OneCpu, &Plan::new(256, 1).blocks(2))
            .unwrap_or_else(|none| panic!("{none}"));
        pool.check().unwrap();
        pool
    }

    /// Takes a run of the first block, with a record of `len` bytes.
    fn note(pool: &Pool<HeapMemory>, slot: usize, slots: u32, len: u32) {
        let block = pool.blocks.get(0).unwrap();
        (slot..slot + slots as usize).for_each(|slot| assert!(block.take_at(slot, 1)));
        block.book.open(slot, &Entry::without_original(slots, len));
    }

    /// Frees every slot of the first block, so that its memory is freed with the pool.
    fn mend(pool: &Pool<HeapMemory>) {
        let block = pool.blocks.get(0).unwrap();
        for slot in 0..block.slots() {
            let _ = block.take_at(slot, 1);
            block.give(slot, 1);
        }
    }

    #[test]
    fn a_mapped_slot_that_is_free_is_found() {
        let pool = pool();
        note(&pool, 7, 2, 4096);
        pool.check().unwrap();
        pool.blocks.get(0).unwrap().give(8, 1);
        assert_eq!(pool.check(), Err(BrokenPool::FreeAndMapped(0, 8)));
        mend(&pool);
    }

    #[test]
    fn a_slot_that_nobody_has_is_found() {
        let pool = pool();
        assert!(pool.blocks.get(0).unwrap().take_at(5, 1));
        assert_eq!(pool.check(), Err(BrokenPool::Lost(0, 5)));
        mend(&pool);
        // Also right behind a mapping.
        note(&pool, 4, 2, 4096);
        assert!(pool.blocks.get(0).unwrap().take_at(6, 1));
        assert_eq!(pool.check(), Err(BrokenPool::Lost(0, 6)));
        pool.blocks.get(0).unwrap().book.close(4);
        mend(&pool);
    }

    #[test]
    fn a_record_that_is_wrong_is_found() {
        for len in [0, 2 * SLOT as u32 + 1] {
            let pool = pool();
            note(&pool, 4, 2, len);
            assert_eq!(pool.check(), Err(BrokenPool::Record(0, 4)));
            mend(&pool);
        }
    }

    #[test]
    fn a_run_that_crosses_a_segment_is_found() {
        let pool = pool();
        note(&pool, 126, 4, 10);
        assert_eq!(pool.check(), Err(BrokenPool::Crosses(0, 126)));
        mend(&pool);
    }

    #[test]
    fn blocks_that_overlap_are_found() {
        let pool = pool();
        let backing = pool.blocks.get(0).unwrap().backing().unwrap();
        let other = pool.push_shaped(256, 1).unwrap();
        let other = pool.blocks.get(other).unwrap();
        other.wake(&backing);
        assert_eq!(pool.check(), Err(BrokenPool::Blocks(0, 1)));
        // Only one of the two gives the memory back.
        let _ = other.sleep();
    }

    #[test]
    fn a_free_slot_of_a_sleeping_block_is_found() {
        let pool = pool();
        let other = pool.push_shaped(256, 1).unwrap();
        pool.blocks.get(other).unwrap().give(3, 1);
        assert_eq!(pool.check(), Err(BrokenPool::Asleep(1)));
    }
}
