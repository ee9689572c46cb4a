//! Tables of physical segments.

use furlong::phys::{
    Array, BigFirst, BinarySearch, Branchless, Contiguous, Flat, Linear, Lookup, Tree,
};

use super::Held;
use crate::phys::{Mix, Model, Operation, TableSubject, chosen};
use crate::{Bytes, Choices, judge};

/// First frame and number of frames: a single frame; a few across blocks; within a block. Around
/// the first section; across the border of what one leaf covers; the same towards high frames. At
/// the very end.
const SPACES: [(u64, u64); 7] = [
    (100, 1),
    (62, 4),
    (0, 24),
    (4096 - 24, 64),
    ((1 << 18) - 40, 80),
    ((1 << 28) - 40, 80),
    ((1 << 40) - 64, 64),
];

/// The spaces that a table of pointers can cover with little memory.
const LOW: &[(u64, u64)] = SPACES.split_at(4).0;

/// Upper limit of the number of operations before boot ends.
const BOOT: usize = 16;

/// Runs any arm over one of a few frame ranges. Compares the segments after each operation that
/// changes some, and counts descriptors.
///
/// # Errors
/// The first operation with a wrong outcome, or after which an invariant is broken.
pub fn phys(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    let hosts = Mix {
        hosts: true,
        ..Mix::default()
    };
    match choices.below(9) {
        0 => {
            let (place, model) = space(&SPACES, &mut choices, None);
            agree(TableSubject::direct(), model, hosts, place, choices)
        }
        1 => {
            let (place, model) = space(&SPACES, &mut choices, None);
            let donates = Mix {
                donates: true,
                hosts: choices.below(2) == 0,
            };
            let subject = TableSubject::without_heap();
            agree(subject, model.without_heap(), donates, place, choices)
        }
        2 => of::<Branchless>(None, &SPACES, choices),
        3 => of::<Tree>(None, &SPACES, choices),
        4 => of::<Flat>(None, LOW, choices),
        5 => of::<Array<BinarySearch, 6>>(Some(6), &SPACES, choices),
        6 => of::<Array<Linear, 6>>(Some(6), &SPACES, choices),
        7 => of::<Array<BigFirst, 6>>(Some(6), &SPACES, choices),
        _ => of::<Array<Contiguous, 4>>(Some(1), &SPACES, choices),
    }
}

/// The frames of one of `spaces`, and a model over them.
fn space(
    spaces: &[(u64, u64)],
    choices: &mut impl Choices,
    room: Option<usize>,
) -> ((u64, u64), Model) {
    let (base, frames) = choices.pick(spaces);
    ((base, frames), Model::new(base, frames as usize, room))
}

fn of<L: Lookup>(room: Option<usize>, spaces: &[(u64, u64)], mut choices: Bytes<'_>) -> Held {
    let (place, model) = space(spaces, &mut choices, room);
    let subject = TableSubject::<L>::new();
    agree(subject, model, Mix::default(), place, choices)
}

fn agree<L: Lookup>(
    mut subject: TableSubject<L>,
    mut model: Model,
    mix: Mix,
    (base, frames): (u64, u64),
    mut choices: Bytes<'_>,
) -> Held {
    let start = choices.index(BOOT);
    let stream = chosen(base, frames, start, mix, choices).flat_map(|operation| {
        let after = operation.changes_descriptors();
        let after = after.then_some([Operation::List, Operation::Descriptors]);
        [operation].into_iter().chain(after.into_iter().flatten())
    });
    let judged = judge(&mut model, &mut subject, stream);
    judged.map_err(|error| format!("{frames} frames from {base:#x}: {error}"))
}
