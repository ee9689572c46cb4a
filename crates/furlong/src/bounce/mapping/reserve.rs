//! Taking and freeing runs, without a copy.
#![forbid(unsafe_code)]

use core::mem::ManuallyDrop;

use super::device::Charge;
use super::spot::Spot;
use crate::addr::{Address, Iova, PhysAddr};
use crate::bounce::area::need;
use crate::bounce::{
    Answer, Block, Config, Counters, Device, Direction, Entry, Event, Growth, Haste, Kind,
    MapError, Memory, Need, NoRun, Order, Pass, Pool, SLOT, Taken, Transient, Wanted, Zeroing,
    low_bits, segment,
};
use crate::sync::Cpu;
use crate::sync::atomic::Ordering;

/// The recorded properties of a requested mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// The address of the original, if there is one.
    pub(crate) original: Option<PhysAddr>,
    pub(crate) len: usize,
    pub(crate) direction: Direction,
    pub(crate) kind: Kind,
}

/// A run that was taken. Its drop frees the run if the mapping fails, by a panic of the user's
/// code.
#[must_use = "the run goes back as soon as this is dropped"]
struct Place<'a, C: Config> {
    block: &'a Block<C>,
    slot: usize,
    slots: u32,
    /// The device address of slot 0 of the block.
    base: u64,
}

impl<C: Config> Drop for Place<'_, C> {
    fn drop(&mut self) {
        self.block.give(self.slot, self.slots);
    }
}

