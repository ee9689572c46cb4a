//! The writer's side: who may change the table, and what can be asked under the lock.
#![forbid(unsafe_code)]

use core::fmt;
use core::mem::MaybeUninit;

use super::entry::{All, segment};
use super::error::{NoMemory, Refusal, SetError, Stale};
use super::hold::Hold;
use super::lookup::{Arm, Site};
use super::memory::Host;
use super::pool::Released;
use super::segment::Frames;
use super::table::NO_ENTRY;
use super::truth::Truth;
use super::view::View;
use super::{Config, Node, Segment, SegmentId, SegmentTable};
use crate::addr::{Address, Extent, Pfn};

/// The segments of a table, to be changed and asked by one at a time.
///
/// Forgotten, it keeps the lock: nobody gets it any more. Whoever has the table alone
/// ([`SegmentTable::get_mut`]) needs none, nor does the table's end.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Segments<'a, D, C: Config, const N: usize> {
    pub(super) all: All<'a, D>,
    pub(super) shared: &'a <C::Lookup as Arm>::Shared<D>,
    pub(super) rcu: &'a C::Rcu,
    pub(super) core: Hold<'a, D, C, N>,
    /// What goes back to the heap after the lock: fields are dropped in this order.
    released: Released,
}

impl<'a, D, C: Config, const N: usize> Segments<'a, D, C, N> {
    pub(super) fn locked(table: &'a SegmentTable<D, C, N>) -> Self {
        Self {
            all: table.entries.all(),
            shared: &table.shared,
            rcu: &table.rcu,
            core: Hold::locked(&table.core),
            released: Released::NONE,
        }
    }

    pub(super) fn alone(table: &'a mut SegmentTable<D, C, N>) -> Self {
        Self {
            all: table.entries.all(),
            shared: &table.shared,
            rcu: &table.rcu,
            core: Hold::Alone(table.core.get_mut()),
            released: Released::NONE,
        }
    }

    pub(super) fn is_alone(&self) -> bool {
        matches!(self.core, Hold::Alone(_))
    }

