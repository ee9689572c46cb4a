//! Plugging: at boot a segment, at run time a segment with descriptors.

use super::error::{NoMemory, PlugError, Refusal, StartError};
use super::lookup::Arm;
use super::segment::Frames;
use super::slab::Run;
use super::writer::Segments;
use super::{Config, Descriptor, Plug, SegmentId};
use crate::addr::{Address, Pfn};

/// A segment that passes every test, before anything is taken for it.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) frames: Frames,
    pub(super) avail: Frames,
    plug: Plug,
}

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Adds a segment: an [extent](crate::addr::Extent) of frames, or a [`Plug`] that says more.
    ///
    /// At boot, before [`start`](Self::start), the frames get no descriptors. Afterwards they get
    /// them from slabs that have room, or from a new one, and lookups find them.
    ///
    /// # Errors
    /// [`PlugError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n) and a move of four bytes for each higher segment; a descriptor made for each frame.
    pub fn plug(&mut self, plug: impl Into<Plug>) -> Result<SegmentId, PlugError> {
        let wanted = self.judge(plug.into())?;
        self.reserve_entry()?;
        if !self.core.started {
            return Ok(self.link(wanted, None));
        }
        let core = &mut *self.core;
        let run = core.slabs.take(&mut core.memory, wanted.frames.len());
        let run = run.map_err(|NoMemory| PlugError::NoMemory)?;
        if let Err(refusal) = C::Lookup::prepare(&mut self.site(), wanted.frames, true) {
            self.settle();
            let core = &mut *self.core;
            core.slabs.give_back(&mut core.memory, run);
            return Err(refusal.into());
        }
        run.make(wanted.frames.start);
        let id = self.link(wanted, Some(run));
        C::Lookup::update(&mut self.site(), wanted.frames);
        self.settle();
        Ok(id)
    }

    pub(super) fn judge(&self, plug: Plug) -> Result<Wanted, PlugError> {
        let frames = Frames::new(plug.frames);
        let frames = frames.ok_or(PlugError::Beyond(plug.frames.last()))?;
        if let Some(index) = self.truth().overlapping(frames).first() {
            return Err(PlugError::Overlap(self.all.id(*index)));
        }
        let avail = plug.avail.map_or(frames, |(start, end)| Frames {
            start: start.raw(),
            end: end.raw(),
        });
        if avail.start > avail.end || avail.start < frames.start || frames.end < avail.end {
            return Err(PlugError::Avail {
                start: Pfn::new(avail.start),
                end: Pfn::new(avail.end),
            });
        }
        Ok(Wanted {
            frames,
            avail,
            plug,
        })
    }

    /// The segment comes to life, with its descriptors.
    pub(super) fn link(&mut self, wanted: Wanted, run: Option<Run<D>>) -> SegmentId {
        let position = self.truth().position(wanted.frames.start);
        let index = self.take_entry();
        let entry = self.all.get(index);
        entry.set_frames(wanted.frames);
        entry.set_avail(wanted.avail);
        entry.set_hint(0);
        entry.set_user(wanted.plug.user);
        entry.set_node(wanted.plug.node);
        entry.forget_marks();
        entry.forget_pages();
        if let Some(run) = run {
            entry.set_pages(run.pages(wanted.frames.start), run.slab());
            self.core.managed += wanted.avail.len();
        }
        self.core.order.insert(position, index);
        self.all.id(index)
    }

    /// Ends boot: every frame gets a descriptor, all of them in one slab, and lookups find them.
    /// From now on frames are not stolen, and segments are plugged with descriptors. Returns the
    /// number of available frames.
    ///
    /// # Errors
    /// [`StartError`]; nothing has changed.
    ///
    /// # Cost
    /// O(frames).
    pub fn start(&mut self) -> Result<u64, StartError> {
        if self.core.started {
            return Err(StartError::Started);
        }
        let Some(len) = self.boot_descriptors() else {
            C::Lookup::open(&mut self.site());
            self.core.started = true;
            return Ok(0);
        };
        let core = &mut *self.core;
        let run = core.slabs.take(&mut core.memory, len);
        let run = run.map_err(|NoMemory| StartError::NoMemory)?;
        if let Err(refusal) = self.build_index(run) {
            self.unbuild(run);
            return Err(refusal.into());
        }
        self.return_gaps(run);
        C::Lookup::open(&mut self.site());
        let avail = |index: &u32| self.all.get(*index).avail().len();
        self.core.managed = self.core.order.as_slice().iter().map(avail).sum();
        self.core.started = true;
        Ok(self.core.managed)
    }

    /// Where the descriptors of a boot segment begin in their slab, given where those of the one
    /// before end. Segments that share a block of 64 frames keep their distance, so that one
    /// address serves both; the descriptors between them are free for others.
    fn boot_offset(before: Option<(Frames, u64)>, frames: Frames) -> u64 {
        match before {
            Some((last, end)) if (last.end - 1) / 64 == frames.start / 64 => {
                end + frames.start - last.end
            }
            Some((_, end)) => end,
            None => 0,
        }
    }

    /// How many descriptors the boot segments need.
    fn boot_descriptors(&self) -> Option<u64> {
        let mut end = None;
        for index in self.core.order.as_slice() {
            let frames = self.all.get(*index).frames();
            end = Some((frames, Self::boot_offset(end, frames) + frames.len()));
        }
        end.map(|(_, len)| len)
    }

    fn build_index(&mut self, run: Run<D>) -> Result<(), Refusal> {
        // For the highest segment first, so that nothing grows step by step.
        if let Some(last) = self.core.order.as_slice().last() {
            let frames = self.all.get(*last).frames();
            C::Lookup::prepare(&mut self.site(), frames, true)?;
        }
        let mut end = None;
        for position in 0..self.len() {
            let entry = self.all.get(self.core.order.as_slice()[position]);
            let frames = entry.frames();
            let offset = Self::boot_offset(end, frames);
            end = Some((frames, offset + frames.len()));
            C::Lookup::prepare(&mut self.site(), frames, true)?;
            let part = run.part(offset, frames.len());
            part.make(frames.start);
            entry.set_pages(part.pages(frames.start), part.slab());
            C::Lookup::update(&mut self.site(), frames);
            self.settle();
        }
        Ok(())
    }

    /// Gives the descriptors between the boot segments back.
    fn return_gaps(&mut self, run: Run<D>) {
        let mut end: Option<(Frames, u64)> = None;
        for position in 0..self.len() {
            let frames = self.all.get(self.core.order.as_slice()[position]).frames();
            let offset = Self::boot_offset(end, frames);
            let from = end.map_or(0, |(_, end)| end);
            if from < offset {
                let core = &mut *self.core;
                let gap = run.part(from, offset - from);
                core.slabs.give_back(&mut core.memory, gap);
            }
            end = Some((frames, offset + frames.len()));
        }
    }

    /// Undoes [`build_index`](Self::build_index) where it stopped: no lookup has seen any of it.
    fn unbuild(&mut self, run: Run<D>) {
        for index in self.core.order.as_slice() {
            let entry = self.all.get(*index);
            if let Some(made) = entry.run() {
                // SAFETY: only an index leads to them, and no lookup has seen that.
                unsafe { made.unmake(entry.start()) };
            }
            entry.forget_pages();
            entry.forget_marks();
        }
        C::Lookup::clear(&mut self.site());
        let core = &mut *self.core;
        core.slabs.give_back(&mut core.memory, run);
    }
}
