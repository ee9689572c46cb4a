//! rust-vmm's `vm_allocator::AddressAllocator` over a space of device addresses.
//!
//! Calls, types and errors are those of that crate. Its users change one line:
//!
//! ```
//! use furlong_adapters::vm_allocator::AddressAllocator;
//! use vm_allocator::AllocPolicy;
//!
//! let mut mmio = AddressAllocator::new(0xd000_0000, 0x1000_0000)?;
//! let bar = mmio.allocate(0x4000, 0x4000, AllocPolicy::FirstMatch)?;
//! assert_eq!(bar.start(), 0xd000_0000);
//! mmio.free(&bar)?;
//! # Ok::<(), vm_allocator::Error>(())
//! ```
//!
//! # Differences
//! - A gap is found in O(log n). The original visits every node on the way to it.
//! - Adjacent free addresses always form one gap. In the original, a single free byte beside a
//!   freed range stays separate, and an allocation that needs both is refused.
//! - An exact range that is partly allocated is refused. The original may grant it once more.
//! - A free range cannot be freed again. The original takes a free range without free neighbours
//!   for an allocated one.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use furlong::addr::{Address, Extent, Iova};

use furlong::iova::{Highest, Lowest, Policy, Request, VecSpace};
use vm_allocator::{AllocPolicy, Constraint, Error, RangeInclusive};

/// A range of addresses, from which ranges are allocated and freed.
#[derive(Debug)]
pub struct AddressAllocator {
    space: VecSpace,
    all: RangeInclusive,
}

impl AddressAllocator {
    /// An allocator of the `size` addresses from `base` on, all free.
    ///
    /// # Errors
    /// [`Error::Underflow`] if `size` is 0, [`Error::Overflow`] if the range exceeds the last
    /// address, [`Error::InvalidRange`] if it is the whole address space.
    pub fn new(base: u64, size: u64) -> Result<Self, Error> {
        let more = size.checked_sub(1).ok_or(Error::Underflow)?;
        let end = base.checked_add(more).ok_or(Error::Overflow)?;
        let all = RangeInclusive::new(base, end)?;
        let space = VecSpace::new(extent(&all)?, 1, Vec::new());
        let space = space.map_err(|_| Error::InvalidRange(base, end))?;
        Ok(Self { space, all })
    }

    /// Allocates `size` addresses that begin at a multiple of `alignment`.
    ///
    /// # Errors
    /// [`Error::InvalidSize`], [`Error::InvalidAlignment`], [`Error::UnalignedAddress`] for invalid
    /// arguments; [`Error::ResourceNotAvailable`] if there is no room, or no memory. Nothing has
    /// changed.
    ///
    /// # Cost
    /// O(log n), and no more nodes than ranges: see [`Space::reserve`](furlong::iova::Space).
    pub fn allocate(
        &mut self,
        size: u64,
        alignment: u64,
        policy: AllocPolicy,
    ) -> Result<RangeInclusive, Error> {
        Constraint::new(size, alignment, policy)?;
        match policy {
            AllocPolicy::FirstMatch => self.search(size, alignment, Lowest),
            AllocPolicy::LastMatch => self.search(size, alignment, Highest),
            AllocPolicy::ExactMatch(start) => {
                let last = start.checked_add(size - 1).ok_or(Error::Overflow)?;
                let range = RangeInclusive::new(start, last)?;
                let reserved = self.space.reserve_at(extent(&range)?);
                // It is freed by its range, so the grant is not kept.
                let granted = reserved.map(|_| range);
                granted.map_err(|_| Error::ResourceNotAvailable)
            }
        }
    }

    fn search<P: Policy>(&mut self, size: u64, align: u64, at: P) -> Result<RangeInclusive, Error> {
        let reserved = self.space.reserve(&Request::new(size).align(align), at);
        let data = reserved.map_err(|_| Error::ResourceNotAvailable)?.data();
        RangeInclusive::new(data.start().raw(), data.last().raw())
    }

    /// Frees an allocated range.
    ///
    /// # Errors
    /// [`Error::ResourceNotAvailable`] if the range was not allocated, or only as a part of another
    /// one. Nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn free(&mut self, range: &RangeInclusive) -> Result<(), Error> {
        let released = self.space.release_at(extent(range)?);
        released.map(drop).map_err(|_| Error::ResourceNotAvailable)
    }

    /// The first address, free or not.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.all.start()
    }

    /// The last address, free or not.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.all.end()
    }
}

/// Converts a range to an extent of this library.
fn extent(range: &RangeInclusive) -> Result<Extent<Iova>, Error> {
    let (start, end) = (range.start(), range.end());
    let extent = Extent::from_last(Iova::new(start), Iova::new(end));
    extent.ok_or(Error::InvalidRange(start, end))
}
