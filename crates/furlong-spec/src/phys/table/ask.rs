//! Operations that change nothing.

use furlong::addr::{Address, Pfn, PhysAddr};
use furlong::phys::{Lookup, SegmentId, Stale};

use super::super::operation::{Name, Operation, Outcome, Refusal};
use super::page::alive;
use super::{Answer, TableSubject, range};

impl<L: Lookup> TableSubject<L> {
    pub(super) fn ask(&self, operation: &Operation) -> Answer {
        match operation {
            Operation::Find(frame) => Ok(self.find(*frame)),
            Operation::Page(frame) => Ok(self.page(*frame)),
            Operation::List => Ok(self.list()),
            _ => self.ask_locked(operation),
        }
    }

    fn ask_locked(&self, operation: &Operation) -> Answer {
        let segments = self.lock();
        Ok(match operation {
            Operation::FrameIn(name, frame) => {
                let id = self.id(*name)?;
                let view = segments.view();
                let page = view.page_of(Pfn::new(*frame));
                let back = page.and_then(|page| view.frame_in(id, page));
                Outcome::Number(back.map(Address::raw))
            }
            Operation::Locate(frame) => self.place(segments.find(Pfn::new(*frame))),
            Operation::First => Outcome::Segment(segments.first().map(|id| self.name(id))),
            Operation::Last => Outcome::Segment(segments.last().map(|id| self.name(id))),
            Operation::Next(name) => self.segment(segments.next(self.id(*name)?), *name)?,
            Operation::Prev(name) => self.segment(segments.prev(self.id(*name)?), *name)?,
            Operation::Get(name) => {
                let segment = segments.get(self.id(*name)?);
                let segment = segment.map_err(|_| Refusal::Stale(*name))?;
                Outcome::Shown(self.shown(&segment))
            }
            Operation::Isolations => Outcome::Stretches(segments.isolated().map(range).collect()),
            Operation::Descriptors => Outcome::Number(Some((alive() - self.alive_before) as u64)),
            Operation::Highest => Outcome::Number(segments.highest_frame().map(Address::raw)),
            Operation::AvailEdges => {
                let edges = segments.avail_edges();
                Outcome::Edges(edges.map(|(first, last)| (first.raw(), last.raw())))
            }
            Operation::Managed => Outcome::Number(Some(segments.managed())),
            _ => unreachable!("all others change something"),
        })
    }

    fn find(&self, frame: u64) -> Outcome {
        let found = self.lock().view().find(Pfn::new(frame));
        if let Some(hosting) = &self.hosting {
            let (read, _) = (hosting.read)(self.table.get(), frame);
            assert_eq!(read, found, "a reader and the writer find the same");
        }
        self.place(found)
    }

    fn page(&self, frame: u64) -> Outcome {
        let segments = self.lock();
        let page = segments.view().page(PhysAddr::new(frame << 12));
        let page = page.map(|page| page.frame.raw());
        if let Some(hosting) = &self.hosting {
            let (_, read) = (hosting.read)(self.table.get(), frame);
            assert_eq!(read, page, "a reader and the writer have the same");
        }
        Outcome::Number(page)
    }

    /// All segments, after a check that the reverse order agrees.
    fn list(&self) -> Outcome {
        let segments = self.lock();
        let all: Vec<_> = segments.iter().map(|one| self.shown(&one)).collect();
        let mut backwards: Vec<_> = segments.iter().rev().map(|one| self.shown(&one)).collect();
        backwards.reverse();
        assert_eq!(all, backwards, "the order is the same from behind");
        assert_eq!(
            (all.len(), all.is_empty()),
            (segments.len(), segments.is_empty())
        );
        Outcome::All(all)
    }

    fn segment(&self, found: Result<Option<SegmentId>, Stale>, name: Name) -> Answer {
        let found = found.map_err(|_| Refusal::Stale(name))?;
        Ok(Outcome::Segment(found.map(|id| self.name(id))))
    }

    fn place(&self, found: Option<(SegmentId, u64)>) -> Outcome {
        Outcome::Place(found.map(|(id, offset)| (self.name(id), offset)))
    }
}
