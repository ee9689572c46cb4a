//! The arms of `lookup` as subjects, by name.

use furlong::phys::{Array, BigFirst, BinarySearch, Branchless, Direct, Flat, Linear, Tree};

use super::driver::{PAGE_BYTES, run};
use super::room;
use super::script::Script;
use crate::replay::outcome::SubjectOutcome;

/// An arm.
#[derive(Debug)]
pub(super) struct Arm {
    /// Its name in the experiment.
    pub(super) name: &'static str,
    /// True if it runs by default.
    pub(super) is_default: bool,
    /// Bytes per frame, up to the highest one.
    bytes_per_address: u64,
    run: fn(&Script) -> SubjectOutcome,
}

const fn arm(name: &'static str, is_default: bool, run: fn(&Script) -> SubjectOutcome) -> Arm {
    Arm {
        name,
        is_default,
        bytes_per_address: 0,
        run,
    }
}

/// All arms; those of the experiment run by default.
pub(super) const ARMS: [Arm; 7] = [
    arm("array", true, run::<Array<BinarySearch>>),
    arm("array-linear", false, run::<Array<Linear>>),
    arm("array-big-first", false, run::<Array<BigFirst>>),
    arm("array-branchless", true, run::<Branchless>),
    arm("rbtree", true, run::<Tree>),
    arm("direct", true, run::<Direct>),
    Arm {
        bytes_per_address: 8,
        ..arm("flat", true, run::<Flat>)
    },
];

impl Arm {
    /// Runs a script, if there is enough memory.
    pub(super) fn run(&self, script: &Script) -> SubjectOutcome {
        let pages = script.frames_max.saturating_mul(PAGE_BYTES);
        let index = script.highest.saturating_mul(self.bytes_per_address);
        let outcome = match room::refusal(pages.saturating_add(index)) {
            None => (self.run)(script),
            na => SubjectOutcome {
                na,
                ..SubjectOutcome::default()
            },
        };
        SubjectOutcome {
            name: self.name.to_owned(),
            ..outcome
        }
    }
}
