//! Plugging: at boot a segment, later a segment with descriptors.
#![forbid(unsafe_code)]

use core::iter;

use crate::addr::{Address, Pfn};
use crate::phys::{
    Arm, Change, Config, Descriptor, Frames, Made, NoMemory, Plug, PlugError, Run, SegmentId,
    Segments, Share, Slabs,
};

/// A valid request, before anything is allocated for it.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) frames: Frames,
    pub(crate) avail: Frames,
    plug: Plug,
}

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Adds a segment: an [extent](crate::addr::Extent) of frames, or a [`Plug`] with more
    /// properties.
    ///
    /// At boot, before [`start`](Self::start), the frames get no descriptors. Afterwards they get
    /// them from slabs with room, or from a new slab, and lookups find them.
    ///
    /// The call drops the lock while it takes memory from the heap and while it makes descriptors,
    /// and holds the lock again when it returns. Others may change the table meanwhile, so earlier
    /// results may be outdated. Of two calls that plug the same frames, one is refused. Do not call
    /// this while you hold another lock that is taken under this one.
    ///
    /// # Errors
    /// [`PlugError`]; nothing has changed. The same if [`Descriptor::of_frame`] panics: the
    /// descriptors made so far are dropped, once.
    ///
    /// # Cost
    /// O(log n), and a word for each 4,096 frames; three words for each 64 in a table that began
    /// with frames below 2^18, as long as all are. O(hosted ranges) while one is isolated or being
    /// removed.
    /// Without the lock: a descriptor made for each frame. If the descriptors come from a shared
    /// slab: a search of its bitmap, 64 places at a time.
    pub fn plug(&mut self, plug: impl Into<Plug>) -> Result<SegmentId, PlugError> {
        let plug = plug.into();
        let wanted = self.room_for(plug)?;
        if !self.core.started {
            return Ok(self.link(wanted, None));
        }
        let run = self.take_descriptors(wanted.frames).map_err(|NoMemory| {
            self.settle();
            PlugError::NoMemory
        })?;
        let mut places = Places::new(self, run);
        let share = run.share(0, wanted.frames);
        let made = places.segments.unlocked(|| Made::make(iter::once(share)));
        match places.segments.room_for(plug) {
            Ok(wanted) => {
                made.keep();
                let segments = places.keep();
                let id = segments.link(wanted, Some(share));
                C::Lookup::update(&mut segments.site(), wanted.frames);
                segments.settle();
                Ok(id)
            }
            Err(refused) => {
                places.segments.unlocked(|| drop(made));
                drop(places);
                Err(refused)
            }
        }
    }

    /// Validates a request and allocates everything but the descriptors.
    fn room_for(&mut self, plug: Plug) -> Result<Wanted, PlugError> {
        let mut wanted = self.judge(plug)?;
        // Others may have changed everything while the lock was dropped for the heap. After two
        // tries, memory that is still missing is allocated under the lock.
        for _ in 0..2 {
            if !self.fetch_for(wanted.frames) {
                break;
            }
            wanted = self.judge(plug)?;
        }
        self.reserve_entries(1)?;
        if self.core.started {
            let room = C::Lookup::prepare(&mut self.site(), wanted.frames, Change::Plug);
            room.inspect_err(|_| self.settle())?;
        }
        Ok(wanted)
    }

    /// Free descriptors that continue those of a neighbour, or else any.
    fn take_descriptors(&mut self, frames: Frames) -> Result<Run<D>, NoMemory> {
        let beside = self.core.order.around(self.all, frames.start);
        for index in beside.into_iter().flatten() {
            let share = self.all.get(index).share();
            let beside = |share| self.core.slabs.take_beside(share, frames);
            if let Some(run) = share.and_then(beside) {
                return Ok(run);
            }
        }
        self.take_places(frames.len())
    }

    /// Free places of a slab, or of a new one, which is built without the lock.
    pub(super) fn take_places(&mut self, len: u64) -> Result<Run<D>, NoMemory> {
        if let Some(run) = self.core.slabs.take(len) {
            return Ok(run);
        }
        self.fetch(Slabs::<D>::need(len)?);
        let blank = Slabs::blank(&mut self.core.memory, len)?;
        let run = self.unlocked(|| blank.build());
        self.core.slabs.add(&run);
        Ok(run)
    }

    pub(crate) fn judge(&self, plug: Plug) -> Result<Wanted, PlugError> {
        let frames = Frames::new(plug.frames);
        let frames = frames.ok_or(PlugError::Beyond(plug.frames.last()))?;
        if let Some(index) = self.snapshot().overlapping(frames).next() {
            return Err(PlugError::Overlap(self.all.id(index)));
        }
        // No segment has them, but they host descriptors that are being dropped without the lock.
        if let Some(host) = self.core.memory.closed_in(frames) {
            return Err(PlugError::Leaving(host.extent().unwrap_or(plug.frames)));
        }
        let avail = plug.avail.map_or(frames, |(start, end)| {
            Frames::between(start.raw(), end.raw())
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

    /// Adds the segment to the table, with its descriptors.
    pub(crate) fn link(&mut self, wanted: Wanted, share: Option<Share<D>>) -> SegmentId {
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
        self.core.order.insert(self.all, index);
        self.all.id(index)
    }
}

/// Places that have no descriptors yet, or any more. Its drop gives them back.
pub(super) struct Places<'s, 'a, D, C: Config, const N: usize> {
    pub(crate) segments: &'s mut Segments<'a, D, C, N>,
    /// `None` once they belong to a segment.
    run: Option<Run<D>>,
}

impl<'s, 'a, D, C: Config, const N: usize> Places<'s, 'a, D, C, N> {
    pub(crate) fn new(segments: &'s mut Segments<'a, D, C, N>, run: Run<D>) -> Self {
        segments.core.between += run.len as u64;
        let run = Some(run);
        Self { segments, run }
    }

    /// Leaves the places to a segment.
    fn keep(&mut self) -> &mut Segments<'a, D, C, N> {
        if let Some(run) = self.run.take() {
            self.segments.core.between -= run.len as u64;
        }
        self.segments
    }
}

impl<D, C: Config, const N: usize> Drop for Places<'_, '_, D, C, N> {
    fn drop(&mut self) {
        if let Some(run) = self.run {
            let core = &mut *self.segments.core;
            core.between -= run.len as u64;
            core.slabs.give_back(&mut core.memory, run);
            self.segments.settle();
        }
    }
}
