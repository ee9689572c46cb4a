//! Every arm compared with the model over random streams of all operations, during boot and after
//! it.
#![forbid(unsafe_code)]

use core::ops::Range;

use furlong::phys::{
    Array, BigFirst, BinarySearch, Branchless, Contiguous, Flat, Linear, Lookup, Tree,
};

use super::{Mix, Model, Operation, Outcome, TableSubject, mixed_operations, operations};
use crate::coverage::kind;
use crate::trial::{Gaps, Run};
use crate::{Coverage, Through, Trial, judge};

/// First frame and number of frames of a stream: a single frame; a few across blocks; within a
/// block. Around the first section; over sections; across the border of what one leaf covers. In
/// sections beyond; across the border to high frames; at the very end.
const SPACES: [(u64, u64); 10] = [
    (100, 1),
    (62, 4),
    (0, 24),
    (0, 512),
    (4096 - 160, 512),
    (4096, 3 * 4096),
    ((1 << 18) - 200, 400),
    (1 << 20, 6 * 4096),
    ((1 << 28) - 200, 400),
    ((1 << 40) - 256, 256),
];

/// The spaces that a table of pointers can cover.
const LOW: &[(u64, u64)] = SPACES.split_at(8).0;

/// The number of operations in a stream.
const STREAM: usize = 160;

/// The number of operations before a table without a heap is given enough memory.
const POOR: usize = 120;

/// More bytes than all operations of a stream need.
const PLENTY: usize = 1 << 23;

/// Each kind of operation with the names of the outcomes that it can have.
type Cells = &'static [(&'static str, &'static str)];

/// The cells of every arm.
const ALWAYS: Cells = &[
    ("plug", "done Overlap Avail"),
    ("unplug", "done Unknown Crosses LastSegment Isolated Pinned"),
    (
        "isolate",
        "done NotStarted Held Unknown Crosses LastSegment Isolated",
    ),
    ("remove", "done Held LastSegment Pinned"),
    ("abort", "done Held"),
    ("adopt", "done Unknown"),
    ("start", "some Started"),
    ("steal", "some Started Nothing LastFrame Stale"),
    ("steal-forced", "some Started Nothing LastFrame Stale"),
    ("steal-from", "some Started Nothing LastFrame"),
    ("pin", "done Unknown"),
    ("find", "some none"),
    ("page", "some none"),
    ("frame-in", "some none Stale"),
    ("locate", "some none"),
    ("first", "some none"),
    ("last", "some none"),
    ("next", "some none Stale"),
    ("prev", "some none Stale"),
    ("get", "some Stale"),
    ("set-avail", "done Avail Stale"),
    ("set-hint", "done Hint Stale"),
    ("set-user", "done Stale"),
    ("set-node", "done Stale"),
    ("list", "some none"),
    ("isolations", "some none"),
    ("descriptors", "some"),
    ("highest", "some none"),
    ("avail-edges", "some none"),
    ("managed", "some"),
];

/// The cells of spaces that end with the highest possible frame.
const HIGH: Cells = &[("plug", "Beyond")];

/// The additional cells of arms with hosted ranges.
const HOSTED: Cells = &[
    ("plug-hosted", "some NotStarted Beyond Overlap TooSmall"),
    ("make", "some Unknown"),
    ("unplug", "Bookkeeping"),
    ("isolate", "Bookkeeping"),
];

/// The cells of arms with a limit on the number of segments.
const FULL: Cells = &[
    ("plug", "Full"),
    ("unplug", "Full"),
    ("isolate", "Full"),
    ("start", "Full"),
];

/// The cells of a table with little memory.
const SCARCE: Cells = &[
    ("plug", "Full NoMemory"),
    ("unplug", "Full NoMemory"),
    ("isolate", "NoMemory"),
    ("start", "NoMemory"),
    ("steal-forced", "NoMemory"),
    ("steal-from", "NoMemory"),
    ("donate", "done"),
];

/// Refusals that are rare in a table with little memory.
const SELDOM: Cells = &[("make", "NoMemory")];

const ANY: Gaps = |seen, least| gaps(seen, least, &[ALWAYS]);
const SORTED: Gaps = |seen, least| gaps(seen, least, &[ALWAYS, HIGH]);

