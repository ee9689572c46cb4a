//! The naive model: a sorted list of segments and a map of frames; every answer by looking at all
//! of it.
#![forbid(unsafe_code)]

use core::ops::Range;

use super::operation::{HELD, Name, Operation, Outcome, Refusal, Shown};
use crate::Subject;

/// What is known of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Frame {
    owner: Option<Name>,
    isolated: bool,
    pinned: bool,
}

/// A sorted list, and a map of the frames below a limit.
#[derive(Clone, Debug)]
pub struct Model {
    /// Where the map's frames begin.
    base: u64,
    frames: Vec<Frame>,
    segments: Vec<Shown>,
    named: usize,
    started: bool,
    held: [Option<Range<u64>>; HELD],
    /// How many pieces an arm has room for.
    room: Option<usize>,
}

type Answer = Result<Outcome, Refusal>;

fn inside(part: &Range<u64>, whole: &Range<u64>) -> bool {
    whole.start <= part.start && part.start <= part.end && part.end <= whole.end
}

fn meet(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.max(b.start)..a.end.min(b.end)
}

impl Model {
    /// An empty table over `count` frames from `base` on, in an arm with room for so many pieces.
    #[must_use]
    pub fn new(base: u64, count: usize, room: Option<usize>) -> Self {
        Self {
            base,
            frames: vec![Frame::default(); count],
            segments: Vec::new(),
            named: 0,
            started: false,
            held: [const { None }; HELD],
            room,
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

    /// Stretches of frames of one segment that are not isolated.
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

    fn has_room(&self) -> Result<(), Refusal> {
        match self.room {
            Some(room) if self.started && self.pieces() > room => Err(Refusal::Full(room)),
            _ => Ok(()),
        }
    }

    fn plug(
        &mut self,
        frames: &Range<u64>,
        avail: Option<&Range<u64>>,
        node: u32,
        user: u64,
    ) -> Answer {
        if frames.end > 1 << 40 {
            return Err(Refusal::Beyond);
        }
        let owner = frames.clone().find_map(|frame| self.frame(frame).owner);
        if let Some(owner) = owner {
            return Err(Refusal::Overlap(owner));
        }
        let avail = avail.unwrap_or(frames).clone();
        if !inside(&avail, frames) {
            return Err(Refusal::Avail);
        }
        let before = self.clone();
        let name = self.named;
        self.named += 1;
        self.each(frames, |frame| frame.owner = Some(name));
        self.segments.push(Shown {
            name,
            frames: frames.clone(),
            avail,
            node,
            hint: 0,
            user,
        });
        self.segments.sort_by_key(|segment| segment.frames.start);
        self.has_room().inspect_err(|_| *self = before)?;
        Ok(Outcome::Done)
    }

    /// The segment that may lose these frames.
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
        self.each(frames, |frame| frame.isolated = true);
        if let Err(refusal) = self.has_room() {
            self.each(frames, |frame| frame.isolated = false);
            return Err(refusal);
        }
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
        if self.started {
            self.each(frames, |frame| frame.isolated = true);
            let room = self.has_room();
            self.each(frames, |frame| frame.isolated = false);
            room?;
        }
        self.take_out(frames)
    }

    fn steal(&mut self, name: Name, forced: bool) -> Answer {
        if name >= self.named {
            return Err(Refusal::Stale(name));
        }
        if self.started {
            return Err(Refusal::Started);
        }
        let segment = self.get(name)?;
        let (frames, avail) = (segment.frames.clone(), segment.avail.clone());
        let frame = match () {
            () if avail.is_empty() => return Err(Refusal::Nothing),
            () if forced || avail.start == frames.start => avail.start,
            () if avail.end == frames.end => avail.end - 1,
            () => return Err(Refusal::Nothing),
        };
        if self.population() == 1 {
            return Err(Refusal::LastFrame);
        }
        self.cut(name, &(frame..frame + 1));
        Ok(Outcome::Number(Some(frame)))
    }

    fn steal_from(&mut self, nodes: &[u32]) -> Answer {
        if self.started {
            return Err(Refusal::Started);
        }
        let mut why = Refusal::Nothing;
        for node in nodes {
            for forced in [false, true] {
                let all = self.segments.clone();
                for segment in all.iter().filter(|segment| segment.node == *node) {
                    match self.steal(segment.name, forced) {
                        Err(Refusal::Nothing) => {}
                        Err(other) => why = other,
                        stolen => return stolen,
                    }
                }
            }
        }
        Err(why)
    }

    fn beside(&self, name: Name, step: isize) -> Answer {
        self.get(name)?;
        let position = self
            .segments
            .iter()
            .position(|segment| segment.name == name);
        let beside = position.and_then(|position| position.checked_add_signed(step));
        let found = beside.and_then(|position| self.segments.get(position));
        Ok(Outcome::Segment(found.map(|segment| segment.name)))
    }

    fn place(&self, frame: u64, seen: bool) -> Outcome {
        let Frame {
            owner, isolated, ..
        } = self.frame(frame);
        let owner = owner.filter(|_| !seen || self.started && !isolated);
        let segment = owner.and_then(|owner| self.get(owner).ok());
        Outcome::Place(segment.map(|segment| (segment.name, frame - segment.frames.start)))
    }

    fn managed(&self) -> u64 {
        let avail = |segment: &Shown| segment.avail.end - segment.avail.start;
        let all = self.segments.iter().map(avail).sum();
        if self.started { all } else { 0 }
    }

    fn start(&mut self) -> Answer {
        if self.started {
            return Err(Refusal::Started);
        }
        self.started = true;
        self.has_room().inspect_err(|_| self.started = false)?;
        Ok(Outcome::Number(Some(self.managed())))
    }

    fn answer(&mut self, operation: &Operation) -> Answer {
        Ok(match operation {
            Operation::Plug {
                frames,
                avail,
                node,
                user,
            } => self.plug(frames, avail.as_ref(), *node, *user)?,
            Operation::Unplug(frames) => self.unplug(frames)?,
            Operation::Isolate(slot, frames) => self.isolate(*slot, frames)?,
            Operation::Remove(slot) => self.remove(*slot)?,
            Operation::Abort(slot) => {
                let frames = self.held[*slot].take().ok_or(Refusal::Held)?;
                self.each(&frames, |frame| frame.isolated = false);
                Outcome::Done
            }
            Operation::Start => self.start()?,
            Operation::Steal(name) => self.steal(*name, false)?,
            Operation::StealForced(name) => self.steal(*name, true)?,
            Operation::StealFrom(nodes) => self.steal_from(nodes)?,
            Operation::Pin(frame, pinned) => {
                if self.place(*frame, true) == Outcome::Place(None) {
                    return Err(Refusal::Unknown(*frame));
                }
                self.each(&(*frame..frame + 1), |frame| frame.pinned = *pinned);
                Outcome::Done
            }
            Operation::SetAvail(name, avail) => {
                let segment = self.get_mut(*name)?;
                if !inside(avail, &segment.frames) {
                    return Err(Refusal::Avail);
                }
                segment.avail = avail.clone();
                segment.hint = segment.hint.min(avail.end - avail.start);
                Outcome::Done
            }
            Operation::SetHint(name, hint) => {
                let segment = self.get_mut(*name)?;
                if *hint > segment.avail.end - segment.avail.start {
                    return Err(Refusal::Hint(*hint));
                }
                segment.hint = *hint;
                Outcome::Done
            }
            _ => return self.ask(operation),
        })
    }

    /// What changes nothing.
    fn ask(&self, operation: &Operation) -> Answer {
        Ok(match operation {
            Operation::Find(frame) => self.place(*frame, true),
            Operation::Page(frame) => match self.place(*frame, true) {
                Outcome::Place(Some(_)) => Outcome::Number(Some(*frame)),
                _ => Outcome::Number(None),
            },
            Operation::Locate(frame) => self.place(*frame, false),
            Operation::First => Outcome::Segment(self.segments.first().map(|first| first.name)),
            Operation::Last => Outcome::Segment(self.segments.last().map(|last| last.name)),
            Operation::Next(name) => self.beside(*name, 1)?,
            Operation::Prev(name) => self.beside(*name, -1)?,
            Operation::Get(name) => Outcome::Shown(self.get(*name)?.clone()),
            Operation::List => Outcome::All(self.segments.clone()),
            Operation::Highest => {
                Outcome::Number(self.segments.last().map(|last| last.frames.end - 1))
            }
            Operation::AvailEdges => {
                let avail = self.segments.iter().map(|segment| &segment.avail);
                let mut avail = avail.filter(|avail| !avail.is_empty());
                let first = avail.next();
                let last = avail.next_back().or(first);
                Outcome::Edges(
                    first
                        .zip(last)
                        .map(|(first, last)| (first.start, last.end - 1)),
                )
            }
            Operation::Managed => Outcome::Number(Some(self.managed())),
            _ => unreachable!("all others change something"),
        })
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.answer(operation).unwrap_or_else(Outcome::Refused)
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
