//! Pools of bounce buffers.

use furlong::bounce::{Area, AreaFirst, Order, PoolFirst, ZeroPads};

use super::Held;
use crate::bounce::{
    Mix, Model, Operation, Path, PoolSubject, SmallLockFree, SmallLocked, Tried, chosen, world,
};
use crate::{Bytes, Choices, compare};

/// The number of different worlds.
const WORLDS: u64 = 240;

/// Runs any arm with segments of 4 slots, in any plan: growth, transient blocks, quotas and every
/// constraint. Compares all bytes at the end.
///
/// # Errors
/// The first operation with a wrong outcome, or after which an invariant is broken.
pub fn bounce(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    match choices.below(4) {
        0 => agree::<PoolFirst, SmallLocked>(Path::PoolFirst, choices),
        1 => agree::<PoolFirst, SmallLockFree>(Path::PoolFirst, choices),
        2 => agree::<AreaFirst, SmallLocked>(Path::AreaFirst, choices),
        _ => agree::<AreaFirst, SmallLockFree>(Path::AreaFirst, choices),
    }
}

fn agree<O: Order, A: Area>(path: Path, mut choices: Bytes<'_>) -> Held {
    let world = world(A::SEGMENT, choices.below(WORLDS));
    let mix = choices.pick(&[Mix::Growing, Mix::Steady, Mix::Shrinking]);
    let stream = chosen(&world, mix, choices).chain([Operation::Free, Operation::Bytes]);
    let mut subject = PoolSubject::<Tried<O, A, ZeroPads>>::new(&world);
    let compared = compare(&mut Model::new(&world, path), &mut subject, stream);
    compared.map_err(|error| format!("{:?}: {error}", world.plan))
}