    /// Runs `work` without the lock, which is held again afterwards, after a panic too. What was
    /// learned before may have changed.
    pub(super) fn unlocked<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.core.unlocked(work)
    }

    pub(super) fn truth(&self) -> Truth<'_, D> {
        self.core.truth(self.all)
    }

    pub(super) fn site(&mut self) -> Site<'_, C::Lookup, D> {
        self.core.site(self.all, self.shared)
    }

    /// What lookups see, without a guard: for as long as nothing is changed.
    ///
    /// The only way to look something up in an arm that readers cannot use beside a writer.
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

    /// Memory that hosted a range which has been unplugged: the caller's again. For each such range
    /// once; before the memory itself is taken away, for it is still written on where it is.
    pub fn take_back(&mut self) -> Option<&'static mut [MaybeUninit<u8>]> {
        self.sweep();
        self.core.memory.take_back()
    }

    /// All stretches of frames that are isolated, in order.
    pub fn isolated(&self) -> impl ExactSizeIterator<Item = Extent<Pfn>> {
        let hidden = self.core.hidden.as_slice().iter();
        hidden.map(|hidden| hidden.frames.extent().expect("no isolation is empty"))
    }

    /// The host that has some of these frames of a segment: that of its descriptors.
    pub(super) fn host_in(&self, index: u32, frames: Frames) -> Option<(Frames, Host)> {
        let host = self.all.get(index).share()?.header().host()?;
        let hosting = self.core.memory.frames_of(host);
        hosting.overlaps(frames).then_some((hosting, host))
    }

    /// The frames of a segment that host bookkeeping.
    pub(super) fn hosting(&self, index: u32) -> Option<Extent<Pfn>> {
        let (frames, _) = self.host_in(index, self.all.get(index).frames())?;
        frames.extent()
    }

    /// All stretches of frames that host bookkeeping, in order.
    pub fn hosted(&self) -> impl Iterator<Item = Extent<Pfn>> {
        let order = self.core.order.as_slice().iter();
        order.filter_map(|index| self.hosting(*index))
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.core.order.as_slice().len()
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.core.order.as_slice().is_empty()
    }

    /// Whether frames have descriptors, and lookups find something.
    pub fn is_started(&self) -> bool {
        self.core.started
    }

    /// The number of available frames that have descriptors; 0 at boot.
    pub fn managed(&self) -> u64 {
        self.core.managed
    }

    /// The segment that has `frame`, isolated or not, at boot too, and the frame's offset in it.
    ///
    /// # Cost
    /// O(log n).
    pub fn find(&self, frame: Pfn) -> Option<(SegmentId, u64)> {
        let index = self.truth().find(frame.raw())?;
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
        self.core
            .order
            .as_slice()
            .first()
            .map(|index| self.all.id(*index))
    }

    /// The highest segment.
    pub fn last(&self) -> Option<SegmentId> {
        self.core
            .order
            .as_slice()
            .last()
            .map(|index| self.all.id(*index))
    }

    /// The segment above; `None` above the highest one.
    ///
    /// # Errors
    /// [`Stale`] if `id` is gone.
    ///
    /// # Cost
    /// O(log n).
    pub fn next(&self, id: SegmentId) -> Result<Option<SegmentId>, Stale> {
        Ok(self.beside(self.position(id)?.checked_add(1)))
    }

    /// The segment below; `None` below the lowest one.
    ///
    /// # Errors
    /// [`Stale`] if `id` is gone.
    ///
    /// # Cost
    /// O(log n).
    pub fn prev(&self, id: SegmentId) -> Result<Option<SegmentId>, Stale> {
        Ok(self.beside(self.position(id)?.checked_sub(1)))
    }

    fn beside(&self, position: Option<usize>) -> Option<SegmentId> {
        let index = self.core.order.as_slice().get(position?)?;
        Some(self.all.id(*index))
    }

    fn position(&self, id: SegmentId) -> Result<usize, Stale> {
        let entry = self.all.resolve(id).ok_or(Stale(id))?;
        Ok(self.truth().position(entry.start()))
    }

    /// All segments, in the order of their frames, from both ends.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Segment> + ExactSizeIterator {
        let order = self.core.order.as_slice();
        order.iter().map(|index| segment(self.all, *index))
    }

    /// The highest frame of all segments.
    pub fn highest_frame(&self) -> Option<Pfn> {
        let last = self.core.order.as_slice().last()?;
        Some(Pfn::new(self.all.get(*last).frames().end - 1))
    }

    /// The lowest and the highest available frame of all segments.
    pub fn avail_edges(&self) -> Option<(Pfn, Pfn)> {
        let order = self.core.order.as_slice();
        let avail = |index: &u32| self.all.get(*index).avail();
        let first = order.iter().map(avail).find(|avail| !avail.is_empty())?;
        let last = order
            .iter()
            .rev()
            .map(avail)
            .find(|avail| !avail.is_empty())?;
        Some((Pfn::new(first.start), Pfn::new(last.end - 1)))
    }

    /// Says which frames of a segment the page allocator may have: `start..end`, half-open, which
    /// may be empty. A start hint beyond them is cut to their number.
    ///
    /// # Errors
    /// [`SetError`]; nothing has changed.
    pub fn set_avail(&mut self, id: SegmentId, start: Pfn, end: Pfn) -> Result<(), SetError> {
        let entry = self.all.resolve(id).ok_or(SetError::Stale(id))?;
        let frames = entry.frames();
        let avail = Frames {
            start: start.raw(),
            end: end.raw(),
        };
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

    /// Sets where, counted from the first available frame, the next search for contiguous pages
    /// begins.
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

    /// Bytes that the index takes: what lookups look at, without the segments themselves.
    pub fn index_bytes(&self) -> usize {
        C::Lookup::bytes(self.shared, &self.core.index)
    }

    /// Bytes that the table has in use of the memory that it was given or took from the heap:
    /// index, further segments and descriptors.
    pub fn memory_bytes(&self) -> usize {
        self.core.memory.live()
    }
}

