//! Parsers for the numbers and ranges in the sources.

use furlong::addr::{Address, Extent, PhysAddr};

use super::PHYS_BITS;
use super::fault::Fault;
use crate::fault::shortened;

/// A hexadecimal number, with or without `0x`.
pub(super) fn hexadecimal(word: &str) -> Result<u64, Fault> {
    let digits = word.strip_prefix("0x").or(word.strip_prefix("0X"));
    digits_of(word, digits.unwrap_or(word), 16, u64::BITS)
}

/// A number of at most `bits` bits, hexadecimal after `0x` and decimal otherwise.
pub(super) fn number(word: &str, bits: u32) -> Result<u64, Fault> {
    match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        Some(digits) => digits_of(word, digits, 16, bits),
        None => digits_of(word, word, 10, bits),
    }
}

fn digits_of(word: &str, digits: &str, radix: u32, bits: u32) -> Result<u64, Fault> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Fault::Number {
            word: shortened(word),
        });
    }
    // The word has digits only, so the one possible error is overflow.
    let value = u64::from_str_radix(digits, radix).ok();
    let fits = |value: &u64| bits >= u64::BITS || *value >> bits == 0;
    value.filter(fits).ok_or_else(|| Fault::LargeNumber {
        word: shortened(word),
        bits,
    })
}

/// The range from the first to the last address, within the width of physical addresses.
pub(super) fn inclusive(start: u64, last: u64) -> Result<Extent<PhysAddr>, Fault> {
    let extent = Extent::from_last(PhysAddr::new(start), PhysAddr::new(last))
        .ok_or(Fault::Reversed { start, last })?;
    within_width(&extent)?;
    Ok(extent)
}

/// The range from `start` to before `end`, within the width of physical addresses.
pub(super) fn half_open(start: u64, end: u64) -> Result<Extent<PhysAddr>, Fault> {
    match end.checked_sub(1) {
        Some(last) if end != start => inclusive(start, last),
        _ if end == start => Err(Fault::Hollow { start }),
        _ => Err(Fault::Reversed { start, last: end }),
    }
}

/// Refuses a range that exceeds the width of physical addresses.
pub(super) fn within_width(extent: &Extent<PhysAddr>) -> Result<(), Fault> {
    let last = extent.last().raw();
    if last >> PHYS_BITS == 0 {
        return Ok(());
    }
    let address = u128::from(last);
    Err(Fault::BeyondWidth { address })
}

#[cfg(test)]
mod tests {
    use super::{Fault, half_open, hexadecimal, inclusive, number};

    #[test]
    fn a_number_is_as_large_as_its_place_and_no_larger() {
        assert_eq!(hexadecimal("ffffffffffffffff").unwrap(), u64::MAX);
        assert_eq!(hexadecimal("0x00000000000000001").unwrap(), 1);
        assert!(matches!(
            hexadecimal("0x10000000000000000"),
            Err(Fault::LargeNumber { bits: 64, .. })
        ));
        assert_eq!(number("4294967295", 32).unwrap(), u64::from(u32::MAX));
        assert!(matches!(
            number("0x100000000", 32),
            Err(Fault::LargeNumber { bits: 32, .. })
        ));
        for word in ["", "0x", "+1", "-1", "1_0", "0x0x1", "ä"] {
            assert!(matches!(number(word, 64), Err(Fault::Number { .. })));
        }
    }

    #[test]
    fn the_last_address_of_the_width_is_in_and_the_next_is_out() {
        assert!(inclusive(0, (1 << 52) - 1).is_ok());
        assert!(matches!(
            inclusive(0, 1 << 52),
            Err(Fault::BeyondWidth { .. })
        ));
        assert!(half_open(0, 1 << 52).is_ok());
    }

    #[test]
    fn an_empty_and_a_reversed_range_are_refused() {
        assert!(matches!(half_open(8, 8), Err(Fault::Hollow { start: 8 })));
        assert!(matches!(half_open(8, 0), Err(Fault::Reversed { .. })));
        assert!(matches!(inclusive(2, 1), Err(Fault::Reversed { .. })));
    }
}
