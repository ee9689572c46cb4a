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
    let word = str::from_utf8(&word[start..]).map_err(|_| NumberError::Malformed)?;
    let rest = word.strip_prefix(['-', '+']).unwrap_or(word);
    let magnitude = match rest.strip_prefix("0x").or(rest.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits).ok_or(NumberError::Malformed)?,
        // Rust's parser accepts a second sign, and names.
        None if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            rest.parse().map_err(|_| NumberError::Malformed)?
        }
        None => return Err(named(rest)),
    };
    if magnitude.is_infinite() {
        return Err(NumberError::TooLarge);
    }
    Ok(if word.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

/// White space as in C's `isspace`.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A word of `strtod` without digits.
fn named(text: &str) -> NumberError {
    let lower = text.to_ascii_lowercase();
    let detail = lower.strip_prefix("nan(").and_then(|t| t.strip_suffix(')'));
    let is_detail = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match lower.as_str() {
        "inf" | "infinity" => NumberError::Infinite,
        "nan" => NumberError::Nan,
        _ if detail.is_some_and(is_detail) => NumberError::Nan,
        _ => NumberError::Malformed,
    }
}

/// Bits of a hexadecimal mantissa that are kept exactly; the rest sets only a sticky bit.
const MANTISSA_BITS: u32 = 60;

/// The number after `0x`: digits, perhaps with a point, and perhaps a power of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = match text.split_once(['p', 'P']) {
        Some((digits, power)) => (digits, exponent(power)?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut dropped = 0_i64;
    for digit in whole.chars().chain(fraction.chars()) {
        let value = u64::from(digit.to_digit(16)?);
        if mantissa >> (MANTISSA_BITS - 4) == 0 {
            mantissa = mantissa << 4 | value;
        } else {
            dropped += 4;
            // Sticky bit: enough to know on which side of a half the number is.
            mantissa |= u64::from(value != 0);
        }
    }
    let scale = power + dropped - 4 * fraction.len() as i64;
    Some(scaled(mantissa, scale))
}

/// An exponent, which must be all of the text. It saturates far beyond the range of a double.
fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let power = digits.parse().unwrap_or(i64::MAX).min(1 << 40);
    Some(if text.starts_with('-') { -power } else { power })
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
            "0x1p99999999999999999999x",
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
