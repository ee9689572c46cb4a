//! What an arm of `vmspace-index` is where only the index is raced.
#![forbid(unsafe_code)]

use super::work::Work;
use furlong_lab::model::Failure;

/// Bytes from the first to the last, which is inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl Span {
    /// `len` bytes, which are not none.
    #[must_use]
    pub const fn of_len(first: u64, len: u64) -> Self {
        let last = first + (len - 1);
        Self { first, last }
    }

    /// Bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub const fn len(self) -> u64 {
        self.last - self.first + 1
    }

    /// What an iteration adds up for it.
    #[inline(always)]
    #[must_use]
    pub const fn mixed(self, value: u32) -> u64 {
        (self.first ^ self.last).wrapping_add(value as u64)
    }
}

/// Areas, each with a number, in order of their addresses, of which no two overlap: one side of a
/// race. An arm is written as its users would write it.
pub trait AreaIndex: Sized {
    /// Without areas.
    fn new() -> Self;

    /// Makes a span, in which nothing is, an area.
    fn store(&mut self, span: Span, value: u32);

    /// Takes an area out; its number.
    fn erase(&mut self, span: Span) -> Option<u32>;

    /// The number of the area that has an address.
    fn find(&self, address: u64) -> Option<u32>;

    /// The numbers of the areas that have these addresses, added up; an address without an area
    /// counts nothing.
    fn look_up(&self, addresses: &[u64]) -> u64 {
        let values = addresses
            .iter()
            .map(|address| self.find(*address).map_or(0, |value| u64::from(value) + 1));
        values.fold(0, u64::wrapping_add)
    }

    /// Goes through all areas in order, and adds up what [`Span::mixed`] gives for each.
    fn sum(&self) -> u64;

    /// A copy.
    fn duplicate(&self) -> Self;

    /// A copy without the areas of which `keeps` says no, which goes through all in order.
    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self;

    /// Where the lowest `len` bytes of `window` begin that are in no area.
    fn lowest(&self, window: Span, len: u64) -> Option<u64>;

    /// Where the highest ones begin.
    fn highest(&self, window: Span, len: u64) -> Option<u64>;

    /// Where the lowest or the highest places of some lengths in some windows begin; MAX for none.
    fn search(&self, gaps: &[(Span, u64)], lowest: bool, starts: &mut [u64]) {
        for ((window, len), found) in gaps.iter().zip(starts) {
            let gap = if lowest {
                self.lowest(*window, *len)
            } else {
                self.highest(*window, *len)
            };
            *found = gap.unwrap_or(u64::MAX);
        }
    }

    /// What the index has counted so far, where it counts.
    fn work(&self) -> Work {
        Work::default()
    }

    /// Bytes that the index has now, where they are counted.
    fn bytes(&self) -> u64 {
        0
    }

    /// Walks whatever can be checked.
    ///
    /// # Errors
    /// What is broken.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }
}
