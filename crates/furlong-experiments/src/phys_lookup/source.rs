//! Sources of frames to look up, and the timed loops.

use super::layout::{Asks, PAGE_BITS};
use super::random::LibraryRandom;

/// A sequence of frames to look up.
pub(super) enum Source<'a, F> {
    /// Drawn beforehand and reused cyclically.
    Beforehand { frames: &'a [F], at: usize },
    /// Drawn inside the loop from the C library's random numbers, as in the document.
    Inside {
        random: Box<LibraryRandom>,
        start: u64,
        end: u64,
    },
}

impl<'a, F: Copy + Into<u64>> Source<'a, F> {
    /// A source of frames that were drawn beforehand.
    pub(super) fn beforehand(frames: &'a [F]) -> Self {
        Self::Beforehand { frames, at: 0 }
    }

    /// A source of addresses as in the document, in bytes.
    pub(super) fn inside(start: u64, end: u64, seed: u64) -> Self {
        let random = Box::new(LibraryRandom::new(seed as u32));
        Self::Inside { random, start, end }
    }

    /// Does `calls` lookups, `batches` times over. Returns the sum of the answers.
    #[inline]
    pub(super) fn ask(
        &mut self,
        batches: u64,
        calls: u64,
        look: impl Fn(u64) -> usize + Copy,
    ) -> usize {
        let mut sum = 0_usize;
        for _ in 0..batches {
            let answers = match self {
                Self::Beforehand { frames, at } => sweep(frames, at, calls, look),
                Self::Inside { random, start, end } => draw(random, *start, *end, calls, look),
            };
            sum = sum.wrapping_add(answers);
        }
        sum
    }

    /// The next key: the index of a frame drawn beforehand, or the frame itself.
    pub(super) fn next_key(&mut self) -> usize {
        match self {
            Self::Beforehand { frames, at } => {
                let key = *at;
                *at = if key + 1 == frames.len() { 0 } else { key + 1 };
                key
            }
            Self::Inside { random, start, end } => {
                (Asks::address(*start, *end, random.next_alone()) >> PAGE_BITS) as usize
            }
        }
    }

    /// Sum of the answers to the next `calls` keys, given the answers by key.
    pub(super) fn expect(&mut self, calls: u64, answers: &[usize]) -> usize {
        let keys = (0..calls).map(|_| self.next_key());
        keys.fold(0, |sum, key| sum.wrapping_add(answers[key]))
    }
}

/// Looks up `calls` frames, from `at` on.
fn sweep<F: Copy + Into<u64>>(
    frames: &[F],
    at: &mut usize,
    calls: u64,
    look: impl Fn(u64) -> usize + Copy,
) -> usize {
    let mut sum = 0_usize;
    let mut left = calls;
    while left > 0 {
        let stretch = left.min((frames.len() - *at) as u64);
        let end = *at + stretch as usize;
        sum = sum.wrapping_add(stroll(&frames[*at..end], look));
        *at = if end == frames.len() { 0 } else { end };
        left -= stretch;
    }
    sum
}

/// The loop over frames drawn beforehand. Neither a branch nor the next lookup depends on an
/// answer.
///
/// `look` is passed by value. Behind a reference, its captured values would be reloaded after each
/// acquire load of a lookup.
#[inline(never)]
fn stroll<F: Copy + Into<u64>>(frames: &[F], look: impl Fn(u64) -> usize) -> usize {
    let answers = frames.iter().map(|frame| look((*frame).into()));
    answers.fold(0, usize::wrapping_add)
}

/// The document's loop.
#[inline(never)]
fn draw(
    random: &LibraryRandom,
    start: u64,
    end: u64,
    calls: u64,
    look: impl Fn(u64) -> usize,
) -> usize {
    let answers = (0..calls).map(|_| {
        let address = Asks::address(start, end, random.next());
        look(address >> PAGE_BITS)
    });
    answers.fold(0, usize::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn the_answers_are_the_expected_ones() {
        let frames: Vec<u32> = (0..10).map(|frame| 100 + 7 * frame).collect();
        let by_place: Vec<usize> = frames.iter().map(|frame| *frame as usize).collect();
        let mut source = Source::beforehand(&frames);
        let mut expected = Source::beforehand(&frames);
        for calls in [1, 4, 10, 37, 20] {
            let sum = source.ask(3, calls, |frame| frame as usize);
            assert_eq!(sum, expected.expect(3 * calls, &by_place));
        }
        let by_frame: Vec<usize> = (0..1024).map(|frame| frame * frame).collect();
        let mut source = Source::<u32>::inside(2 << 20, 3 << 20, 9);
        let mut expected = Source::<u32>::inside(2 << 20, 3 << 20, 9);
        let sum = source.ask(2, 5000, |frame| (frame * frame) as usize);
        assert_eq!(sum, expected.expect(10_000, &by_frame));
        assert_ne!(sum, expected.expect(10_000, &by_frame));
    }
}
