//! The interface of an arm of `vmspace-index`, for workloads on an index alone.

use super::work::Work;
use furlong_lab::model::Failure;

/// A range of bytes with an inclusive end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub first: u64,
    /// The last byte, inclusive.
    pub last: u64,
}

impl Span {
    /// The span of `len` bytes from `first`; `len` is not 0.
    #[must_use]
    pub const fn of_len(first: u64, len: u64) -> Self {
        let last = first + (len - 1);
        Self { first, last }
    }

    /// Length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub const fn len(self) -> u64 {
        self.last - self.first + 1
    }

    /// The span's contribution to the sum of an iteration.
    #[inline(always)]
    #[must_use]
    pub const fn mixed(self, value: u32) -> u64 {
        (self.first ^ self.last).wrapping_add(value as u64)
    }
}

/// Areas, each with a number, sorted by address, without overlap: one side of a race. An arm is
/// written as its users would write it.
pub trait AreaIndex: Sized {
    /// Makes an empty index.
    fn new() -> Self;

    /// Stores an area over a span that is free.
    fn store(&mut self, span: Span, value: u32);

    /// Erases an area and returns its number.
    fn erase(&mut self, span: Span) -> Option<u32>;

    /// Returns the number of the area that contains an address.
    fn find(&self, address: u64) -> Option<u32>;

    /// Adds up the answers for these addresses: an area's number plus one, or 0 without an area.
    fn look_up(&self, addresses: &[u64]) -> u64 {
        let values = addresses
            .iter()
            .map(|address| self.find(*address).map_or(0, |value| u64::from(value) + 1));
        values.fold(0, u64::wrapping_add)
    }

    /// Iterates over all areas in order, and adds up [`Span::mixed`] of each.
    fn sum(&self) -> u64;

    /// Copies the index.
    fn duplicate(&self) -> Self;

    /// Copies the areas that `keeps` accepts, which sees all in order.
    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self;

    /// Start of the lowest `len` bytes of `window` that are in no area.
    fn lowest(&self, window: Span, len: u64) -> Option<u64>;

    /// Start of the highest ones.
    fn highest(&self, window: Span, len: u64) -> Option<u64>;

    /// Starts of the lowest or the highest places of some lengths in some windows; MAX if there is
    /// none.
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

    /// Counts of the index so far, if it counts.
    fn work(&self) -> Work {
        Work::default()
    }

    /// Current bytes of the index, if they are counted.
    fn bytes(&self) -> u64 {
        0
    }

    /// Checks the invariants, where that is possible.
    ///
    /// # Errors
    /// The broken invariant.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }
}
