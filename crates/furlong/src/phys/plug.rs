//! Plugging: at boot a segment, at run time a segment with descriptors.
#![forbid(unsafe_code)]

use super::direct::geometry::BLOCK_FRAMES;
use super::error::{NoMemory, PlugError, Refusal, StartError};
use super::lookup::Arm;
use super::making::Making;
use super::pages::Share;
use super::segment::Frames;
use super::truth::Truth;
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
    /// [`PlugError`]; nothing has changed. Nor has it if [`Descriptor::of_frame`] panics: what was
    /// made by then is dropped.
    ///
    /// # Cost
    /// O(log n) and a move of four bytes for each higher segment; a descriptor made for each frame.
    pub fn plug(&mut self, plug: impl Into<Plug>) -> Result<SegmentId, PlugError> {
        let wanted = self.judge(plug.into())?;
        self.reserve_entries(1)?;
        if !self.core.started {
            return Ok(self.link(wanted, None));
        }
        let core = &mut *self.core;
        let run = core.slabs.take(&mut core.memory, wanted.frames.len());
        let run = run.map_err(|NoMemory| PlugError::NoMemory)?;
        if let Err(refusal) = C::Lookup::prepare(&mut self.site(), wanted.frames, true) {
            drop(run);
            self.settle();
            return Err(refusal.into());
        }
        let mut making = Making::new(run);
        making.make(0, wanted.frames);
        let share = making.share(0, wanted.frames);
        making.keep();
        let id = self.link(wanted, Some(share));
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
    pub(super) fn link(&mut self, wanted: Wanted, share: Option<Share<D>>) -> SegmentId {
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
        if let Some(share) = share {
            entry.set_pages(share.pages(), share.slab());
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
    /// [`StartError`]; nothing has changed. Nor has it if [`Descriptor::of_frame`] panics.
    ///
    /// # Cost
    /// O(frames).
    pub fn start(&mut self) -> Result<u64, StartError> {
        if self.core.started {
            return Err(StartError::Started);
        }
        let making = self.build()?;
        self.open();
        if let Some(making) = making {
            making.keep();
        }
        Ok(self.core.managed)
    }

    /// Makes descriptors and index for all segments. Nothing is seen of them; they are to be kept
    /// when they are, else [unbuilt](Self::unbuild) before the descriptors are dropped.
    pub(super) fn build(&mut self) -> Result<Option<Making<D>>, StartError> {
        let places = Self::places(self.truth());
        let len = places.map(|(_, frames, skip)| skip + frames.len()).sum();
        if len == 0 {
            return Ok(None);
        }
        let core = &mut *self.core;
        let run = core.slabs.take(&mut core.memory, len);
        let run = run.map_err(|NoMemory| StartError::NoMemory)?;
        let mut making = Making::new(run);
        for (_, frames, skip) in Self::places(self.truth()) {
            making.make(skip, frames);
        }
        let mut at = 0;
        for (index, frames, skip) in Self::places(self.truth()) {
            let share = making.share(at + skip, frames);
            self.all.get(index).set_pages(share.pages(), share.slab());
            at += skip + frames.len();
        }
        if let Err(refusal) = self.build_index() {
            self.unbuild();
            drop(making);
            self.settle();
            return Err(refusal.into());
        }
        Ok(Some(making))
    }

    /// The segments, and how many places in a slab are between the descriptors of one and those of
    /// the one below. Segments that share a block of 64 frames keep their distance, so that one
    /// address serves both; the descriptors between them are free for others.
    fn places(truth: Truth<'_, D>) -> impl Iterator<Item = (u32, Frames, u64)> {
        let mut end: Option<u64> = None;
        truth.order.iter().map(move |index| {
            let frames = truth.all.get(*index).frames();
            let below = end.replace(frames.end);
            let shares_block = |end: &u64| (end - 1) / BLOCK_FRAMES == frames.start / BLOCK_FRAMES;
            let skip = below
                .filter(shares_block)
                .map_or(0, |end| frames.start - end);
            (*index, frames, skip)
        })
    }

    fn build_index(&mut self) -> Result<(), Refusal> {
        for position in 0..self.len() {
            let frames = self.all.get(self.core.order.as_slice()[position]).frames();
            C::Lookup::prepare(&mut self.site(), frames, true)?;
            C::Lookup::update(&mut self.site(), frames);
            self.settle();
        }
        Ok(())
    }

    /// Undoes [`build`](Self::build): no lookup has seen any of it.
    pub(super) fn unbuild(&mut self) {
        C::Lookup::clear(&mut self.site());
        for index in self.core.order.as_slice() {
            let entry = self.all.get(*index);
            entry.forget_pages();
        }
    }

    /// What was built is seen from now on.
    pub(super) fn open(&mut self) {
        let avail = |index: &u32| self.all.get(*index).avail().len();
        self.core.managed = self.core.order.as_slice().iter().map(avail).sum();
        self.core.started = true;
        C::Lookup::open(&mut self.site());
    }
}
