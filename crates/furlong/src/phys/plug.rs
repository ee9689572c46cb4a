//! Plugging: at boot a segment, at run time a segment with descriptors.
#![forbid(unsafe_code)]

use super::error::{NoMemory, PlugError};
use super::lookup::{Arm, Change};
use super::making::{Making, Run};
use super::pages::Share;
use super::segment::Frames;
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
    /// O(log n), a move of four bytes for each higher segment, and a descriptor made for each
    /// frame; a look at each slab, where there is no room beside the descriptors of a neighbour.
    pub fn plug(&mut self, plug: impl Into<Plug>) -> Result<SegmentId, PlugError> {
        let wanted = self.judge(plug.into())?;
        self.reserve_entries(1)?;
        if !self.core.started {
            return Ok(self.link(wanted, None));
        }
        let run = self.take_descriptors(wanted.frames);
        let run = run.map_err(|NoMemory| PlugError::NoMemory)?;
        if let Err(refusal) = C::Lookup::prepare(&mut self.site(), wanted.frames, Change::Plug) {
            let core = &mut *self.core;
            core.slabs.give_back(&mut core.memory, run);
            self.settle();
            return Err(refusal.into());
        }
        let mut making = Making::new(run);
        let share = making.make(0, wanted.frames);
        making.keep();
        let id = self.link(wanted, Some(share));
        C::Lookup::update(&mut self.site(), wanted.frames);
        self.settle();
        Ok(id)
    }

    /// Descriptors that go on from those of a neighbour, if they are free; else any.
    fn take_descriptors(&mut self, frames: Frames) -> Result<Run<D>, NoMemory> {
        let above = self.truth().position(frames.start);
        for position in [above.checked_sub(1), Some(above)].into_iter().flatten() {
            let index = self.core.order.as_slice().get(position);
            let share = index.and_then(|index| self.all.get(*index).share());
            let beside = |share| self.core.slabs.take_beside(share, frames);
            if let Some(run) = share.and_then(beside) {
                return Ok(run);
            }
        }
        let core = &mut *self.core;
        core.slabs.take(&mut core.memory, frames.len())
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
        if avail.start > avail.end || !frames.covers(avail) {
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
}
