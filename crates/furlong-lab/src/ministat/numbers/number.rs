//! Numbers in the grammar of C's `strtod`: decimal with an exponent, or hexadecimal.

use std::fmt;

/// The reason why a word is not a usable number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// It is something else, or something follows the number.
    Malformed,
    /// It is not-a-number.
    Nan,
    /// It is infinity.
    Infinite,
    /// It is finite, but greater than the largest double.
    TooLarge,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "is not a number",
            Self::Nan => "is not a finite number",
            Self::Infinite => "is not finite",
            Self::TooLarge => "is too large for a double",
        })
    }
}

/// Reads a whole word as `strtod` does in the C locale.
///
/// # Shapes
/// White space is allowed before the number, and nothing after it. A number too small for a double
/// becomes zero.
///
/// # Errors
/// Every word that is not a finite number.
///
/// # Example
/// ```
/// use furlong_lab::ministat::number::parse;
///
/// assert_eq!(parse(b"1e3"), Ok(1000.0));
/// assert_eq!(parse(b"0x1.8p1"), Ok(3.0));
/// assert!(parse(b"1,5").is_err());
/// ```
pub fn parse(word: &[u8]) -> Result<f64, NumberError> {
    let start = word.iter().take_while(|&&b| is_space(b)).count();
    let word = &word[start..];
    let (negative, rest) = match word {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let magnitude = match rest {
        [b'0', b'x' | b'X', digits @ ..] => hexadecimal(digits)?,
        _ => decimal(rest)?,
    };
    if magnitude.is_infinite() {
        return Err(NumberError::TooLarge);
    }
    Ok(if negative { -magnitude } else { magnitude })
}

/// White space as in C's `isspace`.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Digits before and after the point, and the rest.
struct Digits<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    rest: &'a [u8],
}

fn split_digits(text: &[u8], is_digit: fn(&u8) -> bool) -> Option<Digits<'_>> {
    let count = |bytes: &[u8]| bytes.iter().take_while(|&b| is_digit(b)).count();
    let (whole, rest) = text.split_at(count(text));
    let (fraction, rest) = match rest {
        [b'.', after @ ..] => after.split_at(count(after)),
        _ => (&rest[..0], rest),
    };
    (!whole.is_empty() || !fraction.is_empty()).then_some(Digits {
        whole,
        fraction,
        rest,
    })
}

/// An exponent's sign and digits, which must be all of the text. It saturates far beyond the range
/// of a double.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0_i64, |value, digit| {
        (value * 10 + i64::from(digit - b'0')).min(1 << 40)
    });
    Some(if negative { -value } else { value })
}

fn decimal(text: &[u8]) -> Result<f64, NumberError> {
    let Some(digits) = split_digits(text, u8::is_ascii_digit) else {
        return Err(named(text));
    };
    let whole = match digits.rest {
        [] => true,
        [b'e' | b'E', power @ ..] => exponent(power).is_some(),
        _ => false,
    };
    let parsed = whole
        .then(|| std::str::from_utf8(text).ok()?.parse().ok())
        .flatten();
    parsed.ok_or(NumberError::Malformed)
}

/// A word of `strtod` without digits.
fn named(text: &[u8]) -> NumberError {
    let lower = text.to_ascii_lowercase();
    match lower.as_slice() {
        b"inf" | b"infinity" => NumberError::Infinite,
        b"nan" => NumberError::Nan,
        [b'n', b'a', b'n', b'(', inside @ .., b')']
            if inside
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || *b == b'_') =>
        {
            NumberError::Nan
        }
        _ => NumberError::Malformed,
    }
}

/// Bits of a hexadecimal mantissa that are kept exactly; the rest sets only a sticky bit.
const MANTISSA_BITS: u32 = 60;

fn hexadecimal(text: &[u8]) -> Result<f64, NumberError> {
    let digits = split_digits(text, u8::is_ascii_hexdigit).ok_or(NumberError::Malformed)?;
    let power = match digits.rest {
        [] => 0,
        [b'p' | b'P', power @ ..] => exponent(power).ok_or(NumberError::Malformed)?,
        _ => return Err(NumberError::Malformed),
    };
    let mut mantissa = 0_u64;
    let mut dropped = 0_i64;
    for &digit in digits.whole.iter().chain(digits.fraction) {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            _ => (digit | 0x20) - b'a' + 10,
        };
        if mantissa >> (MANTISSA_BITS - 4) == 0 {
            mantissa = mantissa << 4 | u64::from(value);
        } else {
            dropped += 4;
            // Sticky bit: enough to know on which side of a half the number is.
            mantissa |= u64::from(value != 0);
        }
    }
    let scale = power + dropped - 4 * digits.fraction.len() as i64;
    Ok(scaled(mantissa, scale))
}

