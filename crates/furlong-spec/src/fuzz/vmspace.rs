//! Address spaces.

use furlong::maple::{self, Fan, Heap};
use furlong::vmspace::{Atomic, Custom, Direction, Layout, Linux, Maple, Rbtree};

use super::Held;
use crate::vmspace::{Mix, Model, Operation, Outcome, SharedSubject, SpaceSubject, World, chosen};
use crate::{Bytes, Choices, Subject, compare};

/// Three slots a leaf and three children a node.
type Tiny = Maple<maple::Custom<Fan<3, 3, 32>, Heap>>;

/// False: the mode undoes the steps before a failure.
const ATOMIC: bool = false;
const LINUX: bool = true;

/// Runs any arm in either mode in any small world. Compares all areas and the usage counts after
/// each operation.
///
/// # Errors
/// The first operation with a wrong outcome, or after which an invariant is broken.
pub fn vmspace(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    match choices.below(6) {
        0 => agree(SpaceSubject::<Custom<Rbtree, Atomic>>::new, ATOMIC, choices),
        1 => agree(SpaceSubject::<Custom<Rbtree, Linux>>::new, LINUX, choices),
        2 => agree(SpaceSubject::<Custom<Tiny, Atomic>>::new, ATOMIC, choices),
        3 => agree(SpaceSubject::<Custom<Tiny, Linux>>::new, LINUX, choices),
        4 => agree(SharedSubject::<Custom<Tiny, Linux>>::new, LINUX, choices),
        _ => agree(SpaceSubject::<Custom<Maple, Linux>>::new, LINUX, choices),
    }
}

/// Up to 48 pages at the beginning of the 64-bit range, at its end, or between, possibly with
/// limits.
fn world(choices: &mut impl Choices) -> World {
    let pages = 8 + choices.below(41);
    let world = match choices.below(3) {
        0 => World::low(pages),
        1 => World::high(pages, 1 << choices.pick(&[1, 12, 16])),
        _ => World {
            first: 1 + choices.below(1 << 16),
            ..World::low(pages)
        },
    };
    let world = match choices.below(3) {
        0 => world.limits(2 + choices.index(16), 1 + choices.below(pages)),
        _ => world,
    };
    World {
        direction: choices.pick(&[Direction::TopDown, Direction::BottomUp]),
        guard: choices.below(6),
        ..world
    }
}

fn agree<S>(build: impl FnOnce(Layout) -> S, keeps_part: bool, mut choices: Bytes<'_>) -> Held
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    let world = world(&mut choices);
    let mix = choices.pick(&[Mix::Growing, Mix::Steady, Mix::Shrinking]);
    let stream = chosen(world, mix, choices)
        .flat_map(|operation| [operation, Operation::Areas, Operation::Usage]);
    let mut model = Model::new(world, keeps_part);
    let compared = compare(&mut model, &mut build(world.layout()), stream);
    compared.map_err(|error| format!("{world:?}: {error}"))
}
