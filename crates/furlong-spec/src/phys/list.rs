//! The simple half of the model: a sorted list of segments, for too many frames for a map of
//! frames.
#![forbid(unsafe_code)]

use core::ops::Range;

use furlong::phys::FRAME_BITS;

use super::operation::{Name, Refusal};

/// A sorted list of segments by name. Plugs and splits make segments, which are numbered in that
/// order.
#[derive(Clone, Debug, Default)]
pub struct SortedList {
    segments: Vec<(Range<u64>, Name)>,
    named: Name,
}

impl SortedList {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All segments, in order.
    #[must_use]
    pub fn segments(&self) -> &[(Range<u64>, Name)] {
        &self.segments
    }

    /// Index of the first segment that ends above `frame`.
    fn position(&self, frame: u64) -> usize {
        self.segments
            .partition_point(|(frames, _)| frames.end <= frame)
    }

    fn name_next(&mut self) -> Name {
        self.named += 1;
        self.named - 1
    }

    /// Adds a segment.
    ///
    /// # Errors
    /// [`Refusal::Beyond`]; [`Refusal::Overlap`] with the lowest segment in the way.
    pub fn plug(&mut self, frames: Range<u64>) -> Result<Name, Refusal> {
        if frames.end > 1 << FRAME_BITS {
            return Err(Refusal::Beyond);
        }
        let at = self.position(frames.start);
        match self.segments.get(at) {
            Some((above, name)) if above.start < frames.end => Err(Refusal::Overlap(*name)),
            _ => {
                let name = self.name_next();
                self.segments.insert(at, (frames, name));
                Ok(name)
            }
        }
    }

    /// Removes frames. If two parts of a segment remain, returns the name of the upper one.
    ///
    /// # Errors
    /// [`Refusal::Unknown`], [`Refusal::Crosses`], [`Refusal::LastSegment`].
    pub fn unplug(&mut self, frames: Range<u64>) -> Result<Option<Name>, Refusal> {
        let at = self.position(frames.start);
        let unknown = Refusal::Unknown(frames.start);
        let (whole, name) = self.segments.get(at).cloned().ok_or(unknown.clone())?;
        if frames.start < whole.start {
            return Err(unknown);
        }
        if frames.end > whole.end {
            return Err(Refusal::Crosses(name));
        }
        if frames == whole && self.segments.len() == 1 {
            return Err(Refusal::LastSegment);
        }
        let (below, above) = (whole.start..frames.start, frames.end..whole.end);
        let split = (!below.is_empty() && !above.is_empty()).then(|| self.name_next());
        let parts = [(below, name), (above, split.unwrap_or(name))];
        let parts = parts.into_iter().filter(|(frames, _)| !frames.is_empty());
        self.segments.splice(at..=at, parts);
        Ok(split)
    }

    /// The segment that contains `frame`, and the frame's offset in it.
    #[must_use]
    pub fn find(&self, frame: u64) -> Option<(Name, u64)> {
        let (frames, name) = self.segments.get(self.position(frame))?;
        let offset = frame.checked_sub(frames.start)?;
        Some((*name, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Model, Operation, Outcome, operations};
    use super::SortedList;
    use crate::Subject;

    #[test]
    fn the_list_alone_answers_as_the_list_with_a_map_of_frames_does() {
        let mut answers = 0;
        for seed in 0..200 {
            let mut model = Model::new(0, 300, None);
            model.apply(&Operation::Start);
            let mut list = SortedList::new();
            for operation in operations(0, 300, 200, seed) {
                let (operation, found) = match operation {
                    Operation::Plug { frames, .. } => {
                        let found = list.plug(frames.clone()).map(|_| Outcome::Done);
                        let plug = Operation::Plug {
                            frames,
                            avail: None,
                            node: 0,
                            user: 0,
                        };
                        (plug, found)
                    }
                    Operation::Unplug(frames) => {
                        let found = list.unplug(frames.clone()).map(|_| Outcome::Done);
                        (Operation::Unplug(frames), found)
                    }
                    Operation::Find(frame) => {
                        let found = list.find(frame);
                        (Operation::Find(frame), Ok(Outcome::Place(found)))
                    }
                    _ => continue,
                };
                let found = found.unwrap_or_else(Outcome::Refused);
                assert_eq!(model.apply(&operation), found, "seed {seed}: {operation:?}");
                answers += 1;
            }
        }
        assert!(answers > 10_000, "{answers}");
    }

    #[test]
    fn the_last_frame_that_there_can_be_is_plugged_and_the_next_is_not() {
        let mut list = SortedList::new();
        assert_eq!(list.plug((1 << 40) - 1..1 << 40), Ok(0));
        assert!(list.plug(1 << 40..(1 << 40) + 1).is_err());
        assert_eq!(list.find((1 << 40) - 1), Some((0, 0)));
        assert_eq!(list.find(u64::MAX), None);
    }
}
