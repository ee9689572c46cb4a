//! Streams of operations from a seed, or from any other choices: the calls of a program with four
//! threads.
#![forbid(unsafe_code)]

use super::operation::{Operation, THREADS};
use crate::{Choices, Random};

/// A size: mostly small, occasionally of pages, seldom of megabytes.
pub(super) fn size(random: &mut impl Choices) -> usize {
    match random.below(1000) {
        0 => random.index(3 << 20),
        1..12 => random.index(300 << 10),
        12..90 => random.index(16 << 10),
        _ => random.index(1200),
    }
}

/// An alignment: mostly the default.
pub(super) fn align(random: &mut impl Choices) -> usize {
    match random.below(24) {
        0 => 1 << random.below(20),
        1 => 32,
        2 => 64,
        _ => 16,
    }
}

/// A stream that ends when its choices are spent.
#[derive(Clone, Debug)]
struct Stream<C> {
    random: C,
    taken: Vec<bool>,
    ended: [bool; THREADS],
    now: usize,
}

impl<C: Choices> Stream<C> {
    /// An operation on blocks. The stream assumes that nothing is refused; if something was, the
    /// operation has no effect.
    fn block(&mut self) -> Operation {
        let random = &mut self.random;
        let place = random.index(self.taken.len());
        if !self.taken[place] {
            self.taken[place] = true;
            // Rarely a size that is impossible.
            let size = match random.below(5000) {
                0 => usize::MAX - random.index(1 << 20),
                1 => usize::MAX / 2 + random.index(1 << 20),
                _ => size(random),
            };
            let (align, zeroed) = (align(random), random.below(8) == 0);
            return Operation::Allocate {
                place,
                size,
                align,
                zeroed,
            };
        }
        match random.below(12) {
            0..2 => Operation::Resize {
                place,
                size: size(random).max(1),
            },
            2 => Operation::Look(place),
            3 => {
                self.taken[place] = false;
                Operation::FreeSized(place)
            }
            _ => {
                self.taken[place] = false;
                Operation::Free(place)
            }
        }
    }
}

impl<C: Choices> Iterator for Stream<C> {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        if self.random.is_spent() {
            return None;
        }
        let choice = self.random.below(20_000);
        Some(match choice {
            0..600 => {
                self.now = self.random.index(THREADS);
                Operation::Become(self.now)
            }
            600..620 => Operation::Count,
            620..626 => Operation::Trim,
            626..632 => Operation::Follow(self.random.below(2) == 0),
            632..640 => Operation::Fork,
            640..680 if self.ended[self.now] => {
                self.ended[self.now] = false;
                Operation::Begin
            }
            640..650 => {
                self.ended[self.now] = true;
                Operation::End
            }
            _ => self.block(),
        })
    }
}

/// `count` operations of a program with `places` places. The seed is enough to repeat them.
pub fn operations(places: usize, count: usize, seed: u64) -> impl Iterator<Item = Operation> {
    chosen(places, Random::new(seed)).take(count)
}

/// The same operations until the choices are spent.
pub fn chosen<C: Choices>(places: usize, random: C) -> impl Iterator<Item = Operation> + use<C> {
    Stream {
        random,
        taken: vec![false; places],
        ended: [false; THREADS],
        now: 0,
    }
}
