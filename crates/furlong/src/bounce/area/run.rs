//! Runs of free slots in a segment, found in a word of 128 bits.

/// For each power of two up to 128, the bits at its multiples.
const STRIDES: [u128; 8] = {
    let mut strides = [1_u128; 8];
    let mut log = 7;
    while log > 0 {
        log -= 1;
        strides[log] = strides[log + 1] | strides[log + 1] << (1 << log);
    }
    strides
};

/// The lowest `count` bits, at most 128.
#[inline]
pub(crate) const fn low_bits(count: u32) -> u128 {
    match u128::MAX.checked_shl(count) {
        Some(high) => !high,
        None => u128::MAX,
    }
}

/// The bits of a run of `len` slots, 1 to 128, at `start`.
#[inline]
pub(crate) const fn bits(start: u32, len: u32) -> u128 {
    // Most runs lie in the low word, where a shift is one instruction.
    if start + len <= 64 {
        return bits_low(start, len) as u128;
    }
    low_bits(len) << start
}

/// The bits of a run that ends among the first 64 slots.
#[inline]
pub(crate) const fn bits_low(start: u32, len: u32) -> u64 {
    (u64::MAX >> (64 - len)) << start
}

/// The bits of `free` at which `len` set bits begin; `len` is 1 to 128.
///
/// Each step doubles the length of the runs that a set bit stands for, so log2(`len`) steps are
/// enough.
#[inline]
pub(crate) const fn starts(free: u128, len: u32) -> u128 {
    let mut starts = free;
    let mut known = 1;
    while known < len {
        let step = if known < len - known {
            known
        } else {
            len - known
        };
        starts &= starts >> step;
        known += step;
    }
    starts
}

/// [`starts`] in a word of 64 bits.
#[inline]
pub(crate) const fn starts_low(free: u64, len: u32) -> u64 {
    let mut starts = free;
    let mut known = 1;
    while known < len {
        let step = if known < len - known {
            known
        } else {
            len - known
        };
        starts &= starts >> step;
        known += step;
    }
    starts
}

/// Every `2^log`-th bit from bit `phase` on; `log` is at most 7 and `phase` at most 127.
#[inline]
pub(crate) const fn every(log: u32, phase: u32) -> u128 {
    STRIDES[log as usize] << phase
}

/// The slots of a segment at which a run of `len` slots may begin without crossing a multiple of
/// `boundary` slots. `first` is the device's number of the segment's slot 0. `boundary` is a power
/// of two and at least `len`.
pub(crate) const fn within(boundary: u64, first: u64, len: u32) -> u128 {
    let phase = first & (boundary - 1);
    if boundary <= 128 {
        // Periodic: the first `boundary - len + 1` of every `boundary` slots.
        let allowed = low_bits(boundary as u32 - len + 1);
        let period = STRIDES[boundary.trailing_zeros() as usize];
        return period.wrapping_mul(allowed).rotate_right(phase as u32);
    }
    let ahead = boundary - phase;
    if ahead >= 128 {
        return u128::MAX;
    }
    // One multiple lies in the segment: the starts less than `len` before it cross it.
    let ahead = ahead as u32;
    !(low_bits(ahead) & !low_bits((ahead + 1).saturating_sub(len)))
}

#[cfg(test)]
mod tests {
    use super::{bits, every, low_bits, starts, starts_low, within};

    #[test]
    fn runs_of_every_length_are_found_where_they_are() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u128;
        for round in 0..200_u32 {
            state = state
                .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                .wrapping_add(1);
            // Dense words, too, so that long runs occur.
            let free = state | state.rotate_left(round) | state.rotate_left(7 * round);
            for len in 1..=128 {
                let naive = (0..=128 - len)
                    .filter(|start| free & bits(*start, len) == bits(*start, len))
                    .fold(0, |found, start| found | 1 << start);
                assert_eq!(starts(free, len), naive, "{free:#x} {len}");
                if len <= 64 {
                    let low = u128::from(starts_low(free as u64, len));
                    assert_eq!(low, starts(free & low_bits(64), len), "{free:#x} {len}");
                }
            }
        }
        assert_eq!(starts(u128::MAX, 128), 1);
        assert_eq!(starts(u128::MAX << 1, 128), 0);
    }

    #[test]
    fn a_stride_sets_every_slot_of_its_phase() {
        for log in 0..8 {
            for phase in 0..1 << log {
                let naive = (0..128)
                    .filter(|slot| slot % (1 << log) == phase)
                    .fold(0, |found, slot| found | 1_u128 << slot);
                assert_eq!(every(log, phase), naive);
            }
        }
    }

    #[test]
    fn what_crosses_a_boundary_is_left_out() {
        for log in 0..10 {
            let boundary = 1_u64 << log;
            for first in [
                0,
                1,
                5,
                63,
                64,
                100,
                127,
                128,
                300,
                511,
                1023,
                (1 << 53) - 128,
            ] {
                for len in 1..=boundary.min(128) as u32 {
                    let found = within(boundary, first, len);
                    for slot in 0..=128 - len {
                        let begin = first + u64::from(slot);
                        let last = begin + u64::from(len) - 1;
                        let crosses = begin / boundary != last / boundary;
                        let allowed = found >> slot & 1 == 1;
                        assert_eq!(allowed, !crosses, "{boundary} {first} {len} {slot}");
                    }
                }
            }
        }
        assert_eq!(within(1 << 53, 77, 128), u128::MAX);
    }

    #[test]
    fn low_bits_may_be_none_and_all() {
        for len in 1..=128 {
            for start in 0..=128 - len {
                assert_eq!(bits(start, len), low_bits(len) << start);
            }
        }
        assert_eq!([low_bits(0), low_bits(3), low_bits(128)], [0, 7, u128::MAX]);
    }
}
