//! The writer's side: the guard of the lock, with queries and simple changes.

use core::mem::MaybeUninit;

use super::entry::segment;
use super::hold::Hold;
use super::order::below;
use super::segment_table::NO_ENTRY;
use crate::addr::{Address, Extent, Pfn};
use crate::forms::debug_as;
use crate::phys::{
    All, Arm, Config, Frames, Host, NoMemory, Node, Refusal, Segment, SegmentId, SegmentTable,
    SetError, Site, Snapshot, Stale, View, above,
};

/// Exclusive access to the segments of a table, for changes and queries.
///
/// If it is forgotten, the lock stays taken for ever. [`SegmentTable::get_mut`] and the table's
/// drop work all the same, as they do not take the lock.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Segments<'a, D, C: Config, const N: usize> {
    pub(crate) all: All<'a, D>,
    pub(crate) shared: &'a <C::Lookup as Arm>::Shared<D>,
    pub(crate) rcu: &'a C::Rcu,
    pub(crate) core: Hold<'a, D, C, N>,
}

impl<'a, D, C: Config, const N: usize> Segments<'a, D, C, N> {
    #[inline]
    pub(super) fn locked(table: &'a SegmentTable<D, C, N>) -> Self {
        Self {
            all: table.entries.all(),
            shared: &table.shared,
            rcu: &table.rcu,
            core: Hold::locked(&table.core),
        }
    }

    pub(crate) fn alone(table: &'a mut SegmentTable<D, C, N>) -> Self {
        Self {
            all: table.entries.all(),
            shared: &table.shared,
            rcu: &table.rcu,
            core: Hold::Alone(table.core.get_mut()),
        }
    }

    pub(crate) fn is_alone(&self) -> bool {
        matches!(self.core, Hold::Alone(_))
    }

