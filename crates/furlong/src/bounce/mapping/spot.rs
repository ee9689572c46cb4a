//! A run of slots that is taken, and its memory.

use crate::addr::{Address, Extent, Iova};
use crate::bounce::{Backing, Block, Config, Entry, Memory, Pool, Run, SLOT, Transient, Zeroing};

/// A run of slots that is taken: the owner of the spot owns the run. It is made when the run is
/// taken, and consumed when the run is freed.
#[must_use = "its slots are lost if it is dropped"]
pub(crate) struct Spot<'a, C: Config> {
    /// The block; `None` for a transient block.
    pub(crate) block: Option<&'a Block<C>>,
    /// The first slot in the block, or the number of the transient block.
    pub(crate) slot: u32,
    pub(crate) slots: u32,
    pub(crate) generation: u32,
    /// Bytes from the start of the run to the data, and bytes of data.
    pub(crate) offset: u32,
    pub(crate) len: u32,
    /// The device address of the data.
    pub(crate) at: Iova,
}

impl<'a, C: Config> Spot<'a, C> {
    /// The run at `slot` of a block whose slot 0 has device address `base`.
    #[inline]
    pub(crate) fn new(block: &'a Block<C>, slot: usize, base: u64, entry: &Entry) -> Self {
        Self {
            block: Some(block),
            slot: slot as u32,
            slots: entry.slots,
            generation: 0,
            offset: entry.offset,
            len: entry.len,
            at: Iova::new(base + slot as u64 * SLOT + u64::from(entry.offset)),
        }
    }

    /// The run of a transient block, by the block's number.
    pub(crate) fn of_transient(number: usize, transient: &Transient) -> Self {
        Self {
            block: None,
            slot: number as u32,
            slots: transient.entry.slots,
            generation: transient.generation,
            offset: transient.entry.offset,
            len: transient.entry.len,
            at: transient.start(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots as usize * SLOT as usize
    }
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// The memory of a run.
    #[inline]
    pub(crate) fn run<'a>(&'a self, spot: &'a Spot<'_, C>) -> Run<'a> {
        let Some(block) = spot.block else {
            return self.transient_run(spot.slot, spot.bytes());
        };
        // SAFETY: the spot owns the run, which is taken as long as the spot is borrowed. Nobody
        // else copies there, as the run has one spot.
        unsafe { block.run(spot.slot as usize, spot.slots) }
    }

    /// Copies the original into a run, and zeroes the pads if that is the pool's policy.
    #[inline]
    pub(super) fn fill_run(&self, spot: &Spot<'_, C>, original: &[u8]) {
        let run = self.run(spot);
        if C::Zeroing::PADS {
            run.zero_around(spot.offset as usize, spot.len as usize);
        }
        run.fill(spot.offset as usize, original);
    }

    /// The memory of a run of `bytes` bytes in the transient block with this number.
    #[cold]
    #[inline(never)]
    fn transient_run<'a>(&self, number: u32, bytes: usize) -> Run<'a> {
        let transients = self.transients.0.lock();
        let transient = transients.get(number as usize);
        let transient = transient.expect("a transient block exists as long as its mapping");
        let before = transient.before * SLOT as usize;
        assert!(before + bytes <= transient.backing.len);
        // SAFETY: in the block, as just checked.
        let start = unsafe { transient.backing.start.add(before) };
        // SAFETY: as in `run`, the only caller: the memory is valid by the contract of `Memory`
        // until the mapping ends, which consumes its spot.
        unsafe { Run::new(start, bytes) }
    }

    /// All of a block's memory, which nobody else can reach yet.
    pub(crate) fn fresh_run<'a>(&self, backing: &'a Backing) -> Run<'a> {
        // SAFETY: the memory is valid by the contract of `Memory`. The caller has just obtained it,
        // and has not put it into a block or a mapping.
        unsafe { Run::new(backing.start, backing.len) }
    }

    /// Gives back memory that nobody uses any more. Memory that cannot be made private is leaked on
    /// purpose, and counted.
    pub(crate) fn give_back(&self, backing: Backing) {
        match self.risked(backing, |backing| self.memory().unshare(backing)) {
            Ok(backing) => self.free_private(backing),
            Err(backing) => self.count_leaked((backing.len as u64 / SLOT) as usize),
        }
    }

    /// Frees memory that is not shared.
    pub(crate) fn free_private(&self, backing: Backing) {
        // SAFETY: it came from this memory. Its block was put to sleep, its mapping ended, or it
        // was never used, so nobody has a run of it. It is private.
        unsafe { self.memory().free(backing) };
    }

    /// True if `backing` has a valid extent of `len` bytes.
    pub(crate) fn is_placed(&self, backing: &Backing, len: usize) -> bool {
        let extent = backing.extent().filter(|_| backing.len == len);
        let inside = |extent: &Extent<Iova>| extent.last().raw() < u64::MAX;
        extent.filter(inside).is_some()
    }
}
