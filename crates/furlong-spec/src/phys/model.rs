//! The naive model: a sorted list of segments and a map of frames. Every answer examines all of it.
#![forbid(unsafe_code)]

mod ask;
mod boot;
mod frame;
mod hosted;
mod scarce;

use core::ops::Range;

use furlong::phys::FRAME_BITS;

use self::frame::{Frame, inside, len, meet};
use self::scarce::Memory;
use super::operation::{HELD, Name, Operation, Outcome, Refusal, Shown};
use crate::Subject;

/// A sorted list of segments, and a map of the frames in a space.
#[derive(Clone, Debug)]
pub struct Model {
    /// The first frame of the map.
    base: u64,
    frames: Vec<Frame>,
    segments: Vec<Shown>,
    named: usize,
    started: bool,
    held: [Option<Range<u64>>; HELD],
    /// The hosting frames of each hosted range, those removed included.
    hosts: Vec<Range<u64>>,
    /// The maximum number of pieces of the arm; `None` if there is no limit.
    room: Option<usize>,
    memory: Memory,
}

type Answer = Result<Outcome, Refusal>;

impl Model {
    /// An empty table over `count` frames from `base` on, in an arm with room for `room` pieces.
    #[must_use]
    pub fn new(base: u64, count: usize, room: Option<usize>) -> Self {
        Self {
            base,
            frames: vec![Frame::default(); count],
            segments: Vec::new(),
            named: 0,
            started: false,
            held: [const { None }; HELD],
            hosts: Vec::new(),
            room,
            memory: Memory::Heap,
        }
    }

    /// The number of frames in segments.
    #[must_use]
    pub fn population(&self) -> usize {
        self.frames
            .iter()
            .filter(|frame| frame.owner.is_some())
            .count()
    }

    fn frame(&self, frame: u64) -> Frame {
        let at = frame.checked_sub(self.base).map(|at| at as usize);
        at.and_then(|at| self.frames.get(at))
            .copied()
            .unwrap_or_default()
    }

    fn each(&mut self, frames: &Range<u64>, change: impl Fn(&mut Frame)) {
        for frame in frames.clone() {
            change(&mut self.frames[(frame - self.base) as usize]);
        }
    }

    fn get(&self, name: Name) -> Result<&Shown, Refusal> {
        let found = self.segments.iter().find(|segment| segment.name == name);
        found.ok_or(Refusal::Stale(name))
    }

    fn get_mut(&mut self, name: Name) -> Result<&mut Shown, Refusal> {
        let found = self
            .segments
            .iter_mut()
            .find(|segment| segment.name == name);
        found.ok_or(Refusal::Stale(name))
    }

    /// The number of maximal runs of frames of one segment that are not isolated.
    fn pieces(&self) -> usize {
        let seen = |frame: &Frame| frame.owner.filter(|_| !frame.isolated);
        let mut before = None;
        let mut count = 0;
        for now in self.frames.iter().map(seen) {
            count += usize::from(now.is_some() && now != before);
            before = now;
        }
        count
    }

    /// The largest number of pieces after aborting any subset of these isolations.
    fn pieces_to_come(&self, isolations: &[Range<u64>]) -> usize {
        let Some((first, others)) = isolations.split_first() else {
            return self.pieces();
        };
        let mut without = self.clone();
        without.each(first, |frame| frame.isolated = false);
        self.pieces_to_come(others)
            .max(without.pieces_to_come(others))
    }

    /// Refuses if the pieces could exceed the room at any later time. `more` are frames about to be
    /// isolated.
    fn has_room(&self, more: Option<&Range<u64>>) -> Result<(), Refusal> {
        let Some(room) = self.room.filter(|_| self.started) else {
            return Ok(());
        };
        let held = self.held.iter().flatten().chain(more);
        let held: Vec<_> = held.cloned().collect();
        let mut then = self.clone();
        if let Some(more) = more {
            then.each(more, |frame| frame.isolated = true);
        }
        if then.pieces_to_come(&held) > room {
            return Err(Refusal::Full(room));
        }
        Ok(())
    }

