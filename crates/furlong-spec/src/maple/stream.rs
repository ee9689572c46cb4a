//! Streams of operations from a seed, or from any other choices.
#![forbid(unsafe_code)]

use core::iter;

use super::operation::Operation;
use crate::mix::Mix;
use crate::{Choices, Random};

/// `n` operations on indices below `space`, and occasionally on the last index. If `space` is 0, on
/// all indices.
pub fn operations(space: u64, mix: Mix, n: usize, seed: u64) -> impl Iterator<Item = Operation> {
    chosen(space, mix, Random::new(seed)).take(n)
}

/// The same operations until the choices are spent.
pub fn chosen<C: Choices>(
    space: u64,
    mix: Mix,
    mut choices: C,
) -> impl Iterator<Item = Operation> + use<C> {
    iter::from_fn(move || {
        let is_left = !choices.is_spent();
        is_left.then(|| operation(space, mix, &mut choices))
    })
}

fn index(space: u64, random: &mut impl Choices) -> u64 {
    match random.below(32) {
        0 => u64::MAX - random.below(3),
        1 => random.below(3),
        _ if space == 0 => random.next(),
        _ => random.below(space),
    }
}

/// An extent: mostly short, sometimes of any length.
fn extent(space: u64, random: &mut impl Choices) -> (u64, u64) {
    let start = index(space, random);
    if random.below(12) == 0 {
        let other = index(space, random);
        return (start.min(other), start.max(other));
    }
    let longest = if space == 0 { 1 << 58 } else { 1 + space / 24 };
    (start, start.saturating_add(random.below(longest)))
}

fn operation(space: u64, mix: Mix, random: &mut impl Choices) -> Operation {
    let (start, last) = extent(space, random);
    let at = index(space, random);
    let value = random.below(1 << 20) as u32;
    let (adds, removes) = match mix {
        Mix::Growing => (9, 3),
        Mix::Steady => (6, 6),
        Mix::Shrinking => (3, 9),
    };
    let pick = random.below(24);
    if pick < adds {
        return match random.below(3) {
            0 => Operation::Store(start, last, value),
            _ => Operation::Insert(start, last, value),
        };
    }
    if pick < adds + removes {
        return match random.below(6) {
            0 => Operation::EraseRange(start, last),
            _ => Operation::Erase(at),
        };
    }
    let size = 1 + random.below(if space == 0 { 1 << 60 } else { 1 + space / 8 });
    match random.below(12) {
        0 => Operation::Walk(at),
        1 => Operation::Find(at),
        2 => Operation::FindBack(at),
        3 => Operation::Range(start, last),
        4 => Operation::RangeBack(start, last),
        5 => Operation::LargestGap,
        6 | 7 => Operation::LowestGap(size, start, at.max(start)),
        8 | 9 => Operation::HighestGap(size, start, at.max(start)),
        _ => {
            let (low, high) = (random.below(4), random.below(4));
            let to = at.saturating_add(high);
            Operation::Resize(at, at.saturating_sub(low), to)
        }
    }
}
