//! The report of a replay.

use std::collections::BTreeMap;
use std::fmt;

use furlong::addr::VirtAddr;
use furlong::vmspace::FaultError;

use super::{Answer, Class};

/// A result that differs from the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Number of its line in the trace.
    pub line: u32,
    /// The class of the operation.
    pub class: Class,
    /// The kind of difference.
    pub kind: Kind,
}

/// A kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fault that succeeded in the kernel finds no usable area.
    Fault(VirtAddr, FaultError),
    /// The place that the kernel chose is not free, or cannot be mapped.
    Place(VirtAddr, i32),
    /// Another result.
    Answer {
        /// The kernel's result.
        expected: Answer,
        /// The subject's result.
        found: Answer,
    },
    /// The trace does not tell the start of the heap.
    UnknownHeap,
}

impl Kind {
    /// Name of the kind, without addresses.
    #[must_use]
    pub fn name(&self) -> String {
        let said =
            |answer: &Answer| answer.map_or_else(|errno| format!("errno {errno}"), |_| "ok".into());
        match self {
            Self::Fault(_, error) => error.to_string(),
            Self::Place(_, errno) => format!("the kernel's place is refused with errno {errno}"),
            Self::Answer { expected, found } => {
                let (kernel, subject) = (said(expected), said(found));
                format!("the kernel says {kernel}, the subject {subject}")
            }
            Self::UnknownHeap => "nobody has said where the heap begins".into(),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.class, self.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |answer: &Answer| match answer {
            Ok(number) => format!("{number:#x}"),
            Err(errno) => format!("errno {errno}"),
        };
        match self {
            Self::Fault(address, _) => write!(f, "at {address}: {}", self.name()),
            Self::Place(address, errno) => {
                write!(
                    f,
                    "the kernel's place {address} is refused with errno {errno}"
                )
            }
            Self::Answer { expected, found } => {
                let (kernel, subject) = (said(expected), said(found));
                write!(f, "the kernel says {kernel}, the subject {subject}")
            }
            Self::UnknownHeap => f.write_str(&self.name()),
        }
    }
}

/// The report of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Counts of the operations carried out, by class.
    pub carried_out: BTreeMap<Class, u64>,
    /// The number of results compared with the kernel's.
    pub compared: u64,
    /// Mappings whose place the kernel chose, and those among them with the same choice by the
    /// subject.
    pub choices: (u64, u64),
    /// The largest number of areas in one space.
    pub areas_max: usize,
    /// All results that differ, in the order of the trace.
    pub mismatches: Vec<Mismatch>,
}

impl Report {
    /// The differing results by class and kind, each with its lines.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<(Class, String), Vec<u32>> {
        let mut kinds: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for mismatch in &self.mismatches {
            let kind = (mismatch.class, mismatch.kind.name());
            kinds.entry(kind).or_default().push(mismatch.line);
        }
        kinds
    }
}
