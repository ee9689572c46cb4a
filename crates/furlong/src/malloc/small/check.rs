//! Walks over a small heap: its invariants, and the memory in use.
#![forbid(unsafe_code)]

use super::region::{GRAIN, Region};
use super::table::{Table, WORD};
use crate::error::messages;

messages! {
    /// A broken invariant of a small heap, and the address concerned.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BrokenSmall {
        /// A grain is free and begins a block, or is beyond the region.
        Grain(n: usize) => "a grain is free and in use, or beyond the region: {n:#x}";
        /// Memory in use belongs to no block.
        Lost(n: usize) => "memory in use belongs to no block: {n:#x}";
        /// A summary is not that of its words.
        Summary(n: usize) => "a summary does not match its words: {n:#x}";
    }
}

/// The memory of a small heap at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SmallStatistics {
    /// The number of blocks in use.
    pub used_blocks: usize,
    /// Their bytes, by their real sizes.
    pub used_bytes: usize,
    /// Bytes that are free.
    pub free_bytes: usize,
    /// The length of the longest block that can be allocated, in bytes.
    pub longest_free_bytes: usize,
}

impl SmallStatistics {
    pub(super) fn add(&mut self, table: &Table<'_>) {
        let ones = |words: &[u64]| words.iter().map(|word| word.count_ones() as usize).sum();
        let (free, used): (usize, usize) = (ones(table.free), ones(table.starts));
        self.used_blocks += used;
        self.used_bytes += (table.grains - free) * GRAIN;
        self.free_bytes += free * GRAIN;
        self.longest_free_bytes = self.longest_free_bytes.max(table.longest() * GRAIN);
    }
}

impl Region<'_> {
    /// Checks every invariant of a region.
    pub(super) fn check(&self) -> Result<(), BrokenSmall> {
        let table = &self.table;
        let mut is_used = false;
        for at in 0..table.free.len() * WORD {
            let (free, start) = (table.is_free(at), table.is_start(at));
            if free && start || at >= table.grains && (free || start) {
                return Err(BrokenSmall::Grain(self.address(at)));
            }
            if !free && !start && !is_used && at < table.grains {
                return Err(BrokenSmall::Lost(self.address(at)));
            }
            is_used = !free;
        }
        if table.is_summed() {
            Ok(())
        } else {
            Err(BrokenSmall::Summary(self.address(0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    use super::{BrokenSmall, Region, Table};

    /// Breaks a region that has a block of four grains at its begin, and checks it.
    fn broken(by: fn(&mut Table<'_>)) -> Result<(), BrokenSmall> {
        let mut memory = [MaybeUninit::uninit(); 9000];
        let region = Region::new(&mut memory).expect("there is room for a table");
        region.table.take(0, 4);
        assert_eq!(region.check(), Ok(()));
        by(&mut region.table);
        region.check()
    }

    #[test]
    fn each_broken_invariant_is_named() {
        let begins_in_free = broken(|table| table.starts[1] |= 1);
        assert!(matches!(begins_in_free, Err(BrokenSmall::Grain(_))));
        let beyond = broken(|table| table.starts[table.grains / 64] |= 1 << (table.grains % 64));
        assert!(matches!(beyond, Err(BrokenSmall::Grain(_))));
        let lost = broken(|table| table.free[0] &= !(1 << 9));
        assert!(matches!(lost, Err(BrokenSmall::Lost(_))));
        let unsummed = broken(|table| table.free[0] |= 8);
        assert!(matches!(unsummed, Err(BrokenSmall::Summary(_))));
        for at in [0, 1] {
            let stale = broken(if at == 0 {
                |table| table.summaries[0] = table.summaries[1]
            } else {
                |table| table.summaries[1] = table.summaries[0]
            });
            assert!(matches!(stale, Err(BrokenSmall::Summary(_))), "{at}");
        }
    }
}
