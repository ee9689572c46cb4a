//! The end of boot: descriptors and index for all segments at once.
#![forbid(unsafe_code)]

use crate::phys::{
    Arm, BLOCK_FRAMES, Change, Config, Descriptor, Frames, Made, Refusal, Run, Segments, Slabs,
    Snapshot, StartError, above,
};

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Ends boot: every frame gets a descriptor, all of them in one slab, and lookups find them.
    /// From now on frames cannot be stolen, and new segments get descriptors. Returns the number of
    /// available frames.
    ///
    /// # Errors
    /// [`StartError`]; nothing has changed, and no descriptor was made. If [`Descriptor::of_frame`]
    /// panics, nothing has changed either: the descriptors made so far are dropped.
    ///
    /// # Cost
    /// O(frames), under the lock: boot does it once, without contention.
    pub fn start(&mut self) -> Result<u64, StartError> {
        if self.core.started {
            return Err(StartError::Started);
        }
        let starting = Starting::new(self)?;
        starting.open();
        Ok(self.core.managed)
    }
}

/// A table whose segments have places for descriptors and an index, both still unpublished. Its
/// drop takes both away again.
pub(crate) struct Starting<'s, 'a, D, C: Config, const N: usize> {
    pub(crate) segments: &'s mut Segments<'a, D, C, N>,
    /// `None` if there are no segments, and after `open`.
    run: Option<Run<D>>,
}

impl<'s, 'a, D: Descriptor, C: Config, const N: usize> Starting<'s, 'a, D, C, N> {
    pub(crate) fn new(segments: &'s mut Segments<'a, D, C, N>) -> Result<Self, Refusal> {
        let len = places(segments.snapshot()).map(|(_, frames, at)| at + frames.len());
        let mut run = None;
        if let Some(len) = len.last() {
            let core = &mut *segments.core;
            let taken = Slabs::blank(&mut core.memory, len)?.build();
            core.slabs.add(&taken);
            run = Some(taken);
        }
        let starting = Self { segments, run };
        starting.build()
    }

    fn build(self) -> Result<Self, Refusal> {
        let Some(run) = self.run else {
            return Ok(self);
        };
        let mut done = 0;
        for (index, frames, at) in places(self.segments.snapshot()) {
            let share = run.share(at, frames);
            let entry = self.segments.all.get(index);
            entry.set_pages(share.pages(), share.slab());
            run.skip(done, at - done);
            done = at + frames.len();
        }
        self.segments.core.slabs.note_skipped(&run);
        // The highest segment first, so that the index grows once.
        if let Some(last) = self.segments.core.order.last() {
            let frames = self.segments.all.get(last).frames();
            C::Lookup::prepare(&mut self.segments.site(), frames, Change::Refresh)?;
        }
        let mut next = self.segments.core.order.first();
        while let Some(index) = next {
            next = above(self.segments.all, index);
            let frames = self.segments.all.get(index).frames();
            C::Lookup::prepare(&mut self.segments.site(), frames, Change::Refresh)?;
            C::Lookup::update(&mut self.segments.site(), frames);
            self.segments.settle();
        }
        Ok(self)
    }

    /// Makes the descriptors, and publishes them to lookups.
    pub(crate) fn open(mut self) {
        let snapshot = self.segments.snapshot();
        let share = |index| snapshot.all.get(index).share();
        Made::make(snapshot.order.iter(snapshot.all).filter_map(share)).keep();
        self.run = None;
        let Segments { all, core, .. } = &mut *self.segments;
        let avail = |index| all.get(index).avail().len();
        core.managed = core.order.iter(*all).map(avail).sum();
        core.started = true;
        C::Lookup::open(&mut self.segments.site());
    }
}

impl<D, C: Config, const N: usize> Drop for Starting<'_, '_, D, C, N> {
    fn drop(&mut self) {
        if self.run.is_none() {
            return;
        }
        C::Lookup::clear(&mut self.segments.site());
        let mut next = self.segments.core.order.first();
        while let Some(index) = next {
            next = above(self.segments.all, index);
            let entry = self.segments.all.get(index);
            if let Some(share) = entry.share() {
                let core = &mut *self.segments.core;
                core.slabs
                    .give_back(&mut core.memory, Slabs::run_of(&share));
            }
            entry.forget_pages();
        }
        self.segments.settle();
    }
}

/// The segments, each with the place in a slab at which its descriptors begin. Segments that share
/// a block of 64 frames keep their distance, so that one base serves both. The places between them
/// are free for others.
fn places<D>(snapshot: Snapshot<'_, D>) -> impl Iterator<Item = (u32, Frames, u64)> {
    let mut below: Option<(Frames, u64)> = None;
    snapshot.order.iter(snapshot.all).map(move |index| {
        let frames = snapshot.all.get(index).frames();
        let at = below.map_or(0, |(below, at)| {
            let shares_block = (below.end - 1) / BLOCK_FRAMES == frames.start / BLOCK_FRAMES;
            let gap = if shares_block {
                frames.start - below.end
            } else {
                0
            };
            at + below.len() + gap
        });
        below = Some((frames, at));
        (index, frames, at)
    })
}