    /// Refuses if a plug is impossible.
    fn may_plug(&self, frames: &Range<u64>) -> Result<(), Refusal> {
        if frames.end > 1 << FRAME_BITS {
            return Err(Refusal::Beyond);
        }
        let owner = frames.clone().find_map(|frame| self.frame(frame).owner);
        owner.map_or(Ok(()), |owner| Err(Refusal::Overlap(owner)))
    }

    /// Adds a segment.
    fn add(&mut self, frames: &Range<u64>, avail: Range<u64>, node: u32, user: u64) {
        let name = self.named;
        self.named += 1;
        let made = self.started;
        self.each(frames, |frame| {
            frame.owner = Some(name);
            frame.made = made;
        });
        self.segments.push(Shown {
            name,
            frames: frames.clone(),
            avail,
            node,
            hint: 0,
            user,
        });
        self.segments.sort_by_key(|segment| segment.frames.start);
    }

    fn plug(
        &mut self,
        frames: &Range<u64>,
        avail: Option<&Range<u64>>,
        node: u32,
        user: u64,
    ) -> Answer {
        self.may_plug(frames)?;
        let avail = avail.unwrap_or(frames).clone();
        if !inside(&avail, frames) {
            return Err(Refusal::Avail);
        }
        let before = self.room.map(|_| self.clone());
        self.add(frames, avail, node, user);
        if let Err(full) = self.has_room(None) {
            *self = before.expect("there is a limit");
            return Err(full);
        }
        Ok(Outcome::Done)
    }

    /// The segment that contains these frames, if they may be removed.
    fn owner_of(&self, frames: &Range<u64>) -> Result<Name, Refusal> {
        let owner = self.frame(frames.start).owner;
        let owner = owner.ok_or(Refusal::Unknown(frames.start))?;
        let whole = &self.get(owner)?.frames;
        if !inside(frames, whole) {
            return Err(Refusal::Crosses(owner));
        }
        if whole == frames && self.segments.len() == 1 {
            return Err(Refusal::LastSegment);
        }
        if let Some(hosting) = self.hosting_in(frames) {
            return Err(Refusal::Bookkeeping(hosting));
        }
        let overlaps = |held: &&Range<u64>| !meet(held, frames).is_empty();
        let held = self.held.iter().flatten();
        if let Some(held) = held.filter(overlaps).min_by_key(|held| held.start) {
            return Err(Refusal::Isolated(held.clone()));
        }
        Ok(owner)
    }

    fn shrink(segment: &mut Shown, frames: Range<u64>) {
        let pointed = segment.avail.start + segment.hint;
        let left = meet(&segment.avail, &frames);
        segment.avail = if left.is_empty() {
            let at = left.start.clamp(frames.start, frames.end);
            at..at
        } else {
            left
        };
        let avail = &segment.avail;
        segment.hint = pointed.clamp(avail.start, avail.end) - avail.start;
        segment.frames = frames;
    }

    fn cut(&mut self, owner: Name, frames: &Range<u64>) {
        let position = self
            .segments
            .iter()
            .position(|segment| segment.name == owner);
        let mut lower = self.segments.remove(position.expect("it is there"));
        let above = frames.end..lower.frames.end;
        let below = lower.frames.start..frames.start;
        let mut upper = lower.clone();
        self.each(frames, |frame| *frame = Frame::default());
        if !below.is_empty() {
            Self::shrink(&mut lower, below.clone());
            self.segments.push(lower);
        }
        if !above.is_empty() {
            Self::shrink(&mut upper, above.clone());
            if !below.is_empty() {
                upper.name = self.named;
                self.named += 1;
                let name = upper.name;
                self.each(&above, |frame| frame.owner = Some(name));
            }
            self.segments.push(upper);
        }
        self.segments.sort_by_key(|segment| segment.frames.start);
    }

    fn isolate(&mut self, slot: usize, frames: &Range<u64>) -> Answer {
        if !self.started {
            return Err(Refusal::NotStarted);
        }
        if self.held[slot].is_some() {
            return Err(Refusal::Held);
        }
        self.owner_of(frames)?;
        self.has_room(Some(frames))?;
        self.each(frames, |frame| frame.isolated = true);
        self.held[slot] = Some(frames.clone());
        Ok(Outcome::Done)
    }

    fn remove(&mut self, slot: usize) -> Answer {
        let frames = self.held[slot].take().ok_or(Refusal::Held)?;
        let removed = self.take_out(&frames);
        if removed.is_err() {
            self.held[slot] = Some(frames);
        }
        removed
    }

