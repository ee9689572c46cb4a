//! Unplugging: isolate, wait for readers to leave, then remove or abort.

use super::plug::Places;
use crate::addr::{Address, Extent, Pfn};
use crate::phys::{
    Arm, Change, Config, Descriptor, Frames, Hidden, Host, Isolated, Leaving, Refusal, RemoveError,
    Segments, Share, Slabs, StaleToken, UnplugError,
};
use crate::rcu::{Period, Rcu};
use crate::sync::unique;

/// Times that `unplug` tries to end a grace period for which no reader has to leave.
const TRIES: usize = 3;

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Removes frames: a whole segment, its front, its back, or a hole in its middle. A hole leaves
    /// two segments: the lower one keeps its handle, and the upper one gets a new one. Available
    /// frames stay available.
    ///
    /// The call drops their descriptors without the lock, like [`remove`](Self::remove). To wait
    /// for readers, use [`isolate`](Self::isolate) and `remove` instead.
    ///
    /// # Errors
    /// [`UnplugError`]; nothing has changed. [`UnplugError::Readers`] if a reader is inside.
    ///
    /// # Cost
    /// O(log n), and words as [`plug`](Self::plug) changes them; for a hole also those of the
    /// segment's part above it.
    /// Without the lock: a descriptor queried and dropped for each frame. If others have
    /// descriptors in the same slab: a bit for each frame, 64 at a time.
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
        let mut judged = self.judge_unplug(extent)?;
        if self.fetch_for(judged.frames) {
            judged = self.judge_unplug(extent)?;
        }
        if self.core.started {
            return self.unplug(extent);
        }
        self.reserve_entries(usize::from(self.splits(judged.index, judged.frames)))?;
        self.cut(judged.index, judged.frames);
        Ok(())
    }

    /// Validates an unplug.
    fn judge_unplug(&self, extent: Extent<Pfn>) -> Result<Judged, UnplugError> {
        let unknown = UnplugError::Unknown(extent.start());
        let index = self.snapshot().find(extent.start().raw()).ok_or(unknown)?;
        let whole = self.all.get(index).frames();
        let crosses = UnplugError::Crosses(self.all.id(index));
        let frames = Frames::new(extent).filter(|frames| whole.covers(*frames));
        let frames = frames.ok_or(crosses)?;
        if frames == whole && self.len() == 1 {
            return Err(UnplugError::LastSegment);
        }
        let host = self.host_in(index, frames);
        if let Some((hosting, at)) = host {
            let share = self.all.get(index).share();
            let has_all = |share: Share<D>| {
                frames == whole
                    && share.is_all()
                    && self.core.memory.live_in(at) == share.slab_bytes()
            };
            if !share.is_some_and(has_all) {
                return Err(UnplugError::Bookkeeping(hosting.extent().unwrap_or(extent)));
            }
        }
        if let Some(hidden) = self.snapshot().hidden_in(frames).first() {
            let isolated = hidden.frames.extent().unwrap_or(extent);
            return Err(UnplugError::Isolated(isolated));
        }
        let host = host.map(|(_, at)| at);
        Ok(Judged {
            index,
            frames,
            host,
        })
    }

    /// The first phase: no lookup that begins from now on finds the frames. Readers that are inside
    /// may still have their descriptors.
    ///
    /// # Errors
    /// [`UnplugError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n). Allocates everything that a removal or abort may need.
    pub fn isolate(&mut self, frames: Extent<Pfn>) -> Result<Isolated, UnplugError> {
        if !self.core.started {
            return Err(UnplugError::NotStarted);
        }
        // Free what no reader needs any more, as memory waiting in a host would keep the host.
        self.sweep();
        let mut judged = self.judge_unplug(frames)?;
        if self.fetch_for(judged.frames) {
            judged = self.judge_unplug(frames)?;
        }
        self.close_host(judged.host, true);
        match self.hide(judged.index, judged.frames) {
            Ok(serial) => Ok(Isolated { frames, serial }),
            Err(refusal) => {
                self.close_host(judged.host, false);
                Err(refusal.into())
            }
        }
    }

    /// Hides these frames of a segment from lookups. Returns the isolation's serial number.
    pub(crate) fn hide(&mut self, index: u32, frames: Frames) -> Result<u64, Refusal> {
        if let Err(refusal) = self.prepare_isolation(index, frames) {
            self.settle();
            return Err(refusal);
        }
        let serial = unique();
        let hidden = self.core.hidden.as_slice();
        let position = hidden.partition_point(|hidden| hidden.frames.end <= frames.start);
        let fresh = Hidden {
            frames,
            serial,
            is_leaving: false,
            period: None,
        };
        let whole = self.all.get(index).frames();
        self.core.splits -= self.snapshot().splits(whole);
        self.core.hidden.insert(position, fresh);
        self.core.splits += self.snapshot().splits(whole);
        C::Lookup::update(&mut self.site(), frames);
        self.settle();
        let period = self.rcu.snapshot();
        self.core.hidden.as_mut_slice()[position].period = Some(period);
        Ok(serial)
    }

    /// Allocates for an isolation of these frames, and for its removal.
    fn prepare_isolation(&mut self, index: u32, frames: Frames) -> Result<(), Refusal> {
        self.reserve_entries(usize::from(self.splits(index, frames)))?;
        let core = &mut *self.core;
        core.hidden.reserve(&mut core.memory, 1)?;
        C::Lookup::prepare(&mut self.site(), frames, Change::Isolate)
    }

    /// Closes a host that is about to leave, or opens it again.
    fn close_host(&mut self, host: Option<Host>, closed: bool) {
        if let Some(host) = host {
            self.core.memory.set_closed(host, closed);
        }
    }

    /// The second phase: removes the frames from the table once no reader has them, and drops their
    /// descriptors. The call never waits: it is refused while readers are inside. Call it again
    /// then.
    ///
    /// The call drops the lock while it queries and while it drops descriptors, and holds the lock
    /// again when it returns; see [`plug`](Self::plug). If [`Descriptor::is_pinned`] panics, the
    /// frames stay isolated, for [`adopt`](Self::adopt). If a descriptor panics while it is
    /// dropped, the frames are gone, and the other descriptors are dropped.
    ///
    /// # Errors
    /// [`RemoveError`] with the frames, which stay isolated.
    ///
    /// # Cost
    /// Like [`unplug`](Self::unplug). Allocates nothing.
    pub fn remove(&mut self, isolated: Isolated) -> Result<(), RemoveError> {
        match self.take_out(&isolated) {
            Ok(Some(share)) => {
                let places = Places::new(self, Slabs::run_of(&share));
                let leaving = Leaving::new(share);
                // SAFETY: lookups have not found them since they were isolated, and a grace period
                // that began then is over, or there are no readers. No segment has them any more,
                // and their places are given back afterwards.
                places.segments.unlocked(|| unsafe { leaving.drop_all() });
                Ok(())
            }
            Ok(None) => {
                self.settle();
                Ok(())
            }
            Err(cause) => {
                let frames = isolated;
                Err(RemoveError { cause, frames })
            }
        }
    }

    /// Takes the frames out of their segment. Returns their share of a slab.
    fn take_out(&mut self, isolated: &Isolated) -> Result<Option<Share<D>>, UnplugError> {
        let Removable { share, .. } = self.removable(isolated)?;
        if let Some(share) = share {
            let asking = Asking::new(self, isolated);
            // SAFETY: frames that are about to leave cannot be removed or aborted by other calls.
            let find = || unsafe { share.find(Descriptor::is_pinned) };
            let pinned = asking.segments.unlocked(find);
            drop(asking);
            if let Some(frame) = pinned {
                return Err(UnplugError::Pinned(Pfn::new(frame)));
            }
        }
        // Check again: others may have removed all other segments.
        let removable = self.removable(isolated)?;
        let Removable {
            position, index, ..
        } = removable;
        let whole = self.all.get(index).frames();
        self.core.splits -= self.snapshot().splits(whole);
        let frames = self.core.hidden.remove(position).frames;
        let Cut { changed, tail } = self.cut(index, frames);
        C::Lookup::update(&mut self.site(), changed);
        for part in [Some(index), tail].into_iter().flatten() {
            let entry = self.all.get(part);
            let left = if entry.is_live() {
                entry.frames()
            } else {
                Frames::NONE
            };
            C::Lookup::shrunk(&mut self.site(), part, left);
            self.core.splits += self.snapshot().splits(left);
        }
        Ok(removable.share)
    }

    fn hidden_position(&self, isolated: &Isolated) -> Option<usize> {
        let hidden = self.core.hidden.as_slice();
        let start = isolated.frames.start().raw();
        let position = hidden.partition_point(|hidden| hidden.frames.start < start);
        let is_it = |hidden: &&Hidden| hidden.serial == isolated.serial;
        hidden.get(position).filter(is_it).map(|_| position)
    }

    /// An isolation that can be removed now.
    fn removable(&self, isolated: &Isolated) -> Result<Removable<D>, UnplugError> {
        let position = self.hidden_position(isolated);
        let position = position.ok_or(UnplugError::StaleToken)?;
        let Hidden { frames, period, .. } = self.core.hidden.as_slice()[position];
        let index = self
            .snapshot()
            .find(frames.start)
            .expect("a segment has them");
        if self.all.get(index).frames() == frames && self.len() == 1 {
            return Err(UnplugError::LastSegment);
        }
        if !self.is_alone() && !period.is_some_and(|period| self.is_over(period)) {
            return Err(UnplugError::Readers);
        }
        Ok(Removable {
            position,
            index,
            share: self.share_of(index, frames),
        })
    }

    fn set_leaving(&mut self, isolated: &Isolated, is_leaving: bool) {
        if let Some(position) = self.hidden_position(isolated) {
            self.core.hidden.as_mut_slice()[position].is_leaving = is_leaving;
        }
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
    /// Like [`isolate`](Self::isolate). Allocates nothing.
    pub fn abort(&mut self, isolated: Isolated) -> Result<(), StaleToken> {
        let Some(position) = self.hidden_position(&isolated) else {
            return Err(StaleToken(isolated));
        };
        let frames = self.core.hidden.as_slice()[position].frames;
        let index = self.snapshot().find(frames.start);
        let index = index.expect("a segment has them");
        let whole = self.all.get(index).frames();
        self.core.splits -= self.snapshot().splits(whole);
        self.core.hidden.remove(position);
        self.core.splits += self.snapshot().splits(whole);
        let host = self.host_in(index, frames).map(|(_, host)| host);
        self.close_host(host, false);
        C::Lookup::update(&mut self.site(), frames);
        self.settle();
        Ok(())
    }

    /// Makes a new token for the isolation that has `frame`, in place of a lost one. The old token
    /// is refused from now on. `None` if the frame is not isolated, or if a call that has dropped
    /// the lock is about to remove it.
    ///
    /// # Cost
    /// O(log n).
    pub fn adopt(&mut self, frame: Pfn) -> Option<Isolated> {
        let hidden = self.core.hidden.as_mut_slice();
        let position = hidden.partition_point(|hidden| hidden.frames.end <= frame.raw());
        let hidden = hidden.get_mut(position)?;
        if !hidden.frames.contains(frame.raw()) || hidden.is_leaving {
            return None;
        }
        let serial = unique();
        hidden.serial = serial;
        let frames = hidden.frames.extent()?;
        Some(Isolated { frames, serial })
    }

    /// Removes frames from their segment. There must be an entry for the part above.
    pub(super) fn cut(&mut self, index: u32, frames: Frames) -> Cut {
        let entry = self.all.get(index);
        let (whole, avail) = (entry.frames(), entry.avail());
        if self.core.started {
            self.core.managed -= avail.meet(frames).checked_len();
        }
        let below = Frames::between(whole.start, frames.start);
        let above = Frames::between(frames.end, whole.end);
        let (mut changed, mut tail) = (frames, None);
        match (below.is_empty(), above.is_empty()) {
            (true, true) => {
                self.core.order.remove(self.all, index);
                self.bury_entry(index);
            }
            (true, false) => entry.shrink(above),
            (false, true) => entry.shrink(below),
            (false, false) => {
                tail = Some(self.split(index, below, above));
                changed.end = whole.end;
            }
        }
        Cut { changed, tail }
    }

    /// Splits a segment. Returns the index of the part above.
    fn split(&mut self, index: u32, below: Frames, above: Frames) -> u32 {
        let entry = self.all.get(index);
        let at = self.take_entry();
        let tail = self.all.get(at);
        tail.copy_from(entry);
        tail.shrink(above);
        entry.shrink(below);
        self.core.order.insert(self.all, at);
        at
    }
}

