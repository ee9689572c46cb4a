//! Boot: stealing frames, and its end.

use super::super::operation::{Name, Outcome, Refusal};
use super::{Answer, Model};

impl Model {
    pub(super) fn steal(&mut self, name: Name, forced: bool) -> Answer {
        let frame = self.stealable(name, forced)?;
        self.cut(name, &(frame..frame + 1));
        Ok(Outcome::Number(Some(frame)))
    }

    /// The frame that a steal would take.
    fn stealable(&self, name: Name, forced: bool) -> Result<u64, Refusal> {
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
        Ok(frame)
    }

    /// Steals in the order of the free lists, from the edges of segments first. Passes over a
    /// segment for which `skips` returns true: the table has no memory to split it.
    pub(super) fn steal_from(
        &mut self,
        nodes: &[u32],
        skips: impl Fn(&Self, Name, u64) -> bool,
    ) -> Answer {
        if self.started {
            return Err(Refusal::Started);
        }
        let mut why = Refusal::Nothing;
        for node in nodes {
            for forced in [false, true] {
                let its = self.segments.iter().filter(|one| one.node == *node);
                let names: Vec<Name> = its.map(|segment| segment.name).collect();
                for name in names {
                    match self.stealable(name, forced) {
                        Err(Refusal::Nothing) => {}
                        Err(other) => why = other,
                        Ok(frame) if skips(self, name, frame) => why = Refusal::NoMemory,
                        Ok(_) => return self.steal(name, forced),
                    }
                }
            }
        }
        Err(why)
    }

    pub(super) fn start(&mut self) -> Answer {
        if self.started {
            return Err(Refusal::Started);
        }
        self.started = true;
        self.has_room(None).inspect_err(|_| self.started = false)?;
        let owned = self.frames.iter_mut().filter(|frame| frame.owner.is_some());
        owned.for_each(|frame| frame.made = true);
        Ok(Outcome::Number(Some(self.managed())))
    }
}
