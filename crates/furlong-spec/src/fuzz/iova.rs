//! Spaces of device addresses.

use furlong::iova::{Boundary, Config, Counts, Custom, Largest, Runs, Standard};
use furlong::rbtree::{Checked, Deferred, Eager};

use super::Held;
use crate::iova::{Geometry, Mix, Model, Operation, Outcome, Promise, SpaceSubject, chosen};
use crate::{Bytes, Choices, Subject, judge};

/// Runs all operations on any arm in any small space. Compares the reserved extents after each
/// operation.
///
/// # Errors
/// The first operation with a wrong outcome, or after which an invariant is broken.
pub fn iova(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    let space = geometry(&mut choices);
    match choices.below(7) {
        0 => arm::<Standard>(space, Promise::Looks(0), choices),
        1 => arm::<Custom<Largest, Eager>>(space, Promise::Looks(0), choices),
        2 => arm::<Custom<Largest, Deferred>>(space, Promise::Looks(0), choices),
        3 => arm::<Custom<Runs<4>, Checked>>(space, Promise::Looks(4), choices),
        4 => arm::<Custom<Counts<4>, Checked>>(space, Promise::Looks(0), choices),
        5 => arm::<Custom<Boundary<2>, Checked>>(space, Promise::Bounded(2), choices),
        _ => {
            let room = choices.index(9);
            let subject = SpaceSubject::<Standard, _>::with_room(space, room);
            let model = Model::new(space, Promise::Looks(0)).with_room(room);
            agree(space, choices, subject, model)
        }
    }
}

/// Up to 64 granules at the beginning of the 64-bit range, at its end, or between.
pub(super) fn geometry(choices: &mut impl Choices) -> Geometry {
    let granules = 1 + choices.index(64);
    let granule = 1_u64 << choices.pick(&[0, 1, 12, 58]);
    match choices.below(3) {
        0 => Geometry::low(granules, granule),
        1 => Geometry::high(granules, granule),
        _ => Geometry {
            start: choices.below(1 << 16) << 12,
            granule: granule.min(1 << 12),
            granules,
        },
    }
}

fn arm<C: Config>(space: Geometry, promise: Promise, choices: Bytes<'_>) -> Held {
    let subject = SpaceSubject::<C>::new(space);
    agree(space, choices, subject, Model::new(space, promise))
}

fn agree<S>(space: Geometry, mut choices: Bytes<'_>, mut subject: S, mut model: Model) -> Held
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let mix = choices.pick(&[Mix::Growing, Mix::Steady, Mix::Shrinking]);
    let stream = chosen(space, mix, choices);
    let stream = stream.flat_map(|operation| [operation, Operation::Reserved]);
    let judged = judge(&mut model, &mut subject, stream);
    judged.map_err(|error| format!("{space:?}: {error}"))
}
