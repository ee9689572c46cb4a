//! Plugging memory that hosts its own bookkeeping: adding memory needs no other memory.
//!
//! The first frames of a hosted range hold its descriptors. If there is other memory, donated or
//! from the heap, they hold nothing else. If there is none, data of the index and the table goes
//! there, too.
//!
//! A hosted range can be unplugged, whole or its last remaining part, if its hosting memory holds
//! only its own descriptors. A range that holds more of the table's data stays. So does the first
//! range of a table without other memory. The error is
//! [`UnplugError::Bookkeeping`](crate::phys::UnplugError::Bookkeeping).
#![forbid(unsafe_code)]

use core::mem::MaybeUninit;

use super::plug::Wanted;
use crate::addr::{Address, Extent, Pfn, PhysAddr};
use crate::phys::{
    Arm, Change, Concurrent, Config, Descriptor, Frames, Host, HostError, MakeError, Memory,
    NoMemory, Plug, PlugError, SECTION_BITS, SECTION_FRAMES, SegmentId, Segments, Slabs, Snapshot,
};

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N>
where
    C::Lookup: Concurrent,
{
    /// Bytes that a range must host for [`plug_hosted`](Self::plug_hosted): its descriptors, and at
    /// most 0.01 % of the range and some 100 KiB for everything else. `None` if a frame number is
    /// too large.
    pub fn hosted_bytes(&self, frames: Extent<Pfn>) -> Option<usize> {
        let frames = Frames::new(frames)?;
        let descriptors = Slabs::<D>::footprint_late(frames)?;
        let rest = self.footprint(frames)?.checked_add(Memory::HOST_OVERHEAD)?;
        descriptors.checked_add(rest)
    }

    /// Adds a segment whose first frames host its bookkeeping. `memory` is the caller's mapping of
    /// those frames, [`hosted_bytes`](Self::hosted_bytes) or more. The hosting frames are not
    /// available. They leave the table only together with all that is left of the segment; then
    /// [`take_back`](Self::take_back) returns the memory.
    ///
    /// [`make`](Self::make) makes descriptors, one section at a time. Until then lookups find the
    /// segment of a frame, but no page, and the descriptors' memory is not touched.
    ///
    /// # Errors
    /// [`HostError`] with the memory; nothing has changed.
    ///
    /// # Cost
    /// O(log n), and a word per section; and as in [`plug`](Self::plug) while a hosted range is
    /// isolated or being removed.
    pub fn plug_hosted(
        &mut self,
        plug: impl Into<Plug>,
        memory: &'static mut [MaybeUninit<u8>],
    ) -> Result<SegmentId, HostError> {
        let (wanted, frames) = match self.judge_hosted(plug.into(), memory.len()) {
            Ok(judged) => judged,
            Err(cause) => {
                let memory = Some(memory);
                return Err(HostError { cause, memory });
            }
        };
        let host = self.core.memory.host(frames, memory);
        let host = host.map_err(|memory| HostError {
            cause: PlugError::NoMemory,
            memory: Some(memory),
        })?;
        self.link_hosted(wanted, host).map_err(|cause| {
            let memory = self.core.memory.undo_host(host);
            HostError { cause, memory }
        })
    }

    /// Validates a hosted plug. Returns the request and the hosting frames.
    fn judge_hosted(&self, plug: Plug, len: usize) -> Result<(Wanted, Frames), PlugError> {
        if !self.core.started {
            return Err(PlugError::NotStarted);
        }
        let mut wanted = self.judge(plug)?;
        let need = self.hosted_bytes(plug.frames).ok_or(PlugError::NoMemory)?;
        let start = wanted.frames.start;
        let end = start + (len as u64).div_ceil(1 << C::PAGE_BITS);
        if len < need || end > wanted.frames.end {
            return Err(PlugError::TooSmall(need));
        }
        wanted.avail.start = wanted.avail.start.max(end);
        wanted.avail.end = wanted.avail.end.max(wanted.avail.start);
        Ok((wanted, Frames { start, end }))
    }

    pub(crate) fn link_hosted(
        &mut self,
        wanted: Wanted,
        host: Host,
    ) -> Result<SegmentId, PlugError> {
        self.reserve_entries(1)?;
        let core = &mut *self.core;
        let run = core.slabs.take_late(&mut core.memory, host, wanted.frames);
        let run = run.map_err(|NoMemory| PlugError::NoMemory)?;
        if let Err(refusal) = C::Lookup::prepare(&mut self.site(), wanted.frames, Change::Plug) {
            let core = &mut *self.core;
            core.slabs.give_back(&mut core.memory, run);
            self.settle();
            return Err(refusal.into());
        }
        let share = run.share(0, wanted.frames);
        let id = self.link(wanted, Some(share));
        C::Lookup::update(&mut self.site(), wanted.frames);
        self.settle();
        Ok(id)
    }

    /// Makes the descriptors of the 4,096-frame section that contains `frame`, if they are not made
    /// yet: those that belong to the same slab. Lookups find them then. Returns true if there was
    /// something to make.
    ///
    /// # Errors
    /// [`MakeError`]; nothing has changed. The same if [`Descriptor::of_frame`] panics.
    ///
    /// # Cost
    /// O(log n), and at most 4,096 descriptors made.
    pub fn make(&mut self, frame: Pfn) -> Result<bool, MakeError> {
        let unknown = MakeError::Unknown(frame);
        let index = self.snapshot().find(frame.raw()).ok_or(unknown)?;
        let entry = self.all.get(index);
        let slab = entry.share().ok_or(unknown)?.slab();
        if entry.page(frame.raw()).is_some() {
            return Ok(false);
        }
        let start = frame.raw() >> SECTION_BITS << SECTION_BITS;
        let section = Frames::between(start, start + SECTION_FRAMES);
        let shown = section.meet(entry.frames());
        let room = C::Lookup::prepare(&mut self.site(), shown, Change::Refresh);
        if room.is_err() {
            self.settle();
            return Err(MakeError::NoMemory);
        }
        let all = self.all;
        let core = &mut *self.core;
        let snapshot = Snapshot {
            all,
            order: core.order,
            hidden: core.hidden.as_slice(),
        };
        let shares = snapshot.overlapping(section).filter_map(|index| {
            let share = all.get(index).share();
            let share = share.filter(|share| share.slab() == slab)?;
            Some(share.part(share.frames.meet(section)))
        });
        let made = core.slabs.make_section(shares);
        C::Lookup::update(&mut self.site(), made);
        self.settle();
        Ok(true)
    }

    /// The descriptor of the frame at `address`. Makes it if necessary.
    ///
    /// # Errors
    /// [`MakeError`]; nothing has changed.
    pub fn page_or_make(&mut self, address: PhysAddr) -> Result<&D, MakeError> {
        let frame = Pfn::new(address.raw() >> C::PAGE_BITS);
        self.make(frame)?;
        self.view().page_of(frame).ok_or(MakeError::Unknown(frame))
    }
}
