//! Spaces of device addresses.

use furlong::iova::{Boundary, Counts, Custom, Runs, Standard};
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
    let looks = |orders| Model::new(space, Promise::Looks(orders));
    match choices.below(7) {
        0 => agree(space, choices, SpaceSubject::<Standard>::new, looks(0)),
        1 => agree(
            space,
            choices,
            SpaceSubject::<Custom<u64, Eager>>::new,
            looks(0),
        ),
        2 => agree(
            space,
            choices,
            SpaceSubject::<Custom<u64, Deferred>>::new,
            looks(0),
        ),
        3 => agree(
            space,
            choices,
            SpaceSubject::<Custom<Runs<4>, Checked>>::new,
            looks(4),
        ),
        4 => agree(
            space,
            choices,
            SpaceSubject::<Custom<Counts<4>, Checked>>::new,
            looks(0),
        ),
        5 => agree(
            space,
            choices,
            SpaceSubject::<Custom<Boundary<2>, Checked>>::new,
            Model::new(space, Promise::Bounded(2)),
        ),
        _ => {
            let room = choices.index(9);
            let build = |space| SpaceSubject::<Standard, _>::with_room(space, room);
            agree(space, choices, build, looks(0).with_room(room))
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

fn agree<S>(
    space: Geometry,
    mut choices: Bytes<'_>,
    build: impl FnOnce(Geometry) -> S,
    mut model: Model,
) -> Held
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let mix = choices.pick(&[Mix::Growing, Mix::Steady, Mix::Shrinking]);
    let stream = chosen(space, mix, choices);
    let stream = stream.flat_map(|operation| [operation, Operation::Reserved]);
    let judged = judge(&mut model, &mut build(space), stream);
    judged.map_err(|error| format!("{space:?}: {error}"))
}
