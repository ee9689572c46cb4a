//! Linux's allocator of device addresses: its tree as an allocator of extents, and the whole as an
//! allocator that CPUs share.
//!
//! It takes an upper limit and searches down from its last success, so the place is a suitable one,
//! rarely the highest. It counts in pages, here from the first page of the space. If the lowest
//! place is requested, the space is turned upside down.

use furlong::addr::{Address, Extent, Iova};
use furlong_experiments_devices::iova_gap::{AddressAllocator, Ask, PAGE};
use furlong_experiments_devices::iova_magazine::{SharedAllocator, cpu};
use furlong_experiments_devices::traffic::Buffer;
use furlong_lab::model::Failure;

use super::library::{Library, RawDomain, RawPages, library};
use crate::iova::{Offers, Peer};

/// A domain that frees itself when it is dropped.
struct Domain {
    linux: &'static Library,
    raw: &'static RawDomain,
}

impl Domain {
    /// A domain over the pages from the first to the last.
    fn new(first: u64, last: u64, has_magazines: bool) -> Result<Self, Failure> {
        let linux = library()?;
        let raw = (linux.iova.new)(first, last, has_magazines);
        let raw = raw.ok_or_else(|| Failure("there is no memory for the domain".to_owned()))?;
        Ok(Self { linux, raw })
    }

    /// First and last page of each reserved range.
    fn list(&self) -> Vec<[u64; 2]> {
        self.linux.iova.list(self.raw)
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        (self.linux.iova.drop)(self.raw);
    }
}

/// A domain's tree without magazines. If the space is turned, Linux's upper end is the lower end.
pub struct Paged<const IS_TURNED: bool> {
    domain: Domain,
    /// The first byte of the space, and the shift from bytes to pages.
    start: u64,
    shift: u32,
    last: u64,
}

/// Linux's upper end is the upper end.
pub type Straight = Paged<false>;

/// Linux's upper end is the lower end.
pub type Turned = Paged<true>;

/// A reserved range.
#[derive(Clone, Copy)]
pub struct Reached(&'static RawPages);

impl<const IS_TURNED: bool> Paged<IS_TURNED> {
    /// Converts pages from Linux's count to ours, or back.
    fn turned(&self, first: u64, last: u64) -> (u64, u64) {
        match IS_TURNED {
            true => (self.last - last, self.last - first),
            false => (first, last),
        }
    }

    /// The page of a byte.
    fn page(&self, byte: u64) -> u64 {
        (byte - self.start) >> self.shift
    }

    /// The first byte of a page.
    fn byte(&self, page: u64) -> u64 {
        self.start + (page << self.shift)
    }

    fn extent(&self, first: u64, last: u64) -> Result<Extent<Iova>, Failure> {
        let last = self.byte(last) + ((1 << self.shift) - 1);
        let extent = Extent::from_last(Iova::new(self.byte(first)), Iova::new(last));
        extent.ok_or_else(|| Failure("an extent ends before it begins".to_owned()))
    }
}

impl<const IS_TURNED: bool> AddressAllocator for Paged<IS_TURNED> {
    type Grant = Reached;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        let (start, shift) = (space.start().raw(), granule.trailing_zeros());
        let last = (space.last().raw() - start) >> shift;
        // Page numbers above the last one mark the end of the search.
        if last >= u64::MAX - 1 {
            return Err(Failure("it cannot have so many pages".to_owned()));
        }
        Ok(Self {
            domain: Domain::new(0, last, false)?,
            start,
            shift,
            last,
        })
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<Reached> {
        let [first, last] = [extent.start(), extent.last()].map(|at| self.page(at.raw()));
        let (first, last) = self.turned(first, last);
        let reserved = (self.domain.linux.iova.reserve_at)(self.domain.raw, first, last);
        reserved.map(Reached)
    }

    /// Reserves an extent. Linux aligns it to its size, rounded up to a power of two, or not at
    /// all.
    #[inline(always)]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Reached)> {
        let (pages, align) = (ask.size >> self.shift, ask.align >> self.shift);
        if align > 1 && pages.checked_next_power_of_two()? < align {
            return None;
        }
        let limit = match IS_TURNED {
            true => self
                .last
                .checked_sub(ask.low.saturating_sub(self.start) >> self.shift)?,
            false => (ask.high.checked_sub(self.start)? >> self.shift).min(self.last),
        };
        let linux = &self.domain.linux.iova;
        let found = (linux.reserve)(self.domain.raw, pages, limit, align > 1)?;
        let first = (linux.first)(found);
        let (first, _) = self.turned(first, first + (pages - 1));
        Some((self.byte(first), Reached(found)))
    }

    #[inline(always)]
    fn release(&mut self, grant: Reached) {
        (self.domain.linux.iova.release)(self.domain.raw, grant.0);
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let listed = self.domain.list().into_iter();
        let extents = listed.map(|[first, last]| {
            let (first, last) = self.turned(first, last);
            self.extent(first, last)
        });
        let mut extents = extents.collect::<Result<Vec<_>, _>>()?;
        extents.sort_unstable_by_key(Extent::start);
        Ok(extents)
    }
}