impl<D, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Drops the descriptors of all segments, at the end of the table.
    pub(crate) fn drop_descriptors(&mut self) {
        debug_assert!(self.is_alone(), "no reader can hold a descriptor");
        let all = Ending(self);
        all.0.drop_some();
    }

    /// Drops all descriptors, unless one panics.
    fn drop_some(&mut self) {
        while let Some(index) = self.core.order.last() {
            self.core.order.remove(self.all, index);
            let entry = self.all.get(index);
            let Some(share) = entry.share() else {
                continue;
            };
            entry.forget_pages();
            // Its drop gives the places back, also after a panic.
            let _places = Places::new(self, Slabs::run_of(&share));
            // SAFETY: descriptors are borrowed from the table, which is mutably borrowed here; no
            // segment has them any more.
            unsafe { Leaving::new(share).drop_all() };
        }
    }
}

/// A table that ends. Its drop continues with the other segments after a panic.
struct Ending<'s, 'a, D, C: Config, const N: usize>(&'s mut Segments<'a, D, C, N>);

impl<D, C: Config, const N: usize> Drop for Ending<'_, '_, D, C, N> {
    fn drop(&mut self) {
        self.0.drop_some();
    }
}

/// The result of a cut.
pub(super) struct Cut {
    /// The frames whose lookups must change.
    changed: Frames,
    /// The index of the part above, if the segment was split.
    tail: Option<u32>,
}

/// An isolation that can be removed: its position in the list, the index of its segment, and its
/// share of a slab.
struct Removable<D> {
    position: usize,
    index: u32,
    share: Option<Share<D>>,
}

/// A valid unplug: the index of its segment, its frames, and the host that leaves with them.
struct Judged {
    index: u32,
    frames: Frames,
    host: Option<Host>,
}

/// Marks an isolation as leaving while the lock is dropped: `adopt` makes no other token for it.
struct Asking<'s, 'a, 'i, D: Descriptor, C: Config, const N: usize> {
    segments: &'s mut Segments<'a, D, C, N>,
    isolated: &'i Isolated,
}

impl<'s, 'a, 'i, D: Descriptor, C: Config, const N: usize> Asking<'s, 'a, 'i, D, C, N> {
    fn new(segments: &'s mut Segments<'a, D, C, N>, isolated: &'i Isolated) -> Self {
        let asking = Self { segments, isolated };
        asking.segments.set_leaving(isolated, true);
        asking
    }
}

impl<D: Descriptor, C: Config, const N: usize> Drop for Asking<'_, '_, '_, D, C, N> {
    fn drop(&mut self) {
        self.segments.set_leaving(self.isolated, false);
    }
}
