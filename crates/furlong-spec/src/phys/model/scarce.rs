//! The model as a judge: of tables that have little memory, and of what a hosted range needs.
#![forbid(unsafe_code)]

use super::super::operation::{Operation, Outcome, Refusal};
use super::Model;
use crate::{Judge, Subject};

/// Segments for which no memory is needed at boot.
const STATIC: usize = 4;

/// A table that is given so many bytes has memory enough from then on.
const ENOUGH: usize = 1 << 22;

/// Where a table has its memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// The heap, which has enough.
    Heap,
    /// What it is given, which is little.
    Little,
    /// What it was given, which is enough.
    Enough,
}

impl Model {
    /// The same for a table that has no memory but what it is given.
    #[must_use]
    pub fn without_heap(mut self) -> Self {
        self.memory = Memory::Little;
        self
    }

    /// Whether a refusal that the model did not expect can be right.
    fn may_refuse(&self, operation: &Operation, expected: &Outcome, refusal: &Refusal) -> bool {
        if let (
            Refusal::Bookkeeping(hosting),
            Operation::Unplug(frames) | Operation::Isolate(_, frames),
        ) = (refusal, operation)
        {
            // What else has been put there is the table's own business.
            return self.memory != Memory::Heap && self.goes_with(frames).as_ref() == Some(hosting);
        }
        if self.memory != Memory::Little || !matches!(refusal, Refusal::NoMemory | Refusal::Full(_))
        {
            return false;
        }
        let is_granted = !matches!(expected, Outcome::Refused(_));
        match operation {
            Operation::Plug { .. } => is_granted && (self.started || self.is_crowded()),
            // Memory comes first, pins are seen when frames are removed.
            Operation::Unplug(_) if self.started => {
                is_granted || matches!(expected, Outcome::Refused(Refusal::Pinned(_)))
            }
            Operation::Unplug(_) | Operation::StealForced(_) => is_granted && self.is_crowded(),
            Operation::Isolate(..) | Operation::Start | Operation::Make(_) => is_granted,
            _ => false,
        }
    }

    /// Whether another segment takes memory.
    fn is_crowded(&self) -> bool {
        self.segments.len() >= STATIC
    }

    /// Steals from lists as it was found to be done, where a segment may have been passed over for
    /// want of memory to split it.
    fn steal_as_found(&mut self, nodes: &[u32], found: &Outcome) -> Outcome {
        let crowded = self.memory == Memory::Little && self.is_crowded();
        let skips = |model: &Self, name, frame| {
            let splits = model.get(name).is_ok_and(|segment| {
                segment.frames.start < frame && frame + 1 < segment.frames.end
            });
            crowded && splits && *found != Outcome::Number(Some(frame))
        };
        let stolen = self.steal_from(nodes, skips);
        stolen.unwrap_or_else(Outcome::Refused)
    }
}

impl Judge for Model {
    fn judge(&mut self, operation: &Operation, found: &Outcome) -> Result<(), Outcome> {
        let enough = matches!(operation, Operation::Donate(bytes) if *bytes >= ENOUGH);
        if enough && self.memory == Memory::Little {
            self.memory = Memory::Enough;
        }
        if let Outcome::Refused(refusal) = found {
            let expected = self.clone().apply(operation);
            if expected != *found && self.may_refuse(operation, &expected, refusal) {
                return Ok(());
            }
        }
        let expected = match (operation, found) {
            (Operation::StealFrom(nodes), _) => self.steal_as_found(nodes, found),
            (Operation::PlugHosted { .. }, Outcome::Number(pages)) => {
                let answer = self.answer(operation, *pages);
                answer.unwrap_or_else(Outcome::Refused)
            }
            _ => self.apply(operation),
        };
        if expected == *found {
            Ok(())
        } else {
            Err(expected)
        }
    }
}
