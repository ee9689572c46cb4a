//! `check()`: walks every invariant of a table and names the broken one.

use super::order::below;
use super::segment_table::NO_ENTRY;
use crate::addr::Pfn;
use crate::check::Check;
use crate::error::messages;
use crate::phys::{Config, FRAME_BITS, Frames, SegmentId, Segments};

messages! {
    /// A broken invariant of a table, numbered as in the module's documentation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum BrokenTable {
        /// I1: this segment is empty, has too high frames, or is not above the one before it.
        Order(id: SegmentId) => "I1: {id:?} is empty, too high, or out of order";
        /// I2: the available frames of this segment are not all in it, or its hint is beyond them.
        Avail(id: SegmentId) => "I2: the available frames of {id:?} are outside the segment";
        /// I3: this entry is neither live and in the order once, nor dead and in the free list
        /// once.
        Entry(index: u32) => "I3: entry {index} is not exactly once live or dead";
        /// I4: these isolated frames are not all in one segment, or overlap those before them.
        Isolated(frame: Pfn) => "I4: the isolation from {frame} is out of place";
        /// I4: the count of isolations that will split a segment is wrong.
        Splits {
            /// The table's counter.
            counted: usize,
            /// The isolations that have frames of their segment below and above them.
            found: usize,
        } => "I4: {counted} isolations count as splits, {found} are";
        /// I5: the count of managed frames is wrong.
        Managed {
            /// The table's counter.
            counted: u64,
            /// The available frames of segments with descriptors.
            found: u64,
        } => "I5: {counted} frames are counted as managed, {found} are";
        /// I6: lookups of this frame return a wrong result.
        Lookup(frame: Pfn) => "I6: lookups are wrong about frame {frame}";
        /// I7: the descriptors of this segment are not in a slab, or not marked used there.
        Descriptors(id: SegmentId) => "I7: the descriptors of {id:?} are out of place";
        /// I9: the hosting frames from this one on are not the first ones of a segment, or are
        /// available; or they are leaving, and a segment has some of them.
        Host(frame: Pfn) => "I9: the bookkeeping hosted at {frame} is not safe there";
        /// I8: the slabs' counters, their bits and the segments disagree about the used
        /// descriptors.
        Slabs {
            /// The slabs' counters.
            counted: u64,
            /// The marked bits.
            marked: u64,
            /// Frames of segments with descriptors, and places held by calls that have dropped the
            /// lock.
            found: u64,
        } => "I8: slabs count {counted} descriptors and mark {marked}, segments have {found}";
    }
}

impl<D, C: Config, const N: usize> Check for Segments<'_, D, C, N> {
    type Broken = BrokenTable;

    /// O(segments + frames / 64), and some lookups at each boundary.
    fn check(&self) -> Result<(), BrokenTable> {
        self.check_order()?;
        self.check_entries()?;
        self.check_isolated()?;
        self.check_counts()?;
        self.check_hosts()?;
        self.check_lookups()
    }
}

impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Checks I1 and I2.
    fn check_order(&self) -> Result<(), BrokenTable> {
        let mut end = 0;
        for index in self.core.order.iter(self.all) {
            let (id, entry) = (self.all.id(index), self.all.get(index));
            let (frames, avail) = (entry.frames(), entry.avail());
            if frames.start < end || frames.is_empty() || frames.end > 1 << FRAME_BITS {
                return Err(BrokenTable::Order(id));
            }
            let inside = frames.start <= avail.start && avail.end <= frames.end;
            if !inside || avail.start > avail.end || entry.hint() > avail.len() {
                return Err(BrokenTable::Avail(id));
            }
            end = frames.end;
        }
        let order = self.core.order.check(self.all);
        order.map_err(|index| BrokenTable::Order(self.all.id(index)))
    }

    /// Checks I3: every entry in use is once in the order or once in the free list.
    fn check_entries(&self) -> Result<(), BrokenTable> {
        let order = self.core.order;
        let dead = self.core.dead_len as usize;
        let mut indices = order.iter(self.all);
        if let Some(index) = indices.find(|index| !self.all.get(*index).is_live()) {
            return Err(BrokenTable::Entry(index));
        }
        let mut next = self.core.dead;
        for _ in 0..dead {
            if next >= self.core.used || self.all.get(next).is_live() {
                return Err(BrokenTable::Entry(next));
            }
            next = self.all.get(next).user() as u32;
        }
        if next != NO_ENTRY || order.len() + dead != self.core.used as usize {
            return Err(BrokenTable::Entry(next));
        }
        Ok(())
    }

    /// Checks I4.
    fn check_isolated(&self) -> Result<(), BrokenTable> {
        let mut end = 0;
        for hidden in self.core.hidden.as_slice() {
            let frames = hidden.frames;
            let owner = self.snapshot().find(frames.start);
            let owned = owner.is_some_and(|index| self.all.get(index).frames().covers(frames));
            if !owned || frames.start < end || frames.is_empty() {
                return Err(BrokenTable::Isolated(Pfn::new(frames.start)));
            }
            end = frames.end;
        }
        let order = self.core.order.iter(self.all);
        let splits = order.map(|index| self.snapshot().splits(self.all.get(index).frames()));
        let found = splits.sum();
        let counted = self.core.splits;
        if counted == found {
            Ok(())
        } else {
            Err(BrokenTable::Splits { counted, found })
        }
    }

    /// Checks I5, I7 and I8.
    fn check_counts(&self) -> Result<(), BrokenTable> {
        let order = self.core.order;
        let avail = order
            .iter(self.all)
            .map(|index| self.all.get(index).avail().len());
        let found = if self.core.started { avail.sum() } else { 0 };
        let counted = self.core.managed;
        if counted != found {
            return Err(BrokenTable::Managed { counted, found });
        }
        let mut found = self.core.between;
        for index in order.iter(self.all) {
            let entry = self.all.get(index);
            let share = entry.share();
            let in_place = share.is_some_and(|share| self.core.slabs.has(&share));
            if in_place != self.core.started {
                return Err(BrokenTable::Descriptors(self.all.id(index)));
            }
            found += if in_place { entry.frames().len() } else { 0 };
        }
        let (counted, marked) = self.core.slabs.used();
        if counted != found || marked != found {
            return Err(BrokenTable::Slabs {
                counted,
                marked,
                found,
            });
        }
        Ok(())
    }

    /// Checks I9.
    fn check_hosts(&self) -> Result<(), BrokenTable> {
        for (host, _) in self
            .core
            .memory
            .hosted()
            .filter(|(host, _)| !host.is_empty())
        {
            let owner = self
                .snapshot()
                .find(host.start)
                .map(|index| self.all.get(index));
            // Its descriptors are being dropped without the lock: no segment may have it yet.
            let leaving = self.core.memory.closed_in(host) == Some(host);
            let free = leaving && self.snapshot().overlapping(host).next().is_none();
            let is_safe = free
                || owner.is_some_and(|owner| {
                    let (frames, avail) = (owner.frames(), owner.avail());
                    frames.start == host.start && frames.covers(host) && !avail.overlaps(host)
                });
            if !is_safe {
                return Err(BrokenTable::Host(Pfn::new(host.start)));
            }
        }
        Ok(())
    }

    /// Checks I6 at every boundary between found and other frames, for the 64-frame blocks around
    /// it.
    fn check_lookups(&self) -> Result<(), BrokenTable> {
        let mut done = 0;
        let order = self.core.order;
        for index in order.iter(self.all) {
            let frames = self.all.get(index).frames();
            let edges = [frames.start, frames.end];
            let below = below(self.all, index);
            let below = below.map(|below| self.all.get(below).frames().end);
            for edge in edges {
                done = self.check_around(edge, done)?;
            }
            if let Some(end) = below.filter(|end| *end < frames.start) {
                self.check_frame(end + (frames.start - end) / 2)?;
            }
            self.check_frame(frames.start + frames.len() / 2)?;
        }
        done = 0;
        for hidden in self.core.hidden.as_slice() {
            for edge in [hidden.frames.start, hidden.frames.end] {
                done = self.check_around(edge, done)?;
            }
        }
        self.check_frame((1 << FRAME_BITS) - 1)?;
        self.check_frame(u64::MAX)
    }

    /// Checks the blocks on both sides of an edge, from frame `done` on. Edges come in ascending
    /// order; the result is the `done` of the next call.
    fn check_around(&self, edge: u64, done: u64) -> Result<u64, BrokenTable> {
        let block = edge & !63;
        let end = block + 65;
        for frame in done.max(block.saturating_sub(1))..end {
            self.check_frame(frame)?;
        }
        Ok(end)
    }

    fn check_frame(&self, frame: u64) -> Result<(), BrokenTable> {
        let one = Frames::between(frame, frame.saturating_add(1));
        let isolated = !self.snapshot().hidden_in(one).is_empty();
        let visible = self.core.started && !isolated;
        let index = self.snapshot().find(frame).filter(|_| visible);
        let page = index.and_then(|index| self.all.get(index).page(frame));
        let view = self.view();
        let wrong = BrokenTable::Lookup(Pfn::new(frame));
        let found = view.find(Pfn::new(frame)).map(|(id, _)| id);
        if found != index.map(|index| self.all.id(index)) {
            return Err(wrong);
        }
        let found = view.page_of(Pfn::new(frame)).map(core::ptr::NonNull::from);
        if found == page { Ok(()) } else { Err(wrong) }
    }
}
