//! Operations that change nothing.

use super::super::operation::{Name, Operation, Outcome, Refusal};
use super::frame::{Frame, len};
use super::{Answer, Model};

impl Model {
    pub(super) fn ask(&self, operation: &Operation) -> Answer {
        Ok(match operation {
            Operation::Find(frame) => self.place(*frame, true),
            Operation::Page(frame) => Outcome::Number(self.has_page(*frame).then_some(*frame)),
            Operation::FrameIn(name, frame) => self.frame_in(*name, *frame)?,
            Operation::Locate(frame) => self.place(*frame, false),
            Operation::First => Outcome::Segment(self.segments.first().map(|first| first.name)),
            Operation::Last => Outcome::Segment(self.segments.last().map(|last| last.name)),
            Operation::Next(name) => self.beside(*name, 1)?,
            Operation::Prev(name) => self.beside(*name, -1)?,
            Operation::Get(name) => Outcome::Shown(self.get(*name)?.clone()),
            Operation::List => Outcome::All(self.segments.clone()),
            Operation::Isolations => {
                let mut held: Vec<_> = self.held.iter().flatten().cloned().collect();
                held.sort_by_key(|held| held.start);
                Outcome::Stretches(held)
            }
            Operation::Descriptors => {
                let made = self.frames.iter().filter(|frame| frame.made).count();
                Outcome::Number(Some(made as u64))
            }
            Operation::Highest => {
                Outcome::Number(self.segments.last().map(|last| last.frames.end - 1))
            }
            Operation::AvailEdges => {
                let avail = self.segments.iter().map(|segment| &segment.avail);
                let mut avail = avail.filter(|avail| !avail.is_empty());
                let first = avail.next();
                let last = avail.next_back().or(first);
                let edges = first.zip(last);
                Outcome::Edges(edges.map(|(first, last)| (first.start, last.end - 1)))
            }
            Operation::Managed => Outcome::Number(Some(self.managed())),
            _ => unreachable!("all others change something"),
        })
    }

    fn beside(&self, name: Name, step: isize) -> Answer {
        self.get(name)?;
        let is_it = |segment: &super::Shown| segment.name == name;
        let position = self.segments.iter().position(is_it);
        let beside = position.and_then(|position| position.checked_add_signed(step));
        let found = beside.and_then(|position| self.segments.get(position));
        Ok(Outcome::Segment(found.map(|segment| segment.name)))
    }

    fn place(&self, frame: u64, seen: bool) -> Outcome {
        let owner = self.frame(frame).owner;
        let owner = owner.filter(|_| !seen || self.sees(frame));
        let segment = owner.and_then(|owner| self.get(owner).ok());
        Outcome::Place(segment.map(|segment| (segment.name, frame - segment.frames.start)))
    }

    /// True if lookups find a frame.
    fn sees(&self, frame: u64) -> bool {
        let Frame {
            owner, isolated, ..
        } = self.frame(frame);
        self.started && owner.is_some() && !isolated
    }

    pub(super) fn has_page(&self, frame: u64) -> bool {
        self.sees(frame) && self.frame(frame).made
    }

    fn frame_in(&self, name: Name, frame: u64) -> Answer {
        if name >= self.named {
            return Err(Refusal::Stale(name));
        }
        let is_its = self.has_page(frame) && self.frame(frame).owner == Some(name);
        Ok(Outcome::Number(is_its.then_some(frame)))
    }

    pub(super) fn managed(&self) -> u64 {
        let all = self.segments.iter().map(|segment| len(&segment.avail));
        if self.started { all.sum() } else { 0 }
    }
}
