//! Stealing frames at boot, before there is a page allocator.
#![forbid(unsafe_code)]

use crate::addr::Pfn;
use crate::phys::{Config, Descriptor, Frames, Node, SegmentId, Segments, StealError};

impl<D: Descriptor, C: Config, const N: usize> Segments<'_, D, C, N> {
    /// Takes an available frame from the edge of a segment: from its front, otherwise from its
    /// back. A segment that loses its last frame is gone.
    ///
    /// # Errors
    /// [`StealError`]; nothing has changed.
    pub fn steal(&mut self, id: SegmentId) -> Result<Pfn, StealError> {
        let (frames, avail) = self.stealable(id)?;
        if avail.start == frames.start {
            self.take_frame(id, avail.start)
        } else if avail.end == frames.end {
            self.take_frame(id, avail.end - 1)
        } else {
            Err(StealError::Nothing)
        }
    }

    /// Takes the first available frame of a segment, also from its middle. The frames below and
    /// above stay in the table.
    ///
    /// # Errors
    /// [`StealError`]; nothing has changed.
    pub fn steal_forced(&mut self, id: SegmentId) -> Result<Pfn, StealError> {
        let (_, avail) = self.stealable(id)?;
        self.take_frame(id, avail.start)
    }

    /// Takes a frame from the first free list that has one: from an edge if possible, otherwise
    /// from the middle of a segment.
    ///
    /// # Errors
    /// [`StealError`]; nothing has changed.
    pub fn steal_from(&mut self, lists: &[Node]) -> Result<Pfn, StealError> {
        if self.core.started {
            return Err(StealError::Started);
        }
        let mut why = StealError::Nothing;
        for list in lists {
            for steal in [Self::steal, Self::steal_forced] {
                let mut next = self.first();
                while let Some(id) = next {
                    next = self.next(id).ok().flatten();
                    if self.all.get(id.index).node() != *list {
                        continue;
                    }
                    match steal(self, id) {
                        Ok(frame) => return Ok(frame),
                        Err(StealError::Nothing) => {}
                        Err(other) => why = other,
                    }
                }
            }
        }
        Err(why)
    }

    fn stealable(&self, id: SegmentId) -> Result<(Frames, Frames), StealError> {
        if self.core.started {
            return Err(StealError::Started);
        }
        let entry = self.all.resolve(id).ok_or(StealError::Stale(id))?;
        if entry.avail().is_empty() {
            return Err(StealError::Nothing);
        }
        Ok((entry.frames(), entry.avail()))
    }

    fn take_frame(&mut self, id: SegmentId, frame: u64) -> Result<Pfn, StealError> {
        if self.all.get(id.index).frames().len() == 1 && self.len() == 1 {
            return Err(StealError::LastFrame);
        }
        let one = Frames::between(frame, frame + 1);
        let splits = self.splits(id.index, one);
        if splits && self.reserve_entries(1).is_err() {
            return Err(StealError::NoMemory);
        }
        self.cut(id.index, one);
        Ok(Pfn::new(frame))
    }
}
