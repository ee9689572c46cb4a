//! The unit of bounce memory.
#![forbid(unsafe_code)]

/// log2 of the bytes of a slot.
pub(super) const SLOT_SHIFT: u32 = 11;

/// Bytes of a slot.
pub const SLOT: u64 = 1 << SLOT_SHIFT;

/// Slots of a segment, which no mapping crosses.
pub const SEGMENT: usize = 128;

/// Slots that hold `bytes`.
#[inline]
pub(super) const fn slots_of(bytes: u64) -> u64 {
    bytes.div_ceil(SLOT)
}
