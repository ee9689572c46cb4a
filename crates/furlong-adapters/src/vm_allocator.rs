//! rust-vmm's `vm_allocator::AddressAllocator` over a space of device addresses.
//!
//! Calls, types and errors are those of that crate, so that its users change one line:
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
//! # What differs
//! - A gap is found in O(log n); there every node on the way to it is looked at.
//! - What is free is one gap. There a single free byte beside what is given back stays apart, and
//!   an allocation that needs both is refused.
//! - An exact range of which a part is allocated is refused. There it may be granted once more.
//! - What is free already cannot be freed again. There a free range that stands alone is taken for
//!   an allocated one.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use furlong::addr::{Address, Extent, Iova};

use furlong::iova::{Highest, Lowest, Policy, Request, VecSpace};
use vm_allocator::{AllocPolicy, Constraint, Error, RangeInclusive};

/// An address space, of which ranges are allocated and freed.
#[derive(Debug)]
pub struct AddressAllocator {
    space: VecSpace,
    all: RangeInclusive,
}

impl AddressAllocator {
    /// The `size` addresses from `base` on, all free.
    ///
    /// # Errors
    /// [`Error::Underflow`] for no address, [`Error::Overflow`] beyond the last one,
    /// [`Error::InvalidRange`] for all there are.
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
    /// [`Error::InvalidSize`], [`Error::InvalidAlignment`], [`Error::UnalignedAddress`] for what
    /// makes no sense; [`Error::ResourceNotAvailable`] where there is no room for it, or no memory.
    /// Nothing has changed.
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

    /// Frees a range that was allocated.
    ///
    /// # Errors
    /// [`Error::ResourceNotAvailable`] if it was not, or as part of another. Nothing has changed.
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

/// The same range as this library has it.
fn extent(range: &RangeInclusive) -> Result<Extent<Iova>, Error> {
    let (start, end) = (range.start(), range.end());
    let extent = Extent::from_last(Iova::new(start), Iova::new(end));
    extent.ok_or(Error::InvalidRange(start, end))
}
