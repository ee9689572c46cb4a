//! Plugging memory that hosts its own bookkeeping: adding memory needs no memory.
#![forbid(unsafe_code)]

use core::alloc::Layout;
use core::mem::MaybeUninit;

use super::direct::geometry::{SECTION_BITS, SECTION_FRAMES};
use super::error::{MakeError, NoMemory, PlugError};
use super::lookup::Arm;
use super::memory::Memory;
use super::segment::Frames;
use super::slab::Slabs;
use super::writer::Segments;
use super::{Concurrent, Config, Descriptor, Plug, SegmentId};
use crate::addr::{Address, Extent, Pfn, PhysAddr};

/// For what is rounded up, and for rows that grow.
const SLACK: usize = 1 << 14;

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N>
where
    C::Lookup: Concurrent,
{
    /// How many bytes a range must host to be plugged by [`plug_hosted`](Self::plug_hosted):
    /// descriptors, and at most 0.01 % of the range and some 100 KiB for all the rest. `None` for
    /// frames that there cannot be.
    pub fn hosted_bytes(&self, frames: Extent<Pfn>) -> Option<usize> {
        let frames = Frames::new(frames)?;
        let held = self.core.hidden.as_slice().len();
        let index = C::Lookup::footprint(self.shared, &self.core.index, frames, held);
        let descriptors = Slabs::<D>::footprint_late(frames)?;
        let entries = if self.core.used as usize == self.all.count() {
            self.all.next_chunk()
        } else {
            0
        };
        let rows = Layout::array::<u32>(4 * (self.len() + held + 2)).ok()?;
        let sum = index.checked_add(descriptors)?.checked_add(entries)?;
        sum.checked_add(Memory::footprint(rows))?.checked_add(SLACK)
    }

    /// Adds a segment whose first frames host all that the table keeps about it: `memory` is those
    /// frames, as the caller sees them, [`hosted_bytes`](Self::hosted_bytes) or more. They are not
    /// available, and cannot be unplugged.
    ///
    /// Descriptors are made by [`make`](Self::make), section by section; until then lookups find
    /// the segment of a frame, and no page. So the memory of descriptors is not touched before.
    ///
    /// # Errors
    /// [`PlugError`]; nothing is plugged. From [`PlugError::NoMemory`] on, which a table that had
    /// to keep more than it said would give, the memory stays the table's.
    ///
    /// # Cost
    /// O(log n), a move of four bytes for each higher segment, and a word a section.
    pub fn plug_hosted(
        &mut self,
        plug: impl Into<Plug>,
        memory: &'static mut [MaybeUninit<u8>],
    ) -> Result<SegmentId, PlugError> {
        if !self.core.started {
            return Err(PlugError::NotStarted);
        }
        let plug = plug.into();
        let mut wanted = self.judge(plug)?;
        let need = self.hosted_bytes(plug.frames).ok_or(PlugError::NoMemory)?;
        if memory.len() < need {
            return Err(PlugError::TooSmall(need));
        }
        let pages = (memory.len() as u64).div_ceil(1 << C::PAGE_BITS);
        let host = Frames {
            start: wanted.frames.start,
            end: wanted.frames.start + pages,
        };
        wanted.avail.start = wanted.avail.start.max(host.end);
        wanted.avail.end = wanted.avail.end.max(wanted.avail.start);
        if !wanted.frames.covers(host) {
            return Err(PlugError::TooSmall(need));
        }
        self.donate(memory);
        let core = &mut *self.core;
        let room = core.hosts.reserve(&mut core.memory, 1);
        room.map_err(|NoMemory| PlugError::NoMemory)?;
        self.reserve_entry()?;
        let core = &mut *self.core;
        let run = core.slabs.take_late(&mut core.memory, wanted.frames);
        let run = run.map_err(|NoMemory| PlugError::NoMemory)?;
        if let Err(refusal) = C::Lookup::prepare(&mut self.site(), wanted.frames, true) {
            self.settle();
            let core = &mut *self.core;
            core.slabs.give_back(&mut core.memory, run);
            return Err(refusal.into());
        }
        self.core.hosts.push(host);
        let id = self.link(wanted, Some(run));
        C::Lookup::update(&mut self.site(), wanted.frames);
        self.settle();
        Ok(id)
    }

    /// Makes the descriptors of the section of 4,096 frames that `frame` is in, as far as they
    /// belong to the same slab, if they have not been made: lookups find them. Returns whether
    /// there was something to be made.
    ///
    /// # Errors
    /// [`MakeError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), and at most 4,096 descriptors made.
    pub fn make(&mut self, frame: Pfn) -> Result<bool, MakeError> {
        let unknown = MakeError::Unknown(frame);
        let index = self.truth().find(frame.raw()).ok_or(unknown)?;
        let entry = self.all.get(index);
        let slab = entry.slab();
        let run = entry.run().ok_or(unknown)?;
        if entry.page(frame.raw()).is_some() {
            return Ok(false);
        }
        let start = frame.raw() >> SECTION_BITS << SECTION_BITS;
        let section = Frames {
            start,
            end: start + SECTION_FRAMES,
        };
        let room = C::Lookup::prepare(&mut self.site(), section.meet(entry.frames()), false);
        if room.is_err() {
            self.settle();
            return Err(MakeError::NoMemory);
        }
        let mut made = section.meet(entry.frames());
        for index in self.truth().overlapping(section) {
            let entry = self.all.get(*index);
            let part = entry.frames().meet(section);
            if let Some(run) = entry.run().filter(|_| entry.slab() == slab) {
                run.part(part.start - entry.start(), part.len())
                    .make(part.start);
                made.start = made.start.min(part.start);
                made.end = made.end.max(part.end);
            }
        }
        run.set_made(frame.raw());
        C::Lookup::update(&mut self.site(), made);
        self.settle();
        Ok(true)
    }

    /// The descriptor of the frame that has `address`, made if it has not been.
    ///
    /// # Errors
    /// [`MakeError`]; nothing has changed.
    pub fn page_or_make(&mut self, address: PhysAddr) -> Result<&D, MakeError> {
        let frame = Pfn::new(address.raw() >> C::PAGE_BITS);
        self.make(frame)?;
        self.view().page_of(frame).ok_or(MakeError::Unknown(frame))
    }
}
