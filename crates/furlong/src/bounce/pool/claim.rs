//! Mappings without an owner after a restore: claimed again, or reported as leaks.
#![expect(unsafe_code, reason = "a predecessor's mappings are trusted")]

use crate::addr::Iova;
use crate::bounce::{
    Block, Config, Device, Direction, Entry, Kind, Memory, Misuse, Pool, SLOT_SHIFT,
};

/// A mapping that was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The device address of the data.
    pub at: Iova,
    /// Bytes of data.
    pub len: usize,
    /// The direction of the data.
    pub direction: Direction,
    /// True if it has an original and ends with `unmap_raw`; false if it ends with
    /// `deallocate_raw`.
    pub has_original: bool,
}

/// A mapping that is unclaimed since the pool was restored. It is a leak once every owner has
/// claimed its own mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The number of its device.
    pub device: u32,
    /// The device address of the data.
    pub at: Iova,
    /// Bytes of data.
    pub len: usize,
    /// Slots of its run.
    pub slots: u32,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Claims the mapping that begins at `at` and belonged to this device when the pool was saved.
    ///
    /// # Errors
    /// See [`Misuse`]; nothing has changed. [`Misuse::Kind`] if it was claimed before.
    ///
    /// # Safety
    /// If it has an original, the caller guarantees for it what [`map_raw`](Self::map_raw)
    /// requires.
    pub unsafe fn claim(&self, device: &Device, at: Iova) -> Result<Claimed, Misuse> {
        let found = self.mapping_at(at)?;
        if found.entry.device != device.id() {
            return Err(Misuse::Foreign(found.entry.device));
        }
        found.starts(at)?;
        let kind = match found.entry.kind {
            Kind::UnclaimedRaw => Kind::Raw,
            Kind::UnclaimedAllocated => Kind::Allocated,
            Kind::Guarded => return Err(Misuse::Guarded),
            Kind::Raw | Kind::Allocated | Kind::Pointer => return Err(Misuse::Kind),
        };
        let slot = found.spot.slot as usize;
        if let Some(block) = found.spot.block {
            block.book.set_kind(slot, &found.entry, kind);
        } else if let Some(one) = self.transients.0.lock().get_mut(slot) {
            one.entry.kind = kind;
        }
        device.charge_anyway(found.entry.slots);
        Ok(Claimed {
            at,
            len: found.entry.len as usize,
            direction: found.entry.direction,
            has_original: kind == Kind::Raw,
        })
    }

    /// Calls `leaked` for every unclaimed mapping, in the order of blocks and slots, transient ones
    /// last. Returns their number.
    ///
    /// # Cost
    /// A look at every slot.
    pub fn unclaimed(&self, mut leaked: impl FnMut(Leak)) -> usize {
        let mut count = 0;
        for (index, slot, entry) in self.mappings() {
            let base = self.blocks.get(index).and_then(Block::base);
            let at = |base| base + ((slot as u64) << SLOT_SHIFT) + u64::from(entry.offset);
            if let Some(leak) = base.and_then(|base| Leak::of(&entry, Iova::new(at(base)))) {
                count += 1;
                leaked(leak);
            }
        }
        let mut next = 0;
        while let Some((at, leak)) = self.transient_leak(next) {
            next = at + 1;
            count += 1;
            leaked(leak);
        }
        count
    }

    /// The first transient leak from this number on.
    fn transient_leak(&self, from: usize) -> Option<(usize, Leak)> {
        let transients = self.transients.0.lock();
        let mut rest = transients.iter().filter(|(at, _)| *at >= from);
        rest.find_map(|(at, one)| Some((at, Leak::of(&one.entry, one.start())?)))
    }

    /// Ends every unclaimed mapping, without a copy, and passes each to `released`. Returns their
    /// number.
    ///
    /// # Safety
    /// No device uses them any more, and nobody claims one meanwhile.
    pub unsafe fn release_unclaimed(&self, mut released: impl FnMut(Leak)) -> usize {
        let mut count = 0;
        let ended = |leak: Leak| {
            if let Ok(found) = self.mapping_at(leak.at)
                && self.end(&found).is_ok()
            {
                self.release_unowned(found.spot);
                count += 1;
                released(leak);
            }
        };
        self.unclaimed(ended);
        count
    }
}

impl Leak {
    /// The mapping whose data begin at `at`, if it is unclaimed.
    fn of(entry: &Entry, at: Iova) -> Option<Self> {
        let is_unclaimed = matches!(entry.kind, Kind::UnclaimedRaw | Kind::UnclaimedAllocated);
        is_unclaimed.then_some(Self {
            device: entry.device,
            at,
            len: entry.len as usize,
            slots: entry.slots,
        })
    }
}
