//! Source of a stream's choices: a seed, or bytes such as a fuzzer supplies.
#![forbid(unsafe_code)]

use crate::Random;

/// A sequence of numbers, each of which decides one choice.
pub trait Choices {
    /// Any number.
    fn next(&mut self) -> u64;

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: u64) -> u64;

    /// True if no input is left: every further number is 0.
    fn is_spent(&self) -> bool;

    /// A random index into `len` elements. `len` is not 0.
    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("it is below a usize")
    }

    /// A random element of `all`, which is not empty.
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }
}

impl Choices for Random {
    fn next(&mut self) -> u64 {
        Self::next(self)
    }

    fn below(&mut self, limit: u64) -> u64 {
        Self::below(self, limit)
    }

    fn is_spent(&self) -> bool {
        false
    }
}

/// Choices read from bytes. Each choice takes as many bytes as its limit needs, so a changed byte
/// changes one choice.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Choices that read `bytes` from the start.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes not yet read.
    #[must_use]
    pub const fn rest(self) -> &'a [u8] {
        self.0
    }

    /// A number of `bytes` bytes, 8 at most. Missing bytes are 0.
    fn number(&mut self, bytes: usize) -> u64 {
        let (read, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        let digits = read.iter().rev();
        digits.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl Choices for Bytes<'_> {
    fn next(&mut self) -> u64 {
        self.number(8)
    }

    fn below(&mut self, limit: u64) -> u64 {
        debug_assert!(limit > 0, "there is no number below 0");
        let bits = u64::BITS - (limit - 1).leading_zeros();
        self.number(bits.div_ceil(8) as usize) % limit
    }

    fn is_spent(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Choices};
    use crate::Random;

    #[test]
    fn a_choice_takes_as_many_bytes_as_its_limit_needs() {
        let mut bytes = Bytes::new(&[3, 255, 1, 2, 7]);
        assert_eq!(bytes.below(1), 0);
        assert_eq!(bytes.below(256), 3);
        assert_eq!(bytes.below(100), 255 % 100);
        assert_eq!(bytes.below(257), 0x0201 % 257);
        assert!(!bytes.is_spent());
        assert_eq!(bytes.next(), 7);
        assert!(bytes.is_spent());
        assert_eq!((bytes.next(), bytes.below(10)), (0, 0));
    }

    #[test]
    fn a_seed_is_never_spent_and_gives_its_own_sequence() {
        fn drawn(mut choices: impl Choices) -> [u64; 3] {
            assert!(!choices.is_spent());
            [choices.next(), choices.below(9), choices.below(u64::MAX)]
        }
        let mut random = Random::new(5);
        let expected = [random.next(), random.below(9), random.below(u64::MAX)];
        assert_eq!(drawn(Random::new(5)), expected);
    }
}
