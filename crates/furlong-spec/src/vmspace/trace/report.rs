//! What a replay has shown.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt;

use furlong::addr::VirtAddr;
use furlong::vmspace::FaultError;

use super::{Answer, Class};

/// An answer that differs from the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the trace.
    pub line: u32,
    /// What was asked for.
    pub class: Class,
    /// How it differs.
    pub kind: Kind,
}

/// How an answer differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A fault that the kernel has seen finds nothing.
    Fault(VirtAddr, FaultError),
    /// The place that the kernel has chosen is not free, or not to be had.
    Place(VirtAddr, i32),
    /// Another answer.
    Answer {
        /// The kernel's.
        expected: Answer,
        /// The subject's.
        found: Answer,
    },
    /// Nobody has said where the heap begins.
    UnknownHeap,
}

impl Kind {
    /// Its name, without addresses.
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

/// What a replay has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How often each class of operation was carried out.
    pub carried_out: BTreeMap<Class, u64>,
    /// Answers that were compared with the kernel's.
    pub compared: u64,
    /// Mappings whose place was chosen, and those of which the subject would have chosen the same.
    pub choices: (u64, u64),
    /// The most areas that one space had.
    pub areas_max: usize,
    /// Every answer that differs, in the order of the trace.
    pub mismatches: Vec<Mismatch>,
}

impl Report {
    /// How often the answers of a class differ.
    #[must_use]
    pub fn differing(&self, class: Class) -> usize {
        let of_class = |mismatch: &&Mismatch| mismatch.class == class;
        self.mismatches.iter().filter(of_class).count()
    }

    /// The answers that differ by class and kind, each with its lines.
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, count) in &self.carried_out {
            let differing = self.differing(*class);
            writeln!(f, "{class}: {count} carried out, {differing} differ")?;
        }
        let (asked, same) = self.choices;
        writeln!(
            f,
            "places: {asked} chosen by the kernel, {same} of them the subject's own choice"
        )?;
        for ((class, kind), lines) in self.by_kind() {
            let first: Vec<String> = lines.iter().take(5).map(ToString::to_string).collect();
            let more = if lines.len() > first.len() { " .." } else { "" };
            let first = first.join(" ");
            writeln!(f, "{class}: {} x {kind}: lines {first}{more}", lines.len())?;
        }
        Ok(())
    }
}
