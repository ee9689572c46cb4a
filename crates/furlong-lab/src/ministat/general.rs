//! Numbers as in C's `%g`: a number of significant digits, in the shorter of two forms.

/// `%.{digits}g`.
///
/// # Example
/// ```
/// use furlong_lab::ministat::general::general;
///
/// assert_eq!(general(218.076_666_666_666_66, 8), "218.07667");
/// assert_eq!(general(1e9, 6), "1e+09");
/// ```
pub fn general(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() { "nan" } else { "inf" };
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{name}");
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, power)) = scientific.split_once('e') else {
        return scientific;
    };
    let power: i32 = power.parse().unwrap_or(0);
    if power < -4 || power >= digits as i32 {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), power.abs());
    }
    let decimals = (digits as i32 - 1 - power).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).to_string()
}

/// The number without zeros at the end of its fraction, and without a point at the end.
pub(crate) fn trimmed(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn eight_digits_and_six_are_rounded_and_trimmed() {
        for (value, digits, wanted) in [
            (0.0, 8, "0"),
            (-0.0, 8, "-0"),
            (5.5, 8, "5.5"),
            (100.0, 8, "100"),
            (123_456_789.0, 8, "1.2345679e+08"),
            (99_999_999.5, 8, "1e+08"),
            (0.000_123_45, 8, "0.00012345"),
            (0.000_012_345, 8, "1.2345e-05"),
            (-1e-300, 6, "-1e-300"),
            (2.5, 1, "2"),
            (f64::INFINITY, 6, "inf"),
            (-f64::INFINITY, 6, "-inf"),
            (f64::NAN, 6, "nan"),
            (999_999.5, 6, "1e+06"),
            (1e16, 6, "1e+16"),
        ] {
            assert_eq!(general(value, digits), wanted);
        }
    }

    #[test]
    fn reading_back_agrees_to_the_digits_that_were_asked() {
        let mut value = 1.234_567_890_123e-280;
        while value < 1e280 {
            for digits in [3, 6, 8, 17] {
                let back: f64 = general(value, digits).parse().unwrap();
                let allowed = 0.51 * 10_f64.powi(1 - digits as i32);
                assert!((back / value - 1.0).abs() <= allowed, "{value:e} {digits}");
            }
            value *= 7.3;
        }
    }
}
