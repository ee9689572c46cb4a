//! A device: the addresses that it reaches, the rules for its buffers, and its quota.
#![forbid(unsafe_code)]

use crate::error::messages;
use crate::forms::{default_is_new, setters};

use crate::addr::{Address, Iova};
use crate::bounce::SLOT;
use crate::sync::atomic::{AtomicU32, Ordering};

/// The addresses that a device reaches, and the rules for its buffers.
///
/// # Example
/// ```
/// use furlong::addr::Iova;
/// use furlong::bounce::{Device, Limits};
///
/// // 32 address lines, pages whose offset must stay, at most 1 MiB in flight.
/// let nvme = Limits::new()
///     .reach(Iova::new(0xffff_ffff))
///     .min_align_mask(0xfff)
///     .quota(512);
/// let nvme = Device::new(1, nvme)?;
/// # Ok::<(), furlong::bounce::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The last address that the device can put on the bus.
    pub reach: Iova,
    /// Low address bits that a mapping must share with its original: `2^n - 1`.
    pub min_align_mask: u64,
    /// The alignment of a run, less one: `2^n - 1`. Runs are rounded up to it.
    pub align_mask: u64,
    /// The boundary that a run must not cross, less one: `2^n - 1`. Its multiples are boundaries.
    pub boundary_mask: u64,
    /// The most slots that the device may have at a time.
    pub quota: Option<u32>,
}

impl Limits {
    /// No limits: the device reaches all addresses and has no rules.
    pub const fn new() -> Self {
        Self {
            reach: Iova::new(u64::MAX),
            min_align_mask: 0,
            align_mask: 0,
            boundary_mask: u64::MAX,
            quota: None,
        }
    }

    setters! {
        /// Sets the last address.
        reach: Iova;
        /// Sets the low address bits that are kept.
        min_align_mask: u64;
        /// Sets the alignment of runs, less one.
        align_mask: u64;
        /// Sets the boundary of runs, less one.
        boundary_mask: u64;
    }

    /// Sets the most slots at a time.
    #[must_use]
    pub const fn quota(self, slots: u32) -> Self {
        Self {
            quota: Some(slots),
            ..self
        }
    }
}

default_is_new! { Limits }

messages! {
    /// Error of a device's limits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LimitsError {
        /// The mask of minimum alignment is not a power of two less one.
        MinAlignMask(n: u64) => "min_align_mask {n:#x} is not 2^n - 1";
        /// The mask of alignment is not a power of two less one.
        AlignMask(n: u64) => "align_mask {n:#x} is not 2^n - 1";
        /// The mask of the boundary is not a power of two less one, or the boundary is below a
        /// slot.
        BoundaryMask(n: u64) => "boundary_mask {n:#x} is not 2^n - 1 of at least a slot";
        /// The quota is 0: nothing could ever be mapped.
        NoQuota => "a quota of 0 slots lets the device map nothing";
    }
}

/// A device that maps through a pool.
///
/// A number that the caller chooses identifies it. Two devices with the same number can unmap each
/// other's mappings. Then the slots go back to the quota of the device that unmaps, and stay
/// charged to the one that has mapped.
#[derive(Debug)]
pub struct Device {
    id: u32,
    limits: Limits,
    /// The number of slots that it has, if it has a quota.
    used: AtomicU32,
    /// The restricted pool that admitted it.
    pool: Option<u32>,
}

impl Device {
    /// A device with this number and these limits.
    ///
    /// # Errors
    /// See [`LimitsError`].
    pub fn new(id: u32, limits: Limits) -> Result<Self, LimitsError> {
        let is_mask = |mask: u64| mask & mask.wrapping_add(1) == 0;
        if !is_mask(limits.min_align_mask) {
            return Err(LimitsError::MinAlignMask(limits.min_align_mask));
        }
        if !is_mask(limits.align_mask) {
            return Err(LimitsError::AlignMask(limits.align_mask));
        }
        if !is_mask(limits.boundary_mask) || limits.boundary_mask < SLOT - 1 {
            return Err(LimitsError::BoundaryMask(limits.boundary_mask));
        }
        if limits.quota == Some(0) {
            return Err(LimitsError::NoQuota);
        }
        Ok(Self {
            id,
            limits,
            used: AtomicU32::new(0),
            pool: None,
        })
    }

    /// The same device, restricted to the pool with this tag.
    pub(crate) fn restricted_to(self, pool: u32) -> Self {
        Self {
            pool: Some(pool),
            ..self
        }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its limits.
    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The number of slots that it has; `None` without a quota, as they are not counted then.
    pub fn used(&self) -> Option<u32> {
        // Relaxed: a number that orders nothing.
        let used = self.used.load(Ordering::Relaxed);
        self.limits.quota.map(|_| used)
    }

    /// True if the device reaches all of the `len` bytes from `start` on.
    pub fn reaches(&self, start: Iova, len: u64) -> bool {
        let last = start.checked_add(len.saturating_sub(1));
        last.is_some_and(|last| last <= self.limits.reach)
    }

    #[inline]
    pub(crate) fn pool(&self) -> Option<u32> {
        self.pool
    }

    /// Takes `slots` of its quota. The error, if too few are left, is the number in use.
    #[inline]
    pub(super) fn charge(&self, slots: u32) -> Result<Charge<'_>, u32> {
        if let Some(quota) = self.limits.quota {
            self.charge_within(quota, slots)?;
        }
        let device = self;
        Ok(Charge { device, slots })
    }

    fn charge_within(&self, quota: u32, slots: u32) -> Result<(), u32> {
        let more = |used: u32| used.checked_add(slots).filter(|used| *used <= quota);
        // Relaxed: the number limits itself, and orders nothing.
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map(|_| ())
    }

    /// True if `slots` of its quota are left.
    pub(super) fn has_left(&self, slots: u32) -> bool {
        // AcqRel, `quota-look`: pairs with `quota-refund`. All read-modify-writes are in one order:
        // a refund before this one is seen, and one after it sees that the caller waits.
        let used = self.used.fetch_add(0, Ordering::AcqRel);
        let quota = self.limits.quota.unwrap_or(u32::MAX);
        used.checked_add(slots).is_some_and(|used| used <= quota)
    }

    /// Takes `slots`, even beyond the quota: the mapping already exists.
    pub(crate) fn charge_anyway(&self, slots: u32) {
        if self.limits.quota.is_some() {
            // Relaxed: as in `charge`.
            self.used.fetch_add(slots, Ordering::Relaxed);
        }
    }

    /// Gives slots back to the quota.
    #[inline]
    pub(super) fn refund(&self, slots: u32) {
        if self.limits.quota.is_some() {
            // Another device with the same number may have been charged: the count ends at 0.
            let less = |used: u32| Some(used.saturating_sub(slots));
            // AcqRel, `quota-refund`: pairs with `quota-look`, and comes before a look for waiters.
            let _ = self
                .used
                .fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
        }
    }
}

/// Slots of a quota that were taken for a mapping. Its drop gives them back if the mapping fails,
/// also by a panic of the user's code.
#[must_use = "they go back as soon as this is dropped"]
pub(super) struct Charge<'a> {
    device: &'a Device,
    slots: u32,
}

impl Charge<'_> {
    /// Keeps the slots: the mapping has succeeded.
    #[inline]
    pub(crate) fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.device.refund(self.slots);
    }
}
