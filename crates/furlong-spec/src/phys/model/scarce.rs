//! The model as a judge of tables with little memory, and of the memory that a hosted range needs.

use super::super::operation::{Operation, Outcome, Refusal};
use super::Model;
use crate::compare::agree;
use crate::{Judge, Subject};

/// The number of segments that need no memory at boot.
const STATIC: usize = 4;

/// A donation of this many bytes is enough memory for the rest of a stream.
const ENOUGH: usize = 1 << 22;

/// The source of a table's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// The heap, which never runs out.
    Heap,
    /// Donations that may run out.
    Little,
    /// Donations that suffice.
    Enough,
}

impl Model {
    /// The same for a table without a heap, which has only the memory given to it.
    #[must_use]
    pub fn without_heap(mut self) -> Self {
        self.memory = Memory::Little;
        self
    }

    /// True if a refusal is allowed although the model expected another outcome.
    fn may_refuse(&self, operation: &Operation, expected: &Outcome, refusal: &Refusal) -> bool {
        if let (
            Refusal::Bookkeeping(hosting),
            Operation::Unplug(frames) | Operation::Isolate(_, frames),
        ) = (refusal, operation)
        {
            // The model does not know which other bookkeeping the table has put there.
            return self.memory != Memory::Heap && self.goes_with(frames).as_ref() == Some(hosting);
        }
        if self.memory != Memory::Little || !matches!(refusal, Refusal::NoMemory | Refusal::Full(_))
        {
            return false;
        }
        let is_granted = !matches!(expected, Outcome::Refused(_));
        match operation {
            Operation::Plug { .. } => is_granted && (self.started || self.is_crowded()),
            // The table allocates before it removes frames, and only the removal notices a pin.
            Operation::Unplug(_) if self.started => {
                is_granted || matches!(expected, Outcome::Refused(Refusal::Pinned(_)))
            }
            Operation::Unplug(_) | Operation::StealForced(_) => is_granted && self.is_crowded(),
            Operation::Isolate(..) | Operation::Start | Operation::Make(_) => is_granted,
            _ => false,
        }
    }

    /// True if another segment needs memory.
    fn is_crowded(&self) -> bool {
        self.segments.len() >= STATIC
    }

    /// Steals from free lists with the outcome found in mind: the table may have passed over a
    /// segment that it had no memory to split.
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
        agree(expected, found)
    }
}