    /// Runs `work` without the lock, and takes it again, also after a panic. The table may have
    /// changed meanwhile.
    pub(crate) fn unlocked<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.core.unlocked(work)
    }

    pub(crate) fn snapshot(&self) -> Snapshot<'_, D> {
        self.core.snapshot(self.all)
    }

    pub(crate) fn site(&mut self) -> Site<'_, C::Lookup, D> {
        self.core.site(self.all, self.shared)
    }

    /// The writer's view for lookups, without a guard, until the next change.
    ///
    /// An arm that readers cannot use beside a writer has no other view.
    #[inline]
    pub fn view(&self) -> View<'_, D, C> {
        View::new(C::Lookup::reader(self.shared, &self.core.index), self.all)
    }

    /// Lets the table take memory from the heap.
    #[cfg(feature = "alloc")]
    pub fn grow_on_heap(&mut self) {
        self.core.memory.grow_on_heap();
    }

    /// Gives memory to the table, for good: a static array, or a part of a plugged range.
    pub fn donate(&mut self, memory: &'static mut [MaybeUninit<u8>]) {
        self.core.memory.donate(memory);
    }

    /// Returns the memory that hosted an unplugged range to the caller, once for each such range.
    /// Call it before the memory is physically removed, as its bookkeeping is still in it.
    pub fn take_back(&mut self) -> Option<&'static mut [MaybeUninit<u8>]> {
        self.sweep();
        self.core.memory.take_back()
    }

    /// All isolated stretches of frames, in order.
    pub fn isolated(&self) -> impl ExactSizeIterator<Item = Extent<Pfn>> {
        let hidden = self.core.hidden.as_slice().iter();
        hidden.map(|hidden| hidden.frames.extent().expect("no isolation is empty"))
    }

    /// The host that has some of these frames of a segment: that of its descriptors.
    pub(crate) fn host_in(&self, index: u32, frames: Frames) -> Option<(Frames, Host)> {
        let host = self.all.get(index).share()?.header().host()?;
        let hosting = self.core.memory.frames_of(host);
        hosting.overlaps(frames).then_some((hosting, host))
    }

    /// The frames of a segment that host bookkeeping.
    pub(crate) fn hosting(&self, index: u32) -> Option<Extent<Pfn>> {
        let (frames, _) = self.host_in(index, self.all.get(index).frames())?;
        frames.extent()
    }

    /// All stretches of frames that host bookkeeping, in order.
    pub fn hosted(&self) -> impl Iterator<Item = Extent<Pfn>> {
        let order = self.core.order.iter(self.all);
        order.filter_map(|index| self.hosting(index))
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.core.order.len()
    }

    /// True if there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the table has started: frames have descriptors, and lookups find them.
    pub fn is_started(&self) -> bool {
        self.core.started
    }

    /// The number of available frames that have descriptors; 0 at boot.
    pub fn managed(&self) -> u64 {
        self.core.managed
    }

    /// The segment that has `frame`, and the frame's offset in it. Also at boot, and also if
    /// isolated.
    ///
    /// # Cost
    /// O(log n).
    pub fn find(&self, frame: Pfn) -> Option<(SegmentId, u64)> {
        let index = self.snapshot().find(frame.raw())?;
        Some((
            self.all.id(index),
            frame.raw() - self.all.get(index).start(),
        ))
    }

    /// The segment as it is now.
    ///
    /// # Errors
    /// [`Stale`] if it is gone.
    ///
    /// # Cost
    /// O(1).
    pub fn get(&self, id: SegmentId) -> Result<Segment, Stale> {
        self.all.resolve(id).ok_or(Stale(id))?;
        Ok(segment(self.all, id.index))
    }

    /// The lowest segment.
    pub fn first(&self) -> Option<SegmentId> {
        let first = self.core.order.first()?;
        Some(self.all.id(first))
    }

    /// The highest segment.
    pub fn last(&self) -> Option<SegmentId> {
        let last = self.core.order.last()?;
        Some(self.all.id(last))
    }

    /// The segment above; `None` above the highest one.
    ///
    /// # Errors
    /// [`Stale`] if `id` is gone.
    ///
    /// # Cost
    /// O(1).
    pub fn next(&self, id: SegmentId) -> Result<Option<SegmentId>, Stale> {
        self.all.resolve(id).ok_or(Stale(id))?;
        let above = above(self.all, id.index);
        Ok(above.map(|index| self.all.id(index)))
    }

    /// The segment below; `None` below the lowest one.
    ///
    /// # Errors
    /// [`Stale`] if `id` is gone.
    ///
    /// # Cost
    /// O(1).
    pub fn prev(&self, id: SegmentId) -> Result<Option<SegmentId>, Stale> {
        self.all.resolve(id).ok_or(Stale(id))?;
        let below = below(self.all, id.index);
        Ok(below.map(|index| self.all.id(index)))
    }

    /// All segments, in the order of their frames.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Segment> + ExactSizeIterator {
        let order = self.core.order.iter(self.all);
        order.map(|index| segment(self.all, index))
    }

    /// The highest frame of all segments.
    pub fn highest_frame(&self) -> Option<Pfn> {
        let last = self.core.order.last()?;
        Some(Pfn::new(self.all.get(last).frames().end - 1))
    }

    /// The lowest and the highest available frame of all segments.
    pub fn avail_edges(&self) -> Option<(Pfn, Pfn)> {
        let order = self.core.order.iter(self.all);
        let avail = order.map(|index| self.all.get(index).avail());
        let mut avail = avail.filter(|avail| !avail.is_empty());
        let first = avail.next()?;
        let last = avail.next_back().unwrap_or(first);
        Some((Pfn::new(first.start), Pfn::new(last.end - 1)))
    }

    /// Sets the frames of a segment that the page allocator may use: `start..end`, half-open, which
    /// may be empty. A larger start hint is reduced to their number.
    ///
    /// # Errors
    /// [`SetError`]; nothing has changed.
    pub fn set_avail(&mut self, id: SegmentId, start: Pfn, end: Pfn) -> Result<(), SetError> {
        let entry = self.all.resolve(id).ok_or(SetError::Stale(id))?;
        let frames = entry.frames();
        let avail = Frames::between(start.raw(), end.raw());
        if avail.start > avail.end
            || !frames.covers(avail)
            || self.host_in(id.index, avail).is_some()
        {
            return Err(SetError::Avail);
        }
        if self.core.started {
            self.core.managed = self.core.managed - entry.avail().len() + avail.len();
        }
        entry.set_avail(avail);
        entry.set_hint(entry.hint().min(avail.len()));
        Ok(())
    }

    /// Sets the start of the next search for contiguous pages, in frames from the first available
    /// one.
    ///
    /// # Errors
    /// [`SetError`]; nothing has changed.
    pub fn set_start_hint(&mut self, id: SegmentId, hint: u64) -> Result<(), SetError> {
        let entry = self.all.resolve(id).ok_or(SetError::Stale(id))?;
        if hint > entry.avail().len() {
            return Err(SetError::Hint(hint));
        }
        entry.set_hint(hint);
        Ok(())
    }

    /// Sets the user's value of a segment.
    ///
    /// # Errors
    /// [`Stale`] if it is gone.
    pub fn set_user(&mut self, id: SegmentId, user: u64) -> Result<(), Stale> {
        self.all.resolve(id).ok_or(Stale(id))?.set_user(user);
        Ok(())
    }

    /// Sets the free list or NUMA node of a segment.
    ///
    /// # Errors
    /// [`Stale`] if it is gone.
    pub fn set_node(&mut self, id: SegmentId, node: Node) -> Result<(), Stale> {
        self.all.resolve(id).ok_or(Stale(id))?.set_node(node);
        Ok(())
    }

    /// Bytes of the index, which lookups use; the segments themselves are not included.
    pub fn index_bytes(&self) -> usize {
        C::Lookup::bytes(self.shared, &self.core.index)
    }

    /// Bytes of donated, hosted and heap memory that the table uses: index, further segments and
    /// descriptors.
    pub fn memory_bytes(&self) -> usize {
        self.core.memory.live()
    }
}

