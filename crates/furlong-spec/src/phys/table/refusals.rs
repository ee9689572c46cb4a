//! The library's refusals, with names in place of handles.

use furlong::addr::Address;
use furlong::phys::{Lookup, MakeError, PlugError, SetError, StartError, StealError, UnplugError};

use super::super::operation::Refusal;
use super::{TableSubject, range};

impl<L: Lookup> TableSubject<L> {
    pub(super) fn plug_refusal(&self, error: PlugError) -> Refusal {
        match error {
            PlugError::Beyond(_) => Refusal::Beyond,
            PlugError::Overlap(id) => Refusal::Overlap(self.name(id)),
            PlugError::Avail { .. } => Refusal::Avail,
            PlugError::Full(room) => Refusal::Full(room),
            PlugError::NoMemory => Refusal::NoMemory,
            PlugError::TooSmall(_) => Refusal::TooSmall,
            PlugError::NotStarted => Refusal::NotStarted,
            other @ PlugError::Leaving(_) => panic!("{other} although nothing is being removed"),
        }
    }

    pub(super) fn unplug_refusal(&self, error: UnplugError) -> Refusal {
        match error {
            UnplugError::Unknown(frame) => Refusal::Unknown(frame.raw()),
            UnplugError::Crosses(id) => Refusal::Crosses(self.name(id)),
            UnplugError::LastSegment => Refusal::LastSegment,
            UnplugError::Isolated(frames) => Refusal::Isolated(range(frames)),
            UnplugError::Bookkeeping(frames) => Refusal::Bookkeeping(range(frames)),
            UnplugError::NotStarted => Refusal::NotStarted,
            UnplugError::Pinned(frame) => Refusal::Pinned(frame.raw()),
            UnplugError::Full(room) => Refusal::Full(room),
            UnplugError::NoMemory => Refusal::NoMemory,
            other => panic!("{other} where nobody reads and every token is its own"),
        }
    }

    pub(super) fn steal_refusal(&self, error: StealError) -> Refusal {
        match error {
            StealError::Started => Refusal::Started,
            StealError::Nothing => Refusal::Nothing,
            StealError::LastFrame => Refusal::LastFrame,
            StealError::NoMemory => Refusal::NoMemory,
            StealError::Stale(id) => Refusal::Stale(self.name(id)),
        }
    }

    pub(super) fn set_refusal(&self, error: SetError) -> Refusal {
        match error {
            SetError::Stale(id) => Refusal::Stale(self.name(id)),
            SetError::Avail => Refusal::Avail,
            SetError::Hint(hint) => Refusal::Hint(hint),
        }
    }
}

pub(super) fn start_refusal(error: StartError) -> Refusal {
    match error {
        StartError::Started => Refusal::Started,
        StartError::Full(room) => Refusal::Full(room),
        StartError::NoMemory => Refusal::NoMemory,
    }
}

pub(super) fn make_refusal(error: MakeError) -> Refusal {
    match error {
        MakeError::Unknown(frame) => Refusal::Unknown(frame.raw()),
        MakeError::NoMemory => Refusal::NoMemory,
    }
}
