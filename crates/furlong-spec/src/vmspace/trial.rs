//! Every arm compared with the model over random streams of all operations, in both modes, anywhere
//! in the 64-bit range.

use std::fmt::Debug;
use std::ops::Range;

use furlong::maple::{self, Fan, Heap};
use furlong::vmspace::{Atomic, Config, Custom, Layout, Linux, Maple, Rbtree};

use super::coverage::{gaps, word};
use super::{
    Kept, Mix, Model, Operation, Outcome, SharedSubject, SpaceSubject, WORLDS, operations,
};
use crate::coverage::kind;
use crate::trial::Run;
use crate::{Coverage, Subject, Through, Trial, compare};

/// The number of operations in a stream, each followed by a comparison of the whole state.
const STREAM: usize = 300;

/// Three slots a leaf and three children a node: few areas cause splits, merges and spanning
/// stores.
type Tiny = Maple<maple::Custom<Fan<3, 3, 32>, Heap>>;

/// All arms in both modes, some with tiny nodes or with lock-free look-ups.
pub const TRIALS: [Trial; 7] = [
    of("rbtree, atomic", space::<Custom<Rbtree, Atomic>, ATOMIC>),
    of("rbtree, linux", space::<Custom<Rbtree, Linux>, LINUX>),
    of("maple, atomic", space::<Custom<Maple, Atomic>, ATOMIC>),
    of("maple, linux", space::<Custom<Maple, Linux>, LINUX>),
    of(
        "maple with tiny nodes, atomic",
        space::<Custom<Tiny, Atomic>, ATOMIC>,
    ),
    of("maple without a lock, atomic", |seeds| {
        streams(SharedSubject::<Custom<Maple, Atomic>>::new, ATOMIC, seeds)
    }),
    of("maple without a lock and with tiny nodes, linux", |seeds| {
        streams(SharedSubject::<Custom<Tiny, Linux>>::new, LINUX, seeds)
    }),
];

/// False: the mode undoes the steps before a failure.
const ATOMIC: bool = false;
const LINUX: bool = true;

const fn of(name: &'static str, run: Run) -> Trial {
    Trial::new(name, run, gaps)
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
    S: Subject<Operation = Operation, Outcome = Outcome> + Debug,
{
    let mut seen = Coverage::default();
    for seed in seeds {
        for world in WORLDS {
            for mix in [Mix::Growing, Mix::Steady, Mix::Shrinking] {
                let stream = operations(world, mix, STREAM, seed)
                    .flat_map(|operation| [operation, Operation::Areas, Operation::Usage]);
                let mut subject = Through::new(build(world.layout()), |operation, outcome| {
                    // These two follow every operation, to compare the whole state.
                    if !matches!(operation, Operation::Areas | Operation::Usage) {
                        seen.note(kind(operation), word(operation, &outcome));
                    }
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
