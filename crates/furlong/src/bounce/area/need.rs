//! Requirements of a mapping: the length of its run, and the positions at which it may start.

use super::run::{every, starts, starts_low, within};
use crate::addr::{Address, PhysAddr};
use crate::bounce::{Limits, SLOT, SLOT_SHIFT, slots_of};

/// The run that a mapping needs. All rules are about device addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Slots of the run, from 1 to a segment's.
    pub(crate) slots: u32,
    /// Bytes from the start of the run to the data.
    pub(crate) offset: u32,
    /// Bytes of data.
    pub(crate) len: u32,
    /// log2 of the stride in slots: two possible starts differ by a multiple of the stride.
    stride_log: u32,
    /// Low address bits that the start of the run must have, and the mask of these bits.
    want: u64,
    mask: u64,
    /// The boundary in slots, a power of two; the run must not cross a multiple of it.
    boundary: u64,
    /// The last address that the device reaches.
    pub(crate) reach: u64,
}

/// Reasons for which no run is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRun {
    Zero,
    TooLarge,
    Align,
    Boundary,
}

/// The constraints on a run's address.
struct Rules {
    /// Address bits that must be zero.
    align: u64,
    /// Address bits that must be those of the original, if there is one.
    keep: u64,
}

impl Need {
    /// The requirements for `len` bytes, with an original at `original` or none.
    ///
    /// The rules are those of Linux. The offset into the run keeps the low bits of the original
    /// that the device's `min_align_mask` selects and that the run's own alignment does not cover.
    /// The run is rounded up to its alignment. Without any alignment, a run of at least a page is
    /// aligned to pages.
    #[inline(always)]
    pub(crate) fn new(
        limits: &Limits,
        original: Option<PhysAddr>,
        len: usize,
        page: u64,
        segment: usize,
    ) -> Result<Self, NoRun> {
        if len == 0 {
            return Err(NoRun::Zero);
        }
        if limits.min_align_mask | limits.align_mask == 0 {
            return Self::unruled(limits, len, page, segment);
        }
        Self::ruled(limits, original, len, segment)
    }

    /// The requirements for a device without alignment.
    #[inline(always)]
    fn unruled(limits: &Limits, len: usize, page: u64, segment: usize) -> Result<Self, NoRun> {
        if len as u64 > segment as u64 * SLOT {
            return Err(NoRun::TooLarge);
        }
        let slots = slots_of(len as u64);
        let boundary = (limits.boundary_mask >> SLOT_SHIFT) + 1;
        if slots > boundary {
            return Err(NoRun::Boundary);
        }
        let mask = if len as u64 >= page { page } else { SLOT } - 1;
        Ok(Self {
            slots: slots as u32,
            offset: 0,
            len: len as u32,
            stride_log: (mask >> SLOT_SHIFT).trailing_ones(),
            want: 0,
            mask,
            boundary,
            reach: limits.reach.raw(),
        })
    }

    /// The requirements for a device with alignment.
    #[inline]
    fn ruled(
        limits: &Limits,
        original: Option<PhysAddr>,
        len: usize,
        segment: usize,
    ) -> Result<Self, NoRun> {
        let (min, asked) = (limits.min_align_mask, limits.align_mask);
        let slot = SLOT - 1;
        let low = original.map_or(0, Address::raw);
        let offset = low & min & (asked | slot);
        // The sum below does not overflow once each of its parts fits a segment.
        let longest = segment as u64 * SLOT;
        if asked >= longest {
            return Err(NoRun::Align);
        }
        if len as u64 > longest {
            return Err(NoRun::TooLarge);
        }
        let size = (len as u64 + offset + asked) & !asked;
        let slots = slots_of(size);
        if slots > segment as u64 {
            return Err(NoRun::TooLarge);
        }
        let boundary = (limits.boundary_mask >> SLOT_SHIFT) + 1;
        if slots > boundary {
            return Err(NoRun::Boundary);
        }
        let rules = Rules::new(asked, min);
        let keep = if original.is_some() { rules.keep } else { 0 };
        let mask = rules.align | keep;
        Ok(Self {
            slots: slots as u32,
            offset: offset as u32,
            len: len as u32,
            stride_log: (mask >> SLOT_SHIFT).trailing_ones(),
            want: low & keep,
            mask,
            boundary,
            reach: limits.reach.raw(),
        })
    }

    /// True if the device reaches all of a block.
    #[inline]
    pub(crate) fn reaches(&self, base: u64, bytes: u64) -> bool {
        base <= self.reach && bytes - 1 <= self.reach - base
    }

    /// Fast path of [`place`](Self::place) for the first 64 slots of a segment, or fewer: the
    /// lowest slot at which the run may start and end among them. `None` also if the need is not
    /// simple. Slot 0 of the segment is at `first`, a multiple of a slot.
    #[inline(always)]
    pub(super) fn place_low(&self, free: u64, first: u64) -> Option<u32> {
        let phase = (self.want.wrapping_sub(first) & self.mask) >> SLOT_SHIFT;
        if self.slots > 64 || phase >= 64 || self.boundary < Self::BOUNDLESS {
            return None;
        }
        let stride = every(self.stride_log & 7, 0) as u64;
        let places = starts_low(free, self.slots) & stride << phase;
        let found = places != 0 && self.stride_log < 8;
        found.then(|| places.trailing_zeros())
    }