impl<const IS_TURNED: bool> Peer for Paged<IS_TURNED> {
    const OFFERS: Offers = Offers {
        reserved: true,
        ..Offers::ANY_PLACE
    };
}

/// A domain that CPUs share, with or without magazines for the sizes for which Linux has them. As
/// in Linux nobody owns its first page, so 0 is not a valid grant.
pub(super) struct SharedDomain<const HAS_MAGAZINES: bool> {
    domain: Domain,
    last: u64,
}

/// Reserved pages, and their node in the tree if they come from it directly.
#[derive(Clone, Copy)]
pub(super) struct SharedGrant {
    first: u64,
    pages: u64,
    reached: Option<Reached>,
}

impl<const HAS_MAGAZINES: bool> SharedAllocator for SharedDomain<HAS_MAGAZINES> {
    type Grant = SharedGrant;

    fn new(space: Extent<Iova>, granule: u64, cpus: usize) -> Result<Self, Failure> {
        /// The same as in `kernel.h`.
        const CPUS_MAX: usize = 8;
        if granule != PAGE || space.start().raw() != 0 || cpus > CPUS_MAX {
            return Err(Failure("it has pages from 0 on, and few CPUs".to_owned()));
        }
        let last = space.last().raw() / PAGE;
        Ok(Self {
            domain: Domain::new(1, last, HAS_MAGAZINES)?,
            last,
        })
    }

    #[inline(always)]
    fn reserve(&self, buffer: Buffer) -> Option<SharedGrant> {
        let (pages, linux) = (buffer.pages(), &self.domain.linux.iova);
        if HAS_MAGAZINES {
            let first = (linux.reserve_fast)(self.domain.raw, cpu() as u32, pages);
            let reached = None;
            return (first != 0).then_some(SharedGrant {
                first,
                pages,
                reached,
            });
        }
        let reached = (linux.reserve)(self.domain.raw, pages, self.last, true)?;
        Some(SharedGrant {
            first: (linux.first)(reached),
            pages,
            reached: Some(Reached(reached)),
        })
    }

    fn extent(grant: &SharedGrant) -> Extent<Iova> {
        let extent = Extent::from_len(Iova::new(grant.first * PAGE), grant.pages * PAGE);
        extent.expect("a grant lies in its space")
    }

    #[inline(always)]
    fn release(&self, grant: SharedGrant) {
        let linux = &self.domain.linux.iova;
        match grant.reached {
            Some(reached) => (linux.release)(self.domain.raw, reached.0),
            None => (linux.release_fast)(self.domain.raw, cpu() as u32, grant.first, grant.pages),
        }
    }

    /// Steps are not counted.
    fn visits(&self) -> u64 {
        0
    }

    fn finish(self) -> Result<Vec<Extent<Iova>>, Failure> {
        let extents = self.domain.list().into_iter().map(|[first, last]| {
            let (first, last) = (Iova::new(first * PAGE), Iova::new(last * PAGE + (PAGE - 1)));
            Extent::from_last(first, last)
        });
        let extents: Option<Vec<_>> = extents.collect();
        extents.ok_or_else(|| Failure("an extent ends before it begins".to_owned()))
    }
}