/// Allocation of entries.
impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Makes room for `more` segments, and for those that removals of isolations will add. A table
    /// that never had memory has only its static entries.
    pub(crate) fn reserve_entries(&mut self, more: usize) -> Result<(), Refusal> {
        let wanted = more + self.core.splits;
        let core = &mut *self.core;
        let refusal = if core.memory.has_source() {
            Refusal::NoMemory
        } else {
            Refusal::Full(self.all.count())
        };
        while core.unused_entries(self.all.count()) < wanted {
            self.all
                .grow(&mut core.memory)
                .map_err(|NoMemory| refusal)?;
        }
        Ok(())
    }

    /// True if the segment has frames both below and above these.
    pub(crate) fn splits(&self, index: u32, frames: Frames) -> bool {
        let whole = self.all.get(index).frames();
        whole.start < frames.start && frames.end < whole.end
    }

    /// Takes an unused entry, for which there must be room.
    pub(crate) fn take_entry(&mut self) -> u32 {
        let core = &mut *self.core;
        let index = if core.dead == NO_ENTRY {
            core.used += 1;
            core.used - 1
        } else {
            let index = core.dead;
            core.dead = self.all.get(index).user() as u32;
            core.dead_len -= 1;
            index
        };
        self.all.get(index).turn();
        index
    }

    pub(crate) fn bury_entry(&mut self, index: u32) {
        let core = &mut *self.core;
        let entry = self.all.get(index);
        entry.turn();
        entry.set_user(u64::from(core.dead));
        core.dead = index;
        core.dead_len += 1;
    }

    /// Ends a change. Frees prepared memory beyond the needs of isolations. Memory that was
    /// unlinked now waits for the readers that are inside.
    pub(crate) fn settle(&mut self) {
        let held = self.core.hidden.as_slice().len();
        C::Lookup::settle(&mut self.site(), held);
        let rcu = self.rcu;
        self.core.deferred.stamp(rcu);
        self.sweep();
    }

    /// Frees memory that no reader has any more. Each change does that by itself; call this to get
    /// the memory back earlier.
    pub fn sweep(&mut self) {
        let alone = self.is_alone();
        let rcu = self.rcu;
        let core = &mut *self.core;
        core.deferred.sweep(&mut core.memory, rcu, alone);
    }
}

/// Allocation from the heap, without the lock.
impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Takes heap memory for `bytes` contiguous bytes, if the table may and needs it. Returns true
    /// if the lock was dropped. If the heap has no memory, nothing changes.
    #[cfg(feature = "alloc")]
    pub(crate) fn fetch(&mut self, bytes: usize) -> bool {
        let Some(wish) = self.core.memory.lacks(bytes) else {
            return false;
        };
        if let Some(block) = self.unlocked(|| wish.grant()) {
            self.core.memory.add(block);
        }
        true
    }

    #[cfg(not(feature = "alloc"))]
    #[expect(clippy::unused_self, reason = "there is no heap")]
    pub(crate) fn fetch(&mut self, _: usize) -> bool {
        false
    }

    /// The same for a change of these frames, without its descriptors.
    pub(crate) fn fetch_for(&mut self, frames: Frames) -> bool {
        match self.footprint(frames) {
            Some(bytes) => self.fetch(bytes),
            None => false,
        }
    }

    /// The most bytes that a change of these frames takes, without its descriptors.
    pub(crate) fn footprint(&self, frames: Frames) -> Option<usize> {
        let core = &*self.core;
        let held = core.hidden.as_slice().len();
        let entries = if core.unused_entries(self.all.count()) < 1 + core.splits {
            self.all.next_chunk()
        } else {
            0
        };
        let parts = [
            C::Lookup::footprint(self.shared, &core.index, frames, held),
            core.deferred.footprint(),
            core.hidden.footprint(1),
            entries,
            SLACK,
        ];
        parts.into_iter().try_fold(0, usize::checked_add)
    }
}

/// Reserve for rounding.
const SLACK: usize = 1 << 14;

impl<D, C: Config, const N: usize> Drop for Segments<'_, D, C, N> {
    #[inline]
    fn drop(&mut self) {
        if let Some(core) = self.core.held() {
            // Freed after the lock.
            let released = core.memory.released();
            let _released = (!released.is_none()).then(|| released.take());
            self.core.let_go();
        }
    }
}

debug_as! { Segments<'_, D, C, N> where [D, C: Config, const N: usize]: |it| [it.iter()] }
