//! Every arm compared with the model over random streams of all operations, in both modes, anywhere
//! in the 64-bit range.

use std::fmt;
use std::ops::Range;

use furlong::maple::{self, Fan, Heap};
use furlong::vmspace::{Atomic, Config, Custom, Layout, Linux, Maple, Rbtree};

use super::{
    Coverage, Kept, Mix, Model, Operation, Outcome, SharedSubject, SpaceSubject, WORLDS, operations,
};
use crate::{Subject, Through, compare};

/// The number of operations in a stream, each followed by a comparison of the whole state.
const STREAM: usize = 300;

/// Three slots a leaf and three children a node: few areas cause splits, merges and spanning
/// stores.
type Tiny = maple::Custom<Fan<3, 3, 32>, Heap>;

/// An arm under test.
pub struct Trial {
    /// Name of the arm.
    pub name: &'static str,
    run: fn(Range<u64>) -> Result<Coverage, String>,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("name", &self.name).finish()
    }
}

/// All arms in both modes, some with tiny nodes or with lock-free look-ups.
pub const TRIALS: [Trial; 7] = [
    Trial {
        name: "rbtree, atomic",
        run: space::<Custom<Rbtree, Atomic>, ATOMIC>,
    },
    Trial {
        name: "rbtree, linux",
        run: space::<Custom<Rbtree, Linux>, LINUX>,
    },
    Trial {
        name: "maple, atomic",
        run: space::<Custom<Maple, Atomic>, ATOMIC>,
    },
    Trial {
        name: "maple, linux",
        run: space::<Custom<Maple, Linux>, LINUX>,
    },
    Trial {
        name: "maple with tiny nodes, atomic",
        run: space::<Custom<Maple<Tiny>, Atomic>, ATOMIC>,
    },
    Trial {
        name: "maple without a lock, atomic",
        run: |seeds| streams(SharedSubject::<Custom<Maple, Atomic>>::new, ATOMIC, seeds),
    },
    Trial {
        name: "maple without a lock and with tiny nodes, linux",
        run: |seeds| {
            streams(
                SharedSubject::<Custom<Maple<Tiny>, Linux>>::new,
                LINUX,
                seeds,
            )
        },
    },
];

/// False: the mode undoes the steps before a failure.
const ATOMIC: bool = false;
const LINUX: bool = true;

impl Trial {
    /// Compares the arm with the model over streams from `seeds` in every world.
    ///
    /// # Errors
    /// The first divergence, with all that is needed to repeat it.
    pub fn run(&self, seeds: Range<u64>) -> Result<Coverage, String> {
        (self.run)(seeds).map_err(|error| format!("{}: {error}", self.name))
    }
}

fn space<C: Config<Index<Kept>: Default>, const KEEPS_PART: bool>(
    seeds: Range<u64>,
) -> Result<Coverage, String> {
    streams(SpaceSubject::<C>::new, KEEPS_PART, seeds)
}

/// Runs streams of every mix from every seed in every world.
fn streams<S>(
    build: impl Fn(Layout) -> S,
    keeps_part: bool,
    seeds: Range<u64>,
) -> Result<Coverage, String>
where
    S: Subject<Operation = Operation, Outcome = Outcome> + fmt::Debug,
{
    let mut seen = Coverage::default();
    for seed in seeds {
        for world in WORLDS {
            for mix in [Mix::Growing, Mix::Steady, Mix::Shrinking] {
                let stream = operations(world, mix, STREAM, seed)
                    .flat_map(|operation| [operation, Operation::Areas, Operation::Usage]);
                let mut subject = Through::new(build(world.layout()), |operation, outcome| {
                    seen.note(operation, &outcome);
                    outcome
                });
                let compared = compare(&mut Model::new(world, keeps_part), &mut subject, stream);
                compared.map_err(|divergence| {
                    let there = &subject.0;
                    format!("seed {seed}, {mix:?}, {world:?}, {there:?}: {divergence}")
                })?;
            }
        }
    }
    Ok(seen)
}