/// `mantissa * 2^scale`, rounded once, half to even.
fn scaled(mantissa: u64, scale: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = i64::from(u64::BITS - mantissa.leading_zeros());
    let top = bits - 1 + scale;
    if top > 1023 {
        return f64::INFINITY;
    }
    // Below the normal range, a double has fewer and fewer bits.
    let precision = if top >= -1022 { 53 } else { 53 + top + 1022 };
    if precision < 0 {
        return 0.0;
    }
    let surplus = bits - precision;
    if surplus <= 0 {
        return mantissa as f64 * power_of_two(scale);
    }
    let half = 1_u64 << (surplus - 1);
    let (kept, rest) = (mantissa >> surplus, mantissa & (2 * half - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u64::from(up)) as f64 * power_of_two(scale + surplus)
}

/// Exact for every power of two that is a double, from -1074 to 1023.
fn power_of_two(power: i64) -> f64 {
    if power < -1022 {
        f64::from_bits(1 << (power + 1074))
    } else {
        f64::from_bits(((power + 1023) as u64) << 52)
    }
}

#[cfg(test)]
mod tests {
    use super::{NumberError, parse, power_of_two, scaled};
    use furlong_stats::random::Random;

    fn read(text: &str) -> Result<f64, NumberError> {
        parse(text.as_bytes())
    }

    #[test]
    fn decimals_exponents_and_signs_are_read() {
        for (text, wanted) in [
            ("1", 1.0),
            ("+5", 5.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-3.25e2", -325.0),
            ("1E+2", 100.0),
            (" \t7", 7.0),
            ("1e-400", 0.0),
            ("179769313486231570000e288", f64::MAX),
            ("1e-99999999999999999999999", 0.0),
        ] {
            assert_eq!(read(text), Ok(wanted), "{text}");
        }
        assert!(read("-0").is_ok_and(|v| v == 0.0 && v.is_sign_negative()));
    }

    #[test]
    fn hexadecimals_are_read_with_and_without_a_power() {
        for (text, wanted) in [
            ("0x10", 16.0),
            ("0X.8", 0.5),
            ("0x1.8p1", 3.0),
            ("-0x1p+3", -8.0),
            ("0x10p-2", 4.0),
            ("0xAbC", 2748.0),
            ("0x0p99999999999999", 0.0),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p-1076", 0.0),
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x0000000000000000000000000000000001", 1.0),
        ] {
            assert_eq!(read(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn hexadecimals_round_half_to_even_even_far_behind_the_last_bit() {
        for (text, wanted) in [
            ("0x20000000000001", 9_007_199_254_740_992.0),
            ("0x20000000000003", 9_007_199_254_740_996.0),
            (
                "0x20000000000001.00000000000000001",
                9_007_199_254_740_994.0,
            ),
            ("0x1p-1075", 0.0),
            ("0x1.0000000000000000000000001p-1075", f64::from_bits(1)),
            ("0x3p-1075", f64::from_bits(2)),
            ("0x0.fffffffffffff8p-1022", f64::MIN_POSITIVE),
        ] {
            assert_eq!(read(text), Ok(wanted), "{text}");
        }
        assert_eq!(read("0x1.fffffffffffff8p1023"), Err(NumberError::TooLarge));
    }

    #[test]
    fn what_is_no_finite_number_is_refused_by_its_kind() {
        for text in [
            "",
            "x",
            "1x",
            "1,5",
            "1_000",
            "--1",
            "1e",
            "1e+",
            "0x",
            "0x1p",
            "0b11",
            "1d5",
            ".",
            "e5",
            "5 ",
            "nan(",
            "nan(-)",
            "infinit",
            "\u{feff}1",
            "\u{a0}1",
            "0x.p1",
        ] {
            assert_eq!(read(text), Err(NumberError::Malformed), "{text}");
        }
        for text in ["nan", "-NaN", "nan(12)", "nan()"] {
            assert_eq!(read(text), Err(NumberError::Nan), "{text}");
        }
        for text in ["inf", "-INF", "Infinity"] {
            assert_eq!(read(text), Err(NumberError::Infinite), "{text}");
        }
        for text in ["1e400", "-1e309", "0x1p1024", "1e99999999999999999999999"] {
            assert_eq!(read(text), Err(NumberError::TooLarge), "{text}");
        }
    }

    #[test]
    fn every_double_survives_being_written_in_hexadecimal() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let value = f64::from_bits(random.bits() & !(1 << 63));
            if !value.is_finite() {
                continue;
            }
            let bits = value.to_bits();
            let (field, fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
            let (mantissa, power) = match field {
                0 => (fraction, -1074),
                _ => (fraction | 1 << 52, field - 1075),
            };
            assert_eq!(scaled(mantissa, power).to_bits(), bits);
            assert_eq!(read(&format!("0x{mantissa:x}p{power}")), Ok(value));
            assert_eq!(read(&format!("{value:e}")), Ok(value));
        }
        assert_eq!(power_of_two(-1074), f64::from_bits(1));
    }
}