    fn take_out(&mut self, frames: &Range<u64>) -> Answer {
        let owner = self.owner_of(frames)?;
        if let Some(pinned) = frames.clone().find(|frame| self.frame(*frame).pinned) {
            return Err(Refusal::Pinned(pinned));
        }
        self.cut(owner, frames);
        Ok(Outcome::Done)
    }

    fn unplug(&mut self, frames: &Range<u64>) -> Answer {
        self.owner_of(frames)?;
        self.has_room(Some(frames))?;
        self.take_out(frames)
    }

    fn adopt(&mut self, frame: u64) -> Answer {
        let held = self.held.iter().flatten().any(|held| held.contains(&frame));
        if held {
            Ok(Outcome::Done)
        } else {
            Err(Refusal::Unknown(frame))
        }
    }

    fn abort(&mut self, slot: usize) -> Answer {
        let frames = self.held[slot].take().ok_or(Refusal::Held)?;
        self.each(&frames, |frame| frame.isolated = false);
        Ok(Outcome::Done)
    }

    fn pin(&mut self, frame: u64, pinned: bool) -> Answer {
        if !self.has_page(frame) {
            return Err(Refusal::Unknown(frame));
        }
        self.each(&(frame..frame + 1), |frame| frame.pinned = pinned);
        Ok(Outcome::Done)
    }

    fn set_avail(&mut self, name: Name, avail: &Range<u64>) -> Answer {
        let hosts = avail.clone().any(|frame| self.hosts_something(frame));
        let segment = self.get_mut(name)?;
        if hosts || !inside(avail, &segment.frames) {
            return Err(Refusal::Avail);
        }
        segment.avail = avail.clone();
        segment.hint = segment.hint.min(len(avail));
        Ok(Outcome::Done)
    }

    fn set_hint(&mut self, name: Name, hint: u64) -> Answer {
        let segment = self.get_mut(name)?;
        if hint > len(&segment.avail) {
            return Err(Refusal::Hint(hint));
        }
        segment.hint = hint;
        Ok(Outcome::Done)
    }

    /// Answers an operation. `pages` is the number of hosting pages that the table reported, for a
    /// hosted range.
    fn answer(&mut self, operation: &Operation, pages: Option<u64>) -> Answer {
        match operation {
            Operation::Plug {
                frames,
                avail,
                node,
                user,
            } => self.plug(frames, avail.as_ref(), *node, *user),
            Operation::PlugHosted { frames, spare } => self.plug_hosted(frames, *spare, pages),
            Operation::Make(frame) => self.make(*frame),
            Operation::Unplug(frames) => self.unplug(frames),
            Operation::Isolate(slot, frames) => self.isolate(*slot, frames),
            Operation::Remove(slot) => self.remove(*slot),
            Operation::Abort(slot) => self.abort(*slot),
            Operation::Adopt(frame) => self.adopt(*frame),
            Operation::Start => self.start(),
            Operation::Steal(name) => self.steal(*name, false),
            Operation::StealForced(name) => self.steal(*name, true),
            Operation::StealFrom(nodes) => self.steal_from(nodes, |_, _, _| false),
            Operation::Pin(frame, pinned) => self.pin(*frame, *pinned),
            Operation::SetAvail(name, avail) => self.set_avail(*name, avail),
            Operation::SetHint(name, hint) => self.set_hint(*name, *hint),
            Operation::SetUser(name, user) => {
                self.get_mut(*name)?.user = *user;
                Ok(Outcome::Done)
            }
            Operation::SetNode(name, node) => {
                self.get_mut(*name)?.node = *node;
                Ok(Outcome::Done)
            }
            Operation::Donate(_) => Ok(Outcome::Done),
            _ => self.ask(operation),
        }
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.answer(operation, None)
            .unwrap_or_else(Outcome::Refused)
    }

    fn check(&self) -> Result<(), String> {
        for segment in &self.segments {
            let owned = |frame| self.frame(frame).owner == Some(segment.name);
            if !segment.frames.clone().all(owned) {
                return Err(format!("{segment:?} does not own its frames"));
            }
        }
        Ok(())
    }
}