    /// The lowest of the `free` slots of a segment at which the run may start. Slot 0 of the
    /// segment is at `first`, a multiple of a slot.
    pub(crate) fn place(&self, free: u128, first: u64) -> Option<u32> {
        let (low, high) = (free as u64, (free >> 64) as u64);
        if let Some(start) = self.place_low(low, first) {
            return Some(start);
        }
        // Only a run across both halves would come before one in the high half. A short segment may
        // end where addresses do: it has no slot in the high half.
        if low >> 63 & high & 1 == 0
            && let Some(start) = self.place_low(high, first.wrapping_add(64 * SLOT))
        {
            return Some(64 + start);
        }
        self.place_anywhere(free, first)
    }

    /// The general case, without the fast paths for the halves.
    fn place_anywhere(&self, free: u128, first: u64) -> Option<u32> {
        let phase = (self.want.wrapping_sub(first) & self.mask) >> SLOT_SHIFT;
        let mut places = starts(free, self.slots);
        places &= match self.stride_log {
            // A segment has one such slot at most.
            8.. if phase >= 128 => 0,
            8.. => 1 << phase,
            log => every(log, phase as u32),
        };
        if self.boundary < Self::BOUNDLESS {
            places &= within(self.boundary, first >> SLOT_SHIFT, self.slots);
        }
        (places != 0).then(|| places.trailing_zeros())
    }

    /// Slots between the last multiple of [`align`](Self::align) and the start of the run.
    pub(crate) fn slots_before(&self) -> u64 {
        self.want >> SLOT_SHIFT
    }

    /// The stride in bytes: two possible starts differ by a multiple of it.
    pub(crate) fn align(&self) -> u64 {
        SLOT << self.stride_log
    }

    /// The boundary in slots that means no boundary.
    const BOUNDLESS: u64 = (u64::MAX >> SLOT_SHIFT) + 1;
}

impl Rules {
    const fn new(asked: u64, min: u64) -> Self {
        let align = asked | (SLOT - 1);
        Self {
            align,
            keep: min & !align,
        }
    }
}

/// The longest mapping that fits for any address of its original.
pub(crate) fn longest(limits: &Limits, segment: usize) -> u64 {
    let pad = limits.min_align_mask.div_ceil(SLOT).saturating_mul(SLOT);
    (segment as u64 * SLOT).saturating_sub(pad)
}

#[cfg(test)]
mod tests {
    use super::Need;
    use crate::addr::{Iova, PhysAddr};
    use crate::bounce::{Device, Limits, SLOT};

    #[test]
    fn the_one_slot_that_keeps_an_address_is_found_if_the_segment_has_it() {
        // Address bits of 128 and of 256 slots are kept, so a segment has one such slot or none.
        for (kept, slots) in [(18, 128), (19, 256)] {
            for at in 0..slots {
                let limits = Limits::new().min_align_mask((1 << kept) - 1);
                let original = Some(PhysAddr::new(at * SLOT));
                let need = Need::new(&limits, original, 100, 4096, 128).unwrap();
                let start = need.place(u128::MAX, 0);
                assert_eq!(start, (at < 128).then_some(at as u32), "{at} of {slots}");
            }
        }
    }

    #[test]
    fn a_segment_may_end_where_addresses_do() {
        let need = Need::new(&Limits::new(), None, 100, 4096, 128).unwrap();
        let first = u64::MAX - 4 * SLOT + 1;
        assert_eq!(need.place(0b1000, first), Some(3));
        assert_eq!(need.place(0, first), None);
    }

    #[test]
    fn a_device_reaches_a_range_up_to_its_last_byte_and_not_one_further() {
        let device = Device::new(1, Limits::new().reach(Iova::new(9999))).unwrap();
        assert!(device.reaches(Iova::new(9000), 1000) && device.reaches(Iova::new(9999), 0));
        assert!(!device.reaches(Iova::new(9000), 1001));
        assert!(!device.reaches(Iova::new(u64::MAX), 2));
    }

    #[test]
    fn a_block_is_reached_up_to_its_last_byte_and_not_one_further() {
        let reaches = |reach: u64, base: u64, bytes: u64| {
            let limits = Limits::new().reach(Iova::new(reach));
            let need = Need::new(&limits, None, 1, 4096, 128).unwrap();
            need.reaches(base, bytes)
        };
        let (base, bytes) = (1 << 30, 1 << 14);
        assert!(reaches(base + bytes - 1, base, bytes));
        assert!(!reaches(base + bytes - 2, base, bytes));
        assert!(reaches(base, base, 1) && !reaches(base - 1, base, 1));
        // At the end of the address space no sum overflows.
        assert!(reaches(u64::MAX, u64::MAX - bytes + 1, bytes));
        assert!(!reaches(u64::MAX - 1, u64::MAX - bytes + 1, bytes));
    }
}