/// Calls a function when it is dropped, also after a panic.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline(always)]
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Ask {
    #[inline]
    fn entry(&self, device: &Device, need: &Need) -> Entry {
        Entry {
            device: device.id(),
            slots: need.slots,
            offset: need.offset,
            len: need.len,
            original: self.original.map_or(0, Address::raw),
            direction: self.direction,
            kind: self.kind,
        }
    }
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// The requirements of a mapping, if this device may have one in this pool.
    #[inline(always)]
    pub(crate) fn need(&self, device: &Device, ask: &Ask) -> Result<Need, MapError> {
        if !self.admits(device) {
            return Err(MapError::NotAdmitted(device.id()));
        }
        let (limits, segment) = (device.limits(), segment::<C>());
        match Need::new(limits, ask.original, ask.len, C::PAGE, segment) {
            Ok(need) => Ok(need),
            Err(no_run) => Err(Self::impossible(device, ask.len, no_run)),
        }
    }

    #[cold]
    #[inline(never)]
    fn impossible(device: &Device, len: usize, no_run: NoRun) -> MapError {
        let limits = device.limits();
        match no_run {
            NoRun::Zero => MapError::ZeroSize,
            NoRun::TooLarge => MapError::TooLarge {
                len,
                longest: need::longest(limits, segment::<C>()),
            },
            NoRun::Align => MapError::Align(limits.align_mask),
            NoRun::Boundary => MapError::CrossesBoundary {
                len,
                boundary_mask: limits.boundary_mask,
            },
        }
    }

    /// Takes a run, records the mapping, and passes the run to `then`. Passed on at once, the spot
    /// stays in registers.
    #[inline(always)]
    pub(crate) fn reserve<'a, T>(
        &'a self,
        device: &Device,
        ask: &Ask,
        then: impl FnOnce(Spot<'a, C>) -> T,
    ) -> Result<T, MapError> {
        match self.need(device, ask) {
            Ok(need) => self.reserve_needed(device, ask, &need, then),
            Err(error) => Err(error),
        }
    }

    #[inline(always)]
    pub(super) fn reserve_needed<'a, T>(
        &'a self,
        device: &Device,
        ask: &Ask,
        need: &Need,
        then: impl FnOnce(Spot<'a, C>) -> T,
    ) -> Result<T, MapError> {
        let charge = match device.charge(need.slots) {
            Ok(charge) => charge,
            Err(used) => return Err(Self::over_quota(device, used, need.slots)),
        };
        // Dropped in this order if the mapping fails: others may have waited for what it was
        // charged.
        let told = OnDrop(|| self.tell_of_refund(device));
        let charge = (charge, told);
        let keep = |(charge, told): (Charge<'_>, _)| {
            charge.keep();
            core::mem::forget(told);
        };
        let here = self.cpu.number();
        // Every order begins with the own area of the first block.
        let Some(block) = self.blocks.get(0) else {
            let none = (Taken::none(), 0);
            let spot = self.reserve_further(device, (*ask, *need, here), none)?;
            keep(charge);
            return Ok(then(spot));
        };
        let Answer { taken, base } = block.take(here, 0, need, Pass::First);
        match taken.slot() {
            Some(slot) if !taken.rolled_back() => {
                let slots = need.slots;
                let place = Place {
                    block,
                    slot,
                    slots,
                    base,
                };
                let spot = self.note(device, ask, need, place);
                keep(charge);
                Ok(then(spot))
            }
            _ => {
                let answer = (taken, base);
                let spot = self.reserve_further(device, (*ask, *need, here), answer)?;
                keep(charge);
                Ok(then(spot))
            }
        }
    }

    /// Searches the areas after the first one, and handles a full pool. Arguments are by value: if
    /// a rare call took a reference, the need of the fast path could not stay in registers.
    #[cold]
    #[inline(never)]
    fn reserve_further(
        &self,
        device: &Device,
        (ask, need, here): (Ask, Need, usize),
        (taken, base): (Taken, u64),
    ) -> Result<Spot<'_, C>, MapError> {
        let mut first = Some(Answer { taken, base });
        let found = self.search(need.slots, |block, step| match first.take() {
            Some(answer) => answer,
            None => block.take(here, step, &need, Pass::First),
        });
        match found {
            Some(found) => Ok(self.note(device, &ask, &need, found)),
            None => self.reserve_slowly(device, &ask, &need),
        }
    }

    /// Searches all areas again, including the segments that seemed full.
    #[cold]
    fn find_thoroughly(&self, need: &Need) -> Option<Place<'_, C>> {
        let here = self.cpu.number();
        self.search(need.slots, |block, step| {
            block.take(here, step, need, Pass::Thorough)
        })
    }

    /// Searches the areas in the pool's order, until one has a run.
    #[inline]
    fn search(
        &self,
        slots: u32,
        mut ask: impl FnMut(&Block<C>, usize) -> Answer,
    ) -> Option<Place<'_, C>> {
        let mut missed = false;
        let found = C::Order::search(
            self.blocks.len(),
            self.plan.areas,
            |block| self.blocks.get(block).map_or(0, Block::areas),
            |block, step| {
                let block = self.blocks.get(block)?;
                let Answer { taken, base } = ask(block, step);
                missed |= taken.rolled_back();
                let slot = taken.slot()?;
                Some(Place {
                    block,
                    slot,
                    slots,
                    base,
                })
            },
        );
        if missed {
            self.notify(None);
        }
        found
    }

    /// Records the mapping of a run that was taken.
    #[inline(always)]
    fn note<'a>(
        &'a self,
        device: &Device,
        ask: &Ask,
        need: &Need,
        place: Place<'a, C>,
    ) -> Spot<'a, C> {
        let place = ManuallyDrop::new(place);
        let entry = ask.entry(device, need);
        place.block.book.open(place.slot, &entry);
        Spot::new(place.block, place.slot, place.base, &entry)
    }

    /// Handles a pool in which no area had room.
    #[cold]
    #[inline(never)]
    fn reserve_slowly(
        &self,
        device: &Device,
        ask: &Ask,
        need: &Need,
    ) -> Result<Spot<'_, C>, MapError> {
        self.counters.count(Event::Full, 1);
        if let Some(found) = self.find_thoroughly(need) {
            return Ok(self.note(device, ask, need, found));
        }
        match self.plan.growth {
            Growth::Never => {}
            Growth::Deferred if self.could_grow_for(need.slots) => self.ask_for_growth(),
            Growth::Deferred => {}
            Growth::Inline => {
                // There may be room even if it failed, as another CPU may have grown the pool.
                if self.could_grow_for(need.slots) {
                    let _ = self.grow_for(Iova::new(need.reach), need.slots, Haste::Atomic);
                }
                if let Some(found) = self.find_thoroughly(need) {
                    return Ok(self.note(device, ask, need, found));
                }
            }
        }
        let transient = self.reserve_transient(device, ask, need);
        transient.ok_or_else(|| self.refusal(need))
    }

    /// Wakes who waits for the quota that a failed map had.
    #[cold]
    #[inline(never)]
    fn tell_of_refund(&self, device: &Device) {
        if device.limits().quota.is_some() {
            self.notify_if_waited_for(Some(device.id()));
        }
    }

    /// Lets the next [`tend`](Self::tend) grow the pool.
    pub(super) fn ask_for_growth(&self) {
        // Relaxed: a flag for the caller of `tend`.
        self.wants_growth.store(1, Ordering::Relaxed);
        self.memory().wants_tending();
    }

    #[cold]
    #[inline(never)]
    pub(super) fn over_quota(device: &Device, used: u32, wanted: u32) -> MapError {
        MapError::Quota {
            quota: device.limits().quota.unwrap_or(u32::MAX),
            used,
            wanted,
        }
    }

    pub(super) fn refusal(&self, need: &Need) -> MapError {
        let reaches = |block: &Block<C>| {
            let base = block.base();
            base.is_some_and(|base| need.reaches(base, block.bytes()))
        };
        if self.awake().any(reaches) {
            MapError::Full {
                wanted: need.slots,
                free: self.free_slots(),
            }
        } else {
            MapError::Unreachable(Iova::new(need.reach))
        }
    }

    /// Obtains a block for this mapping alone.
    fn reserve_transient(&self, device: &Device, ask: &Ask, need: &Need) -> Option<Spot<'_, C>> {
        if self.plan.transients == 0 || !self.transients.0.lock().has_place() {
            return None;
        }
        let before = u32::try_from(need.slots_before()).ok()?;
        let slots = before.checked_add(need.slots)?;
        if slots > 128 {
            return None;
        }
        let wanted = Wanted {
            len: usize::try_from(u64::from(slots) * SLOT).ok()?,
            align: need.align(),
            reach: Iova::new(need.reach).min(self.plan.reach),
            haste: Haste::Atomic,
        };
        let obtained = self.obtain(&wanted).ok()?;
        self.counters.count(Event::Transient, 1);
        let backing = obtained.keep();
        let base = backing.device.raw();
        let free = low_bits(slots) & !low_bits(before);
        if need.place(free, base) != Some(before) {
            self.give_back(backing);
            return None;
        }
        let transient = Transient {
            backing,
            before: before as usize,
            generation: 0,
            entry: ask.entry(device, need),
            ended: false,
        };
        let spot = Spot::of_transient(0, &transient);
        let put = self.transients.0.lock().put(transient);
        let (index, generation) = match put {
            Ok(put) => put,
            Err(transient) => {
                self.give_back(transient.backing);
                return None;
            }
        };
        // Relaxed: a CPU that gets the address sees everything before the address was handed over.
        self.transient_count.fetch_add(1, Ordering::Relaxed);
        let slot = index as u32;
        Some(Spot {
            slot,
            generation,
            ..spot
        })
    }

    /// Ends the mapping of a run, and frees the run.
    #[inline]
    pub(super) fn release(&self, device: &Device, spot: Spot<'_, C>) {
        if let Some(block) = spot.block {
            block.book.close(spot.slot as usize);
        }
        self.release_closed(device, spot);
    }

    /// Frees the run of a mapping whose record was closed.
    #[inline(always)]
    pub(super) fn release_closed(&self, device: &Device, spot: Spot<'_, C>) {
        let slots = spot.slots;
        // Also if the memory or a counter panics as the run is freed.
        let _given = OnDrop(|| {
            device.refund(slots);
            self.notify_if_waited_for(Some(device.id()));
        });
        self.give_run(spot);
    }

    /// Frees the run of a mapping without a charged quota.
    pub(crate) fn release_unowned(&self, spot: Spot<'_, C>) {
        let _given = OnDrop(|| self.notify_if_waited_for(None));
        self.give_run(spot);
    }

    #[inline(always)]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a run is given back only once, by its owner"
    )]
    fn give_run(&self, spot: Spot<'_, C>) {
        if C::Zeroing::UNMAPPED {
            self.run(&spot).zero(0, spot.bytes());
        }
        match spot.block {
            Some(block) => block.give(spot.slot as usize, spot.slots),
            None => self.drop_transient(spot.slot, spot.generation),
        }
    }

    #[inline]
    fn notify_if_waited_for(&self, device: Option<u32>) {
        // Relaxed: a waiter announces itself before it settles the area, or before it looks at its
        // quota. A later free of a run or of quota pairs with that.
        if self.waiting.0.load(Ordering::Relaxed) != 0 {
            self.notify(device);
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_transient(&self, number: u32, generation: u32) {
        let mut transients = self.transients.0.lock();
        let transient = transients.take(number as usize, generation);
        drop(transients);
        let transient = transient.expect("a transient block exists as long as its mapping");
        // Relaxed: as in the increment.
        self.transient_count.fetch_sub(1, Ordering::Relaxed);
        // Also if the memory panics as it is given back: the place is free.
        let _there = OnDrop(|| self.notify_of_place());
        self.give_back(transient.backing);
    }

    /// Slots of all transient mappings.
    pub(crate) fn transient_slots(&self) -> usize {
        if self.plan.transients == 0 {
            return 0;
        }
        let transients = self.transients.0.lock();
        let slots = transients.iter().map(|(_, one)| one.entry.slots as usize);
        slots.sum()
    }

    /// Transient mappings of a device.
    pub(crate) fn transients_of(&self, device: u32) -> usize {
        if self.plan.transients == 0 {
            return 0;
        }
        let transients = self.transients.0.lock();
        let own = transients
            .iter()
            .filter(|(_, one)| one.entry.device == device);
        own.count()
    }

    /// All mappings in blocks: block, first slot, entry.
    pub(crate) fn mappings(&self) -> impl Iterator<Item = (usize, usize, Entry)> {
        let blocks = self
            .blocks
            .iter()
            .filter(|(_, block)| block.base().is_some());
        blocks.flat_map(|(index, block)| {
            (0..block.slots()).filter_map(move |slot| {
                let (_, entry) = block.book.start(slot)?;
                Some((index, slot, entry))
            })
        })
    }
}
