//! rCore's buddy_system_allocator: a `BTreeSet` of free blocks for each power of two.
//!
//! Kernels use it for frames. It hands out the smallest block that is large enough: a power of two
//! of granules at a multiple of itself. It has no window and no lowest place, and a gap that
//! crosses such a multiple counts as two. It cannot list its reserved blocks.

use std::ops::Range;

use buddy_system_allocator::FrameAllocator;
use furlong::addr::{Address, Extent, Iova};
use furlong_experiments_devices::iova_gap::{AddressAllocator, Ask};
use furlong_lab::model::Failure;

use super::extents::{granules, not_filled};
use super::{Align, Offers, Peer};

/// rCore's allocator, in granules.
pub struct Buddy {
    theirs: FrameAllocator,
    shift: u32,
    /// The number of reserved granules.
    taken: usize,
    /// The extents reserved when it was filled, since it cannot list them.
    filled: Vec<Extent<Iova>>,
}

/// The blocks of a range, each a power of two at a multiple of itself.
fn blocks(range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let mut next = range.start;
    std::iter::from_fn(move || {
        let left = (range.end - next).checked_ilog2()?;
        let bits = left.min(next.trailing_zeros());
        next += 1 << bits;
        Some((next - (1 << bits), 1 << bits))
    })
}

impl AddressAllocator for Buddy {
    type Grant = Range<usize>;

    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure> {
        let (all, shift) = granules(space, granule)?;
        let mut theirs = FrameAllocator::new();
        theirs.add_frame(all.start as usize, all.end as usize);
        Ok(Self {
            theirs,
            shift,
            taken: 0,
            filled: Vec::new(),
        })
    }

    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Range<usize>>, Failure> {
        let grants = extents.iter().map(|extent| self.reserve_at(*extent));
        let grants = grants.collect::<Option<_>>().ok_or_else(not_filled)?;
        self.filled = extents.to_vec();
        self.filled.sort_unstable_by_key(Extent::start);
        Ok(grants)
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<Range<usize>> {
        let [first, last] = [extent.start(), extent.last()].map(|at| at.raw() >> self.shift);
        let range = first as usize..(last as usize).checked_add(1)?;
        for (first, size) in blocks(range.clone()) {
            if self.theirs.alloc_at(first, size).is_none() {
                for (first, size) in blocks(range.start..first) {
                    self.theirs.dealloc(first, size);
                }
                return None;
            }
        }
        self.taken += range.len();
        Some(range)
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Range<usize>)> {
        let size = ask.size.max(ask.align) >> self.shift;
        let size = (size as usize).next_power_of_two();
        let first = self.theirs.alloc(size)?;
        self.taken += size;
        Some(((first as u64) << self.shift, first..first + size))
    }

    #[inline]
    fn release(&mut self, grant: Range<usize>) {
        self.taken -= grant.len();
        for (first, size) in blocks(grant) {
            self.theirs.dealloc(first, size);
        }
    }

    /// The extents that it was filled with, if as much is reserved now.
    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let bytes: u64 = self.filled.iter().filter_map(Extent::len).sum();
        if self.taken as u64 == bytes >> self.shift {
            Ok(self.filled.clone())
        } else {
            Err(Failure(format!("{} granules are reserved", self.taken)))
        }
    }
}

impl Peer for Buddy {
    const OFFERS: Offers = Offers {
        align: Align::InPlace,
        reserve_at: true,
        ..Offers::ANY_PLACE
    };
}