/// All arms, and a table without a heap.
pub const TRIALS: [Trial; 9] = [
    Trial::new("direct", direct, |seen, least| {
        gaps(seen, least, &[ALWAYS, HIGH, HOSTED])
    }),
    Trial::new("direct, short of memory", short_of_memory, |seen, least| {
        gaps(seen, least, &[ALWAYS, HIGH, HOSTED, SCARCE])
    }),
    Trial::new("array-branchless", sorted::<Branchless>, SORTED),
    Trial::new("rbtree", sorted::<Tree>, SORTED),
    Trial::new("flat", |seeds| of::<Flat>(None, LOW, seeds), ANY),
    small(
        "array of 6, binary search",
        limited::<Array<BinarySearch, 6>, 6>,
    ),
    small("array of 6, linear", limited::<Array<Linear, 6>, 6>),
    small(
        "array of 6, large ones first",
        limited::<Array<BigFirst, 6>, 6>,
    ),
    small("array of 1", limited::<Array<Contiguous, 4>, 1>),
];

/// An arm with a limit on the number of segments.
const fn small(name: &'static str, run: Run) -> Trial {
    Trial::new(name, run, |seen, least| {
        gaps(seen, least, &[ALWAYS, HIGH, FULL])
    })
}

/// The cells that did not occur `least` times, and those that must not occur. Those of `SELDOM` may
/// occur and need not.
fn gaps(coverage: &Coverage, least: u64, cells: &[Cells]) -> Vec<String> {
    let listed = |cells: Cells| {
        let each = cells.iter();
        each.flat_map(|(kind, outcomes)| outcomes.split(' ').map(|one| (*kind, one)))
    };
    let mut expected: Vec<_> = cells.iter().copied().flat_map(listed).collect();
    let missing = coverage.missing(expected.iter().copied(), least);
    expected.extend(listed(SELDOM));
    [missing, coverage.unexpected(&expected)].concat()
}

fn direct(seeds: Range<u64>) -> Result<Coverage, String> {
    let mix = Mix {
        hosts: true,
        ..Mix::default()
    };
    let stream = |base, space, seed| mixed_operations(base, space, STREAM, seed, mix);
    streams(&SPACES, seeds, TableSubject::direct, plain, stream)
}

fn short_of_memory(seeds: Range<u64>) -> Result<Coverage, String> {
    let stream = |base, space, seed| {
        let poor = Mix {
            // Hosted ranges bring memory with them.
            hosts: seed % 2 == 0,
            donates: seed % 3 > 0,
        };
        let rich = Mix {
            donates: false,
            ..poor
        };
        mixed_operations(base, space, POOR, seed, poor)
            .chain([Operation::Donate(PLENTY)])
            .chain(mixed_operations(base, space, STREAM - POOR, seed + 1, rich))
    };
    let model = |base, space| plain(base, space).without_heap();
    streams(&SPACES, seeds, TableSubject::without_heap, model, stream)
}

fn sorted<L: Lookup>(seeds: Range<u64>) -> Result<Coverage, String> {
    of::<L>(None, &SPACES, seeds)
}

fn limited<L: Lookup, const ROOM: usize>(seeds: Range<u64>) -> Result<Coverage, String> {
    of::<L>(Some(ROOM), &SPACES, seeds)
}

fn of<L: Lookup>(
    room: Option<usize>,
    spaces: &[(u64, u64)],
    seeds: Range<u64>,
) -> Result<Coverage, String> {
    let model = |base, space| Model::new(base, space as usize, room);
    let stream = |base, space, seed| operations(base, space, STREAM, seed);
    streams(spaces, seeds, TableSubject::<L>::new, model, stream)
}

/// The operations tried on an empty table.
const OPENING: [Operation; 6] = [
    Operation::First,
    Operation::Last,
    Operation::List,
    Operation::Isolations,
    Operation::Highest,
    Operation::AvailEdges,
];

/// A model without a limit on pieces.
fn plain(base: u64, space: u64) -> Model {
    Model::new(base, space as usize, None)
}

/// Runs a stream from every seed in every space, and counts descriptors after each change of them.
fn streams<L: Lookup, I: Iterator<Item = Operation>>(
    spaces: &[(u64, u64)],
    seeds: Range<u64>,
    subject: fn() -> TableSubject<L>,
    model: impl Fn(u64, u64) -> Model,
    stream: impl Fn(u64, u64, u64) -> I,
) -> Result<Coverage, String> {
    let mut all = Coverage::default();
    for seed in seeds {
        for (base, space) in spaces.iter().copied() {
            let stream = OPENING.into_iter().chain(stream(base, space, seed));
            let stream = stream.flat_map(|operation| {
                let changes = operation.changes_descriptors();
                [operation]
                    .into_iter()
                    .chain(changes.then_some(Operation::Descriptors))
            });
            let mut counted = Through::new(subject(), |operation: &Operation, outcome: Outcome| {
                all.note(kind(operation), outcome.kind());
                outcome
            });
            judge(&mut model(base, space), &mut counted, stream)
                .map_err(|error| format!("seed {seed}, {space} frames from {base:#x}: {error}"))?;
        }
    }
    Ok(all)
}
