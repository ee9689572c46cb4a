//! Operations from a seed.
#![forbid(unsafe_code)]

use furlong::iova::Reserved;

use super::Operation;
use crate::Random;
use crate::mix::Mix;

/// `count` operations on the nodes over `extents`. Equal arguments give equal streams.
pub fn operations(
    extents: &[Reserved],
    mix: Mix,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> + use<> {
    let mut random = Random::new(seed);
    let extents = extents.to_vec();
    (0..count).map(move |_| operation(&extents, mix, &mut random))
}

fn operation(extents: &[Reserved], mix: Mix, random: &mut Random) -> Operation {
    let node = random.index(2 * extents.len());
    let inserts = match mix {
        Mix::Growing => 45,
        Mix::Steady => 30,
        Mix::Shrinking => 15,
    };
    match random.below(100) {
        chance if chance < inserts => match random.below(3) {
            0 => Operation::InsertBefore(node),
            1 => Operation::InsertAfter(node),
            _ => Operation::Insert(node),
        },
        chance if chance < 60 => Operation::Remove(node),
        60..64 => update(extents, node, random),
        64..66 => Operation::RemoveFrom(key(extents, random), random.index(4)),
        66 => Operation::Clear,
        67..70 => Operation::Forward,
        70..73 => Operation::Backward,
        73..78 => Operation::Find(key(extents, random)),
        78..83 => Operation::LowerBound(key(extents, random)),
        83..88 => Operation::UpperBound(key(extents, random)),
        88..90 => Operation::First,
        90..92 => Operation::Last,
        92..95 => Operation::Next(node),
        95..98 => Operation::Prev(node),
        _ => Operation::Summary,
    }
}

/// A key: the last address of an extent, or a number next to it.
fn key(extents: &[Reserved], random: &mut Random) -> u64 {
    (extents[random.index(extents.len())].last + random.below(3)).saturating_sub(1)
}

/// A new start that overlaps no other extent and does not exceed the extent's own last address.
fn update(extents: &[Reserved], node: usize, random: &mut Random) -> Operation {
    let index = node % extents.len();
    let low = index
        .checked_sub(1)
        .map_or(0, |before| extents[before].last + 1);
    Operation::Update(node, low + random.below(extents[index].last + 1 - low))
}
