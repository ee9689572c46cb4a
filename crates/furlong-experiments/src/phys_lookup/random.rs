//! `random(3)` of the C library, which the measured document called inside its loops.
//!
//! It is glibc's default generator, additive feedback with 31 words of state, and gives the same
//! sequence. As in glibc, each number costs a call that takes and releases a lock. The generator's
//! share of a time is then the same as in the document.

use std::sync::Mutex;

/// Words of state.
const DEGREE: usize = 31;

/// Distance of the second word behind the first.
const SEPARATION: usize = 3;

/// Numbers discarded at the start.
const DISCARDED: usize = 10 * DEGREE;

/// The maximum, 2^31 - 1; the first words are computed modulo it.
const MODULUS: i64 = 0x7fff_ffff;

/// GeneratorState of `random`.
#[derive(Debug)]
pub(super) struct LibraryRandom(Mutex<GeneratorState>);

#[derive(Debug)]
struct GeneratorState {
    words: [u32; DEGREE],
    front: usize,
    rear: usize,
}

impl LibraryRandom {
    /// The state after `srandom(seed)`.
    pub(super) fn new(seed: u32) -> Self {
        let mut words = [0; DEGREE];
        // Seed 0 counts as 1, because 0 would stay 0.
        let mut word = i64::from(seed.max(1).cast_signed());
        for place in &mut words {
            *place = word as u32;
            // C's remainder of a negative number is negative, and is moved into the range.
            word = (16807 * word) % MODULUS;
            word += if word < 0 { MODULUS } else { 0 };
        }
        let mut state = GeneratorState {
            words,
            front: SEPARATION,
            rear: 0,
        };
        for _ in 0..DISCARDED {
            state.next();
        }
        Self(Mutex::new(state))
    }

    /// Draws the next number, below 2^31.
    #[inline(never)]
    pub(super) fn next(&self) -> u32 {
        let state = self.0.lock();
        state.expect("nobody panics with it").next()
    }

    /// The same for an exclusive owner: inlined, and without the lock.
    #[inline]
    pub(super) fn next_alone(&mut self) -> u32 {
        let state = self.0.get_mut();
        state.expect("nobody panics with it").next()
    }
}

impl GeneratorState {
    #[inline]
    fn next(&mut self) -> u32 {
        let sum = self.words[self.front].wrapping_add(self.words[self.rear]);
        self.words[self.front] = sum;
        let after = |place: usize| if place + 1 == DEGREE { 0 } else { place + 1 };
        self.front = after(self.front);
        self.rear = after(self.rear);
        sum >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::LibraryRandom;

    fn first(seed: u32) -> [u32; 4] {
        let random = LibraryRandom::new(seed);
        [random.next(), random.next(), random.next(), random.next()]
    }

    #[test]
    fn the_sequence_is_that_of_the_library() {
        assert_eq!(
            first(1),
            [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915]
        );
        assert_eq!(first(0), first(1));
        // Seeds that are negative as C ints, and the modulus itself.
        assert_eq!(
            first(4_000_000_000),
            [1_111_130_805, 1_380_198_982, 1_306_113_867, 1_557_021_840]
        );
        assert_eq!(
            first(1 << 31),
            [1_336_741_213, 1_210_407_648, 1_447_044_896, 337_392_383]
        );
        assert_eq!(
            first(0x7fff_ffff),
            [1_065_668_062, 2_142_264_300, 1_066_566_375, 1_064_012_770]
        );
    }

    #[test]
    fn with_and_without_the_lock_it_is_the_same() {
        let (shared, mut alone) = (LibraryRandom::new(7), LibraryRandom::new(7));
        for _ in 0..1000 {
            assert_eq!(shared.next(), alone.next_alone());
        }
    }
}
