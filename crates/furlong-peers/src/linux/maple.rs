//! Linux's maple tree as an index of areas.

use furlong_experiments::vmspace_index::{AreaIndex, SharedIndex, Span};
use furlong_lab::model::Failure;

use super::library::{Library, RawAreas, library};

/// Areas in a maple tree that stores its gaps.
pub struct Areas<const IS_SHARED: bool> {
    linux: &'static Library,
    raw: &'static RawAreas,
}

/// Readers without a lock, beside writers that take the tree's: as in `mm`.
pub type SharedAreas = Areas<true>;

/// One owner, without a lock.
pub type OwnedAreas = Areas<false>;

/// The message of an impossible failure: the caller has checked.
const THERE: &str = "the library is there";
const MEMORY: &str = "there is memory";

/// The result that means no gap. No gap begins there.
const NOWHERE: u64 = u64::MAX;

/// The library's result is the number plus one.
fn number(found: u64) -> Option<u32> {
    let number = found.checked_sub(1)?;
    Some(u32::try_from(number).expect("it was put in as such a number"))
}

impl<const IS_SHARED: bool> Areas<IS_SHARED> {
    /// Wraps a copy. Panics if there was no memory for it.
    fn copied(&self, copy: Option<&'static RawAreas>) -> Self {
        Self {
            raw: copy.expect(MEMORY),
            ..*self
        }
    }

    #[inline]
    fn put(&self, span: Span, value: u32) {
        let stored = (self.linux.maple.store)(self.raw, span.first, span.last, value);
        assert!(stored, "{MEMORY}");
    }

    #[inline]
    fn take(&self, span: Span) -> Option<u32> {
        number((self.linux.maple.erase)(self.raw, span.first))
    }

    /// The lowest or highest gap. The lock is held.
    #[inline]
    fn gap(&self, window: Span, len: u64, lowest: bool) -> u64 {
        (self.linux.maple.gap)(self.raw, window.first, window.last, len, lowest)
    }

    #[inline]
    fn place(&self, window: Span, len: u64, lowest: bool) -> Option<u64> {
        (self.linux.maple.lock)(self.raw);
        let gap = self.gap(window, len, lowest);
        (self.linux.maple.unlock)(self.raw);
        (gap != NOWHERE).then_some(gap)
    }
}

impl<const IS_SHARED: bool> Drop for Areas<IS_SHARED> {
    fn drop(&mut self) {
        (self.linux.maple.drop)(self.raw);
    }
}

impl<const IS_SHARED: bool> AreaIndex for Areas<IS_SHARED> {
    fn new() -> Self {
        let linux = library().expect(THERE);
        let raw = (linux.maple.new)(IS_SHARED);
        Self {
            linux,
            raw: raw.expect(MEMORY),
        }
    }

    #[inline]
    fn store(&mut self, span: Span, value: u32) {
        self.put(span, value);
    }

    #[inline]
    fn erase(&mut self, span: Span) -> Option<u32> {
        self.take(span)
    }

    #[inline]
    fn find(&self, address: u64) -> Option<u32> {
        number((self.linux.maple.find)(self.raw, address))
    }

    #[inline]
    fn look_up(&self, addresses: &[u64]) -> u64 {
        self.linux.maple.look_up(self.raw, addresses)
    }

    fn sum(&self) -> u64 {
        (self.linux.maple.sum)(self.raw)
    }

    fn duplicate(&self) -> Self {
        self.copied(self.linux.maple.duplicate(self.raw))
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        self.copied(self.linux.maple.duplicate_part(self.raw, &keeps))
    }

    #[inline]
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        self.place(window, len, true)
    }

    #[inline]
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        self.place(window, len, false)
    }

    /// Takes the lock once for all searches, as our arm does.
    fn search(&self, gaps: &[(Span, u64)], lowest: bool, starts: &mut [u64]) {
        (self.linux.maple.lock)(self.raw);
        for ((window, len), found) in gaps.iter().zip(starts) {
            *found = self.gap(*window, *len, lowest);
        }
        (self.linux.maple.unlock)(self.raw);
    }
}

impl SharedIndex for SharedAreas {
    type Reader<'a>
        = ()
    where
        Self: 'a;

    fn reader(&self) {}

    #[inline]
    fn find(&self, (): &(), address: u64) -> Option<u32> {
        AreaIndex::find(self, address)
    }

    fn store(&self, span: Span, value: u32) {
        self.put(span, value);
    }

    fn erase(&self, span: Span) -> Option<u32> {
        self.take(span)
    }

    fn settled(&self) -> Result<u64, Failure> {
        Ok(self.sum())
    }
}
