//! Unplugging: isolate, wait for readers to leave, remove; or abort.

use super::error::{Refusal, RemoveError, StaleToken, UnplugError};
use super::lookup::{Arm, Change};
use super::pages::Share;
use super::segment::Frames;
use super::truth::Hidden;
use super::writer::Segments;
use super::{Config, Descriptor, Isolated};
use crate::addr::{Address, Extent, Pfn};
use crate::rcu::{Period, Rcu};
use crate::sync::unique;

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
            if refused.cause != UnplugError::Readers || tries == TRIES {
                let aborted = self.abort(refused.frames);
                debug_assert!(aborted.is_ok(), "it was isolated above");
                return Err(refused.cause);
            }
            isolated = refused.frames;
        }
    }

    fn unplug_at_boot(&mut self, extent: Extent<Pfn>) -> Result<(), UnplugError> {
        let frames = self.judge_unplug(extent)?;
        self.reserve_entries(usize::from(self.splits(frames)))?;
        self.cut(frames);
        Ok(())
    }

    /// The frames as numbers, if a segment may lose them.
    fn judge_unplug(&self, extent: Extent<Pfn>) -> Result<Frames, UnplugError> {
        let unknown = UnplugError::Unknown(extent.start());
        let index = self.truth().find(extent.start().raw()).ok_or(unknown)?;
        let whole = self.all.get(index).frames();
        let crosses = UnplugError::Crosses(self.all.id(index));
        let frames = Frames::new(extent).filter(|frames| whole.covers(*frames));
        let frames = frames.ok_or(crosses)?;
        if frames == whole && self.len() == 1 {
            return Err(UnplugError::LastSegment);
        }
        if let Some((host, at)) = self.host_in(frames) {
            let share = self.all.get(index).share();
            let has_all = |share: Share<D>| {
                frames == whole
                    && share.is_all()
                    && self.core.memory.live_in(at) == share.slab_bytes()
            };
            if !share.is_some_and(has_all) {
                return Err(UnplugError::Bookkeeping(host.extent().unwrap_or(extent)));
            }
        }
        if let Some(hidden) = self.truth().hidden_in(frames).first() {
            let isolated = hidden.frames.extent().unwrap_or(extent);
            return Err(UnplugError::Isolated(isolated));
        }
        Ok(frames)
    }

    /// The first phase: no lookup that begins from now on finds the frames. Readers that are inside
    /// may still have their descriptors.
    ///
    /// # Errors
    /// [`UnplugError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n). All memory that removing them may need is taken here.
    pub fn isolate(&mut self, frames: Extent<Pfn>) -> Result<Isolated, UnplugError> {
        if !self.core.started {
            return Err(UnplugError::NotStarted);
        }
        // What waits in a host for readers that have left is no reason for it to stay.
        self.sweep_limbo();
        let wanted = self.judge_unplug(frames)?;
        self.close_host(wanted, true);
        match self.hide(wanted) {
            Ok(serial) => Ok(Isolated { frames, serial }),
            Err(refusal) => {
                self.close_host(wanted, false);
                Err(refusal.into())
            }
        }
    }

    /// Lookups do not find these frames of a segment any more. Returns the isolation's number.
    pub(super) fn hide(&mut self, frames: Frames) -> Result<u64, Refusal> {
        if let Err(refusal) = self.prepare_isolation(frames) {
            self.settle();
            return Err(refusal);
        }
        let serial = unique();
        let hidden = self.core.hidden.as_slice();
        let position = hidden.partition_point(|hidden| hidden.frames.end <= frames.start);
        let fresh = Hidden {
            frames,
            serial,
            period: None,
        };
        self.core.hidden.insert(position, fresh);
        C::Lookup::update(&mut self.site(), frames);
        self.settle();
        let period = self.rcu.snapshot();
        self.core.hidden.as_mut_slice()[position].period = Some(period);
        Ok(serial)
    }

    /// Takes all that isolating these frames takes, and what removing them will.
    fn prepare_isolation(&mut self, frames: Frames) -> Result<(), Refusal> {
        self.reserve_entries(usize::from(self.splits(frames)))?;
        let core = &mut *self.core;
        core.hidden.reserve(&mut core.memory, 1)?;
        C::Lookup::prepare(&mut self.site(), frames, Change::Isolate)
    }

    /// A host of these frames gets nothing more while it is about to leave.
    fn close_host(&mut self, frames: Frames, closed: bool) {
        if let Some((_, host)) = self.host_in(frames) {
            self.core.memory.set_closed(host, closed);
        }
    }

    /// The second phase: the frames leave the table, once no reader has them. Their descriptors are
    /// dropped. It waits for nobody: while readers are inside it refuses, to be called again.
    ///
    /// # Errors
    /// [`RemoveError`] with the frames, which stay isolated.
    ///
    /// # Cost
    /// As [`unplug`](Self::unplug). Takes no memory.
    pub fn remove(&mut self, isolated: Isolated) -> Result<(), RemoveError> {
        let position = match self.removable(&isolated) {
            Ok(position) => position,
            Err(cause) => {
                let frames = isolated;
                return Err(RemoveError { cause, frames });
            }
        };
        let frames = self.core.hidden.as_slice()[position].frames;
        self.core.hidden.remove(position);
        let index = self.truth().find(frames.start).expect("a segment has them");
        let share = self.share_of(index, frames);
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
        if let Some(share) = share {
            let core = &mut *self.core;
            // SAFETY: lookups have not found them since they were isolated, and a grace period that
            // began then is over, or there are no readers.
            unsafe { core.slabs.unmake(&mut core.memory, share) };
        }
        self.settle();
        Ok(())
    }

    fn hidden_position(&self, isolated: &Isolated) -> Option<usize> {
        let hidden = self.core.hidden.as_slice();
        let is_it = |hidden: &Hidden| hidden.serial == isolated.serial;
        hidden.iter().position(is_it)
    }

    /// Where isolated frames stand, if they can be removed now.
    fn removable(&self, isolated: &Isolated) -> Result<usize, UnplugError> {
        let position = self.hidden_position(isolated);
        let position = position.ok_or(UnplugError::StaleToken)?;
        let Hidden { frames, period, .. } = self.core.hidden.as_slice()[position];
        let index = self.truth().find(frames.start).expect("a segment has them");
        if self.all.get(index).frames() == frames && self.len() == 1 {
            return Err(UnplugError::LastSegment);
        }
        if !self.is_alone() && !period.is_some_and(|period| self.is_over(period)) {
            return Err(UnplugError::Readers);
        }
        let share = self.share_of(index, frames);
        let pinned = share.and_then(|share| self.core.slabs.find(share, Descriptor::is_pinned));
        if let Some(frame) = pinned {
            return Err(UnplugError::Pinned(Pfn::new(frame)));
        }
        Ok(position)
    }

    fn is_over(&self, period: Period) -> bool {
        self.rcu.elapsed(period) || {
            self.rcu.advance();
            self.rcu.elapsed(period)
        }
    }

    fn share_of(&self, index: u32, frames: Frames) -> Option<Share<D>> {
        let share = self.all.get(index).share()?;
        Some(share.part(frames))
    }

    /// Takes isolated frames back: lookups find them again.
    ///
    /// # Errors
    /// [`StaleToken`] with the token; nothing has changed.
    ///
    /// # Cost
    /// As [`isolate`](Self::isolate). Takes no memory.
    pub fn abort(&mut self, isolated: Isolated) -> Result<(), StaleToken> {
        let Some(position) = self.hidden_position(&isolated) else {
            return Err(StaleToken(isolated));
        };
        let frames = self.core.hidden.remove(position).frames;
        self.close_host(frames, false);
        C::Lookup::update(&mut self.site(), frames);
        self.settle();
        Ok(())
    }

    /// Another token for the isolated stretch that has `frame`, in place of one that was lost; that
    /// one is refused from now on. `None` if the frame is not isolated.
    ///
    /// # Cost
    /// O(log n).
    pub fn adopt(&mut self, frame: Pfn) -> Option<Isolated> {
        let hidden = self.core.hidden.as_mut_slice();
        let position = hidden.partition_point(|hidden| hidden.frames.end <= frame.raw());
        let hidden = hidden.get_mut(position)?;
        if !hidden.frames.contains(frame.raw()) {
            return None;
        }
        let serial = unique();
        hidden.serial = serial;
        let frames = hidden.frames.extent()?;
        Some(Isolated { frames, serial })
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
