//! Properties of runs of slots in words of 64 and 128 bits, for all inputs.
#![forbid(unsafe_code)]

use super::area::need::Need;
use super::area::run::{bits, bits_low, every, low_bits, starts, starts_low, within};
use super::mapping::device::Limits;
use super::slot::{SEGMENT, SLOT, SLOT_SHIFT};
use crate::proofs::{Input, Property};

/// The properties of this file.
pub const PROPERTIES: &[Property] = &[
    Property::new("bounce::low_bits_are_the_lowest", low_bits_are_the_lowest),
    Property::new("bounce::a_run_has_its_bits", a_run_has_its_bits),
    Property::new(
        "bounce::starts_are_followed_by_free_slots",
        starts_are_followed_by_free_slots,
    ),
    Property::new("bounce::a_stride_is_periodic", a_stride_is_periodic),
    // One case per exponent of the boundary, which the search multiplies by.
    Property::in_cases(
        "bounce::within_crosses_no_boundary",
        within_crosses_no_boundary,
        [54, 0, 0, 0, 0],
    ),
    Property::in_cases(
        "bounce::place_is_the_first",
        place_is_the_first,
        [0, 0, 12, 0, 0],
    ),
];

/// Two words as one of 128 bits.
fn wide(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

fn is_set(word: u128, bit: u32) -> bool {
    word >> bit & 1 == 1
}

/// A bit is among the lowest exactly if its number is below their count.
pub fn low_bits_are_the_lowest(x: &Input) -> bool {
    let (count, bit) = (x[0] as u32 % 129, x[1] as u32 & 127);
    is_set(low_bits(count), bit) == (bit < count)
}

/// A run is its slots and no others, in the short word, too.
pub fn a_run_has_its_bits(x: &Input) -> bool {
    let (start, len, bit) = (
        x[0] as u32 & 127,
        (x[1] as u32 & 127) + 1,
        x[2] as u32 & 127,
    );
    if start + len > 128 {
        return true;
    }
    let inside = start <= bit && bit < start + len;
    let low = start + len > 64 || is_set(u128::from(bits_low(start, len)), bit) == inside;
    is_set(bits(start, len), bit) == inside && low
}

/// A run may start at a slot exactly if it and those after it are free, in the short word, too.
pub fn starts_are_followed_by_free_slots(x: &Input) -> bool {
    let free = wide(x[0], x[1]);
    let (len, at) = ((x[2] as u32 & 127) + 1, x[3] as u32 & 127);
    let fits = |room: u32, free: u128| {
        at + len <= room && free & low_bits(len) << at == low_bits(len) << at
    };
    let low = len > 64 || at >= 64 || {
        let found = u128::from(starts_low(x[0], len));
        is_set(found, at) == fits(64, u128::from(x[0]))
    };
    is_set(starts(free, len), at) == fits(128, free) && low
}

/// A slot is in a stride exactly if it is a multiple of the stride from the phase on.
pub fn a_stride_is_periodic(x: &Input) -> bool {
    let (log, phase, bit) = (x[0] as u32 & 7, x[1] as u32 & 127, x[2] as u32 & 127);
    let expected = bit >= phase && (bit - phase) & ((1 << log) - 1) == 0;
    is_set(every(log, phase), bit) == expected
}

/// A run may start at a slot exactly if its first and its last slot lie between the same multiples
/// of the boundary.
pub fn within_crosses_no_boundary(x: &Input) -> bool {
    let log = (x[0] % 54) as u32;
    let first = x[1] & ((1 << (64 - SLOT_SHIFT)) - 1) & !(SEGMENT as u64 - 1);
    let (len, at) = ((x[2] as u32 & 127) + 1, x[3] as u32 & 127);
    if log < 7 && len > 1 << log || at + len > 128 {
        return true;
    }
    let begin = first + u64::from(at);
    let last = begin + u64::from(len) - 1;
    is_set(within(1 << log, first, len), at) == (begin >> log == last >> log)
}

/// A mapping is placed at the first free run with the alignment of its length. The fast paths for
/// half words find the same run.
pub fn place_is_the_first(x: &Input) -> bool {
    let (free, len) = (wide(x[0], x[1]), (x[2] % 12 + 1) << SLOT_SHIFT);
    let other = x[3] as u32 & 127;
    let Ok(need) = Need::new(&Limits::new(), None, len as usize, 2 * SLOT, SEGMENT) else {
        return false;
    };
    let align = if len >= 2 * SLOT { 2 } else { 1 };
    let slots = (len >> SLOT_SHIFT) as u32;
    let fits = |at: u32| {
        at & (align - 1) == 0 && at + slots <= 128 && free & bits(at, slots) == bits(at, slots)
    };
    match need.place(free, 0) {
        Some(at) => fits(at) && !(other < at && fits(other)),
        None => !fits(other),
    }
}