/// Entries come to life and die.
impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Makes room for so many segments more, and for those that come of removing what is isolated.
    /// Where there has never been any memory the static entries are all that there can be.
    pub(super) fn reserve_entries(&mut self, more: usize) -> Result<(), Refusal> {
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
        let room = core.order.reserve(&mut core.memory, wanted);
        room.map_err(|NoMemory| refusal)
    }

    /// Whether these frames of a segment have others of it below and above.
    pub(super) fn splits(&self, frames: Frames) -> bool {
        let index = self.truth().find(frames.start);
        let whole = index.map(|index| self.all.get(index).frames());
        whole.is_some_and(|whole| whole.start < frames.start && frames.end < whole.end)
    }

    /// A dead entry, for which room was made, comes to life.
    pub(super) fn take_entry(&mut self) -> u32 {
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

    pub(super) fn bury_entry(&mut self, index: u32) {
        let core = &mut *self.core;
        let entry = self.all.get(index);
        entry.turn();
        entry.set_user(u64::from(core.dead));
        core.dead = index;
        core.dead_len += 1;
    }

    /// A change is over: nothing prepared is kept but what isolated frames will need, and what was
    /// unlinked waits for those who are inside now.
    pub(super) fn settle(&mut self) {
        let held = self.core.hidden.as_slice().len();
        C::Lookup::settle(&mut self.site(), held);
        let rcu = self.rcu;
        self.core.limbo.stamp(rcu);
        self.sweep();
    }

    /// Gives back what no reader has any more. Each change does that by itself; call it to have the
    /// memory back earlier.
    pub fn sweep(&mut self) {
        let alone = self.is_alone();
        let rcu = self.rcu;
        let core = &mut *self.core;
        core.limbo.sweep(&mut core.memory, rcu, alone);
    }
}

/// Memory comes from the heap while nobody waits for the lock.
impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Takes memory from the heap for so many bytes in a row, if the table may and needs it.
    /// Returns whether the lock was let go of. Where the heap has nothing, nothing happens.
    #[cfg(feature = "alloc")]
    pub(super) fn fetch(&mut self, bytes: usize) -> bool {
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
    pub(super) fn fetch(&mut self, _: usize) -> bool {
        false
    }

    /// The same for a change of these frames, its descriptors apart.
    pub(super) fn fetch_for(&mut self, frames: Frames) -> bool {
        match self.footprint(frames) {
            Some(bytes) => self.fetch(bytes),
            None => false,
        }
    }

    /// Bytes that a change of these frames takes at most, its descriptors apart.
    pub(super) fn footprint(&self, frames: Frames) -> Option<usize> {
        let core = &*self.core;
        let held = core.hidden.as_slice().len();
        let entries = if core.unused_entries(self.all.count()) < 1 + core.splits {
            self.all.next_chunk()
        } else {
            0
        };
        let parts = [
            C::Lookup::footprint(self.shared, &core.index, frames, held),
            core.limbo.footprint(),
            core.order.footprint(1 + core.splits),
            core.hidden.footprint(1),
            entries,
            SLACK,
        ];
        parts.into_iter().try_fold(0, usize::checked_add)
    }
}

/// For what is rounded up.
const SLACK: usize = 1 << 14;

impl<D, C: Config, const N: usize> Drop for Segments<'_, D, C, N> {
    fn drop(&mut self) {
        // A lock that panics when it is taken again is not held here.
        if self.core.is_held() {
            self.released = self.core.memory.released();
        }
    }
}

impl<D, C: Config, const N: usize> fmt::Debug for Segments<'_, D, C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
