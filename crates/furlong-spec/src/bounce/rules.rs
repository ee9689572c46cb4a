//! The rules for the place of a run, slot by slot and without bit tricks, as the reference has
//! them.
#![forbid(unsafe_code)]

use furlong::bounce::{Limits, MapError, SLOT};

/// The constraints of one mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Length of the run, in slots.
    pub slots: u64,
    /// Offset of the data from the start of the run, in bytes.
    pub offset: u64,
    /// Alignment of the run's start, in bytes.
    align: u64,
    /// Address bits that the run must share with the original.
    keep: u64,
    original: u64,
    boundary_mask: u64,
}

/// Length in bytes of the longest mapping that always fits into a segment.
#[must_use]
pub fn longest(limits: &Limits, segment: usize) -> u64 {
    let whole = segment as u128 * u128::from(SLOT);
    let pad = u128::from(limits.min_align_mask).next_multiple_of(u128::from(SLOT));
    whole.saturating_sub(pad) as u64
}

impl Rules {
    /// The rules for `len` bytes, with the original at `original` if there is one.
    ///
    /// # Errors
    /// The reason that no run can satisfy the limits.
    pub fn new(
        limits: &Limits,
        original: Option<u64>,
        len: usize,
        page: u64,
        segment: usize,
    ) -> Result<Self, MapError> {
        let whole = segment as u64 * SLOT;
        if len == 0 {
            return Err(MapError::ZeroSize);
        }
        if limits.align_mask >= whole {
            return Err(MapError::Align(limits.align_mask));
        }
        let too_large = MapError::TooLarge {
            len,
            longest: longest(limits, segment),
        };
        let low = original.unwrap_or(0);
        let in_run = limits.align_mask.max(SLOT - 1);
        let offset = low & limits.min_align_mask & in_run;
        let size = len as u128 + u128::from(offset);
        let size = size.next_multiple_of(u128::from(limits.align_mask) + 1);
        if size > u128::from(whole) {
            return Err(too_large);
        }
        let slots = (size as u64).div_ceil(SLOT);
        if u128::from(slots) * u128::from(SLOT) > u128::from(limits.boundary_mask) + 1 {
            return Err(MapError::CrossesBoundary {
                len,
                boundary_mask: limits.boundary_mask,
            });
        }
        let asks_nothing = limits.align_mask == 0 && limits.min_align_mask == 0;
        let by_page = asks_nothing && size >= u128::from(page);
        let align = if by_page { page } else { in_run + 1 };
        let keep = limits.min_align_mask & !(align - 1);
        Ok(Self {
            slots,
            offset,
            align,
            keep: if original.is_some() { keep } else { 0 },
            original: low,
            boundary_mask: limits.boundary_mask,
        })
    }

    /// True if the run may start at this device address, a multiple of a slot.
    #[must_use]
    pub fn allow(&self, at: u64) -> bool {
        let last = at + (self.slots * SLOT - 1);
        let crosses = at & !self.boundary_mask != last & !self.boundary_mask;
        let differs = (at ^ self.original) & self.keep != 0;
        at.is_multiple_of(self.align) && !differs && !crosses
    }

    /// Distance in bytes between two possible starts.
    #[must_use]
    pub fn stride(&self) -> u64 {
        self.align.max((self.keep | (self.align - 1)) + 1)
    }

    /// Slots from a multiple of [`Rules::stride`] to a possible start.
    #[must_use]
    pub fn slots_before(&self) -> u64 {
        (self.original & self.keep) / SLOT
    }
}
