//! `check()`: walks every invariant of a pool and names the one that is broken.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::area::sealed::Slots;
use super::block::Block;
use super::config::Config;
use super::memory::{Backing, Memory};
use super::pool::Pool;
use super::run::bits;
use super::slot::SLOT;
use crate::check::Check;

/// A broken invariant of a pool, numbered as in the module's documentation. Slots are numbered in
/// their block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenPool {
    /// I1: the slot is free and part of a mapping.
    FreeAndMapped(usize, usize),
    /// I2: the slot is taken, and no mapping has it.
    Lost(usize, usize),
    /// I3: the record at this slot does not describe its run.
    Record(usize, usize),
    /// I4: the run that begins at this slot crosses a segment.
    Crosses(usize, usize),
    /// I5: these blocks overlap, or one of them is misaligned.
    Blocks(usize, usize),
    /// I6: the block sleeps, and one of its slots is free.
    Asleep(usize),
}

impl fmt::Display for BrokenPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FreeAndMapped(block, slot) => {
                write!(f, "I1: slot {slot} of block {block} is free and mapped")
            }
            Self::Lost(block, slot) => {
                write!(f, "I2: slot {slot} of block {block} is taken by no mapping")
            }
            Self::Record(block, slot) => {
                write!(f, "I3: the record of slot {slot} of block {block} is wrong")
            }
            Self::Crosses(block, slot) => {
                write!(
                    f,
                    "I4: the run at slot {slot} of block {block} crosses a segment"
                )
            }
            Self::Blocks(one, other) => {
                write!(f, "I5: blocks {one} and {other} overlap or are misaligned")
            }
            Self::Asleep(block) => write!(f, "I6: block {block} sleeps and has a free slot"),
        }
    }
}

impl Error for BrokenPool {}

impl<M: Memory, C: Config> Check for Pool<M, C> {
    type Broken = BrokenPool;

    /// O(slots); exact while nobody maps or unmaps.
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
    let mut end = 0;
    for slot in 0..block.slots() {
        let in_area = slot % shape.slots;
        let (area, _) = block.parts().nth(block.area_of(slot)).expect("its area");
        let word = area.word(in_area / shape.segment);
        let at = (in_area % shape.segment) as u32;
        let is_free = word & bits(at, 1) != 0;
        match (block.book.look(slot), is_free) {
            (Some(_), true) => return Err(BrokenPool::FreeAndMapped(index, slot)),
            (None, false) => return Err(BrokenPool::Lost(index, slot)),
            (None, true) => {}
            (Some((start, _, entry)), false) => {
                let data = u64::from(entry.offset) + u64::from(entry.len);
                let begins = start == slot && end <= slot;
                let goes_on = slot < end && start < slot;
                if entry.len == 0 || data > u64::from(entry.slots) * SLOT || !(begins || goes_on) {
                    return Err(BrokenPool::Record(index, slot));
                }
                if at as usize + entry.slots as usize > shape.segment && begins {
                    return Err(BrokenPool::Crosses(index, slot));
                }
                end = if begins {
                    slot + entry.slots as usize
                } else {
                    end
                };
            }
        }
    }
    Ok(())
}
