//! Unplugging: isolate, wait for readers to leave, remove; or abort.

use super::error::{RemoveError, UnplugError};
use super::lookup::Arm;
use super::segment::Frames;
use super::slab::Run;
use super::truth::Hidden;
use super::writer::Segments;
use super::{Config, Descriptor, Isolated};
use crate::addr::{Address, Extent, Pfn};
use crate::rcu::Rcu;

/// Tries of `unplug` to end a grace period for which nobody has to leave.
const TRIES: usize = 3;

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Takes frames out: a whole segment, its front, its back, or a hole in its middle, which
    /// leaves two segments. The lower one keeps its handle, the upper one gets a new one; what is
    /// available of them stays what it was.
    ///
    /// Their descriptors are dropped. To wait for readers, [`isolate`](Self::isolate) and
    /// [`remove`](Self::remove) instead.
    ///
    /// # Errors
    /// [`UnplugError`]; nothing has changed. [`UnplugError::Readers`] if a reader is inside.
    ///
    /// # Cost
    /// O(log n) and a move of four bytes for each higher segment; a descriptor dropped for each
    /// frame.
    pub fn unplug(&mut self, frames: Extent<Pfn>) -> Result<(), UnplugError> {
        if !self.core.started {
            return self.unplug_at_boot(frames);
        }
        let mut isolated = self.isolate(frames)?;
        let mut tries = 0;
        loop {
            let refused = match self.remove(isolated) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            tries += 1;
            if refused.why != UnplugError::Readers || tries == TRIES {
                self.abort(refused.frames);
                return Err(refused.why);
            }
            isolated = refused.frames;
        }
    }

    fn unplug_at_boot(&mut self, extent: Extent<Pfn>) -> Result<(), UnplugError> {
        let (frames, _) = self.judge_unplug(extent)?;
        self.reserve_entry()?;
        self.cut(frames);
        Ok(())
    }

    /// The frames as numbers, and the segment that has them all.
    fn judge_unplug(&self, extent: Extent<Pfn>) -> Result<(Frames, u32), UnplugError> {
        let unknown = UnplugError::Unknown(extent.start());
        let index = self.truth().find(extent.start().raw()).ok_or(unknown)?;
        let whole = self.all.get(index).frames();
        let crosses = UnplugError::Crosses(self.all.id(index));
        let frames = Frames::new(extent).filter(|frames| whole.covers(*frames));
        let frames = frames.ok_or(crosses)?;
        if frames == whole && self.len() == 1 {
            return Err(UnplugError::LastSegment);
        }
        let hosts = self.core.hosts.as_slice();
        if let Some(host) = hosts.iter().find(|host| host.overlaps(frames)) {
            let host = host.extent().unwrap_or(extent);
            return Err(UnplugError::Bookkeeping(host));
        }
        if let Some(hidden) = self.truth().hidden_in(frames).first() {
            let isolated = hidden.frames.extent().unwrap_or(extent);
            return Err(UnplugError::Isolated(isolated));
        }
        Ok((frames, index))
    }

    /// The first phase: no lookup that begins from now on finds the frames. Readers that are inside
    /// may still have their descriptors.
    ///
    /// # Errors
    /// [`UnplugError`]; nothing has changed.
    ///
    /// # Panics
    /// At boot, when frames are unplugged in one step.
    ///
    /// # Cost
    /// O(log n). All memory that removing them may need is taken here.
    pub fn isolate(&mut self, frames: Extent<Pfn>) -> Result<Isolated, UnplugError> {
        assert!(self.core.started, "frames are isolated after boot");
        let (frames, index) = self.judge_unplug(frames)?;
        let whole = self.truth().pieces_of(index);
        let piece = whole.into_iter().find(|piece| piece.frames.covers(frames));
        let piece = piece
            .expect("frames that are not isolated are found")
            .frames;
        let one_more = piece.start < frames.start && frames.end < piece.end;
        self.reserve_entry()?;
        let core = &mut *self.core;
        let room = core.hidden.reserve(&mut core.memory, 1);
        room.map_err(|_| UnplugError::NoMemory)?;
        let prepared = C::Lookup::prepare(&mut self.site(), frames, one_more);
        if let Err(refusal) = prepared {
            self.settle();
            return Err(refusal.into());
        }
        let core = &mut *self.core;
        core.serial += 1;
        let serial = core.serial;
        let hidden = core.hidden.as_slice();
        let position = hidden.partition_point(|hidden| hidden.frames.end <= frames.start);
        let period = None;
        core.hidden.insert(
            position,
            Hidden {
                frames,
                serial,
                period,
            },
        );
        C::Lookup::update(&mut self.site(), frames);
        self.settle();
        let period = self.rcu.snapshot();
        self.core.hidden.as_mut_slice()[position].period = Some(period);
        let frames = frames.extent().expect("it was one before");
        Ok(Isolated { frames, serial })
    }

    /// The second phase: the frames leave the table, once no reader has them. Their descriptors are
    /// dropped. It waits for nobody: while readers are inside it refuses, to be called again.
    ///
    /// # Errors
    /// [`RemoveError`] with the frames, which stay isolated.
    ///
    /// # Panics
    /// If the frames were isolated in another table.
    ///
    /// # Cost
    /// As [`unplug`](Self::unplug). Takes no memory.
    pub fn remove(&mut self, isolated: Isolated) -> Result<(), RemoveError> {
        let position = self.hidden_position(&isolated);
        let Hidden { frames, period, .. } = self.core.hidden.as_slice()[position];
        if let Err(why) = self.may_leave(frames, period) {
            let frames = isolated;
            return Err(RemoveError { why, frames });
        }
        self.core.hidden.remove(position);
        let index = self.truth().find(frames.start).expect("a segment has them");
        let run = self.run_of(index, frames);
        let changed = self.cut(frames);
        C::Lookup::update(&mut self.site(), changed);
        for part in [index, self.truth().find(frames.end).unwrap_or(index)] {
            let entry = self.all.get(part);
            let left = if entry.is_live() {
                entry.frames()
            } else {
                Frames::NONE
            };
            C::Lookup::shrunk(&mut self.site(), part, left);
        }
        self.settle();
        if let Some(run) = run {
            // SAFETY: lookups have not found them since they were isolated, and a grace period that
            // began then is over, or there are no readers.
            unsafe { run.unmake(frames.start) };
            let core = &mut *self.core;
            core.slabs.give_back(&mut core.memory, run);
        }
        Ok(())
    }

    fn hidden_position(&self, isolated: &Isolated) -> usize {
        let hidden = self.core.hidden.as_slice();
        let is_it = |hidden: &Hidden| hidden.serial == isolated.serial;
        let position = hidden.iter().position(is_it);
        position.expect("the frames were isolated in another table")
    }

    /// Whether isolated frames can be removed now.
    fn may_leave(
        &self,
        frames: Frames,
        period: Option<crate::rcu::Period>,
    ) -> Result<(), UnplugError> {
        let index = self.truth().find(frames.start).expect("a segment has them");
        if self.all.get(index).frames() == frames && self.len() == 1 {
            return Err(UnplugError::LastSegment);
        }
        let over = |period| {
            self.rcu.elapsed(period) || {
                self.rcu.advance();
                self.rcu.elapsed(period)
            }
        };
        if !self.is_alone() && !period.is_some_and(over) {
            return Err(UnplugError::Readers);
        }
        let run = self.run_of(index, frames);
        let pinned = run.and_then(|run| {
            // SAFETY: descriptors stay until they are removed, which takes the writer.
            unsafe { run.position(frames.start, Descriptor::is_pinned) }
        });
        pinned.map_or(Ok(()), |at| {
            Err(UnplugError::Pinned(Pfn::new(frames.start + at)))
        })
    }

    fn run_of(&self, index: u32, frames: Frames) -> Option<Run<D>> {
        let entry = self.all.get(index);
        let run = entry.run()?;
        Some(run.part(frames.start - entry.start(), frames.len()))
    }

    /// Takes isolated frames back: lookups find them again.
    ///
    /// # Panics
    /// If the frames were isolated in another table.
    ///
    /// # Cost
    /// As [`isolate`](Self::isolate). Takes no memory.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what is aborted cannot be removed afterwards"
    )]
    pub fn abort(&mut self, isolated: Isolated) {
        let position = self.hidden_position(&isolated);
        let frames = self.core.hidden.remove(position).frames;
        C::Lookup::update(&mut self.site(), frames);
        self.settle();
    }

    /// Takes frames out of the segment that has them, and returns those for which lookups have to
    /// find something else now. There is an entry for the part above.
    pub(super) fn cut(&mut self, frames: Frames) -> Frames {
        let position = self.truth().position(frames.start);
        let index = self.core.order.as_slice()[position];
        let entry = self.all.get(index);
        let (whole, avail) = (entry.frames(), entry.avail());
        if self.core.started {
            self.core.managed -= avail.meet(frames).checked_len();
        }
        let below = Frames {
            start: whole.start,
            end: frames.start,
        };
        let above = Frames {
            start: frames.end,
            end: whole.end,
        };
        match (below.is_empty(), above.is_empty()) {
            (true, true) => {
                self.core.order.remove(position);
                self.bury_entry(index);
                frames
            }
            (true, false) => {
                entry.shrink(above);
                frames
            }
            (false, true) => {
                entry.shrink(below);
                frames
            }
            (false, false) => {
                self.split(position, below, above);
                Frames {
                    start: frames.start,
                    end: whole.end,
                }
            }
        }
    }

    fn split(&mut self, position: usize, below: Frames, above: Frames) {
        let index = self.core.order.as_slice()[position];
        let entry = self.all.get(index);
        let tail = self.take_entry();
        self.core.order.insert(position + 1, tail);
        let tail = self.all.get(tail);
        tail.copy_from(entry);
        tail.shrink(above);
        entry.shrink(below);
    }
}
