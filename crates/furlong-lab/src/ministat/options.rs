//! The values of ministat's options, from the words on the command line.

use std::ops::RangeInclusive;

use super::number::{is_space, parse};
use crate::error::Error;

/// ministat's levels of confidence, in per cent.
pub const CLASSIC_CONFIDENCES: [f64; 6] = [80.0, 90.0, 95.0, 98.0, 99.0, 99.5];

/// Widths of ministat's picture. The limit is against typing errors: a wider one would take all
/// memory.
const CLASSIC_WIDTHS: RangeInclusive<usize> = 0..=1_000_000;

/// Widths of a corrected picture.
const WIDTHS: RangeInclusive<usize> = 2..=10_000;

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::usage(message))
}

/// `-c`: a confidence in per cent.
///
/// # Errors
/// Under `classic`, everything but ministat's six levels; otherwise, everything outside [50, 100).
pub fn confidence(word: &str, classic: bool) -> Result<f64, Error> {
    let is_level = |level: &f64| match classic {
        true => CLASSIC_CONFIDENCES.contains(level),
        false => (50.0..100.0).contains(level),
    };
    match parse(word.as_bytes()) {
        Ok(level) if is_level(&level) => Ok(level),
        _ if classic => refuse(format!(
            "-c {word}: with --ministat the confidence is one of 80, 90, 95, 98, 99, 99.5"
        )),
        _ => refuse(format!(
            "-c {word}: a confidence is a number of per cent from 50 to below 100, such as 95"
        )),
    }
}

/// `-C`: the number of a column, from one.
///
/// # Errors
/// Everything but a whole number of at least one.
pub fn column(word: &str) -> Result<usize, Error> {
    match whole(word) {
        Some(column) if column > 0 => Ok(column),
        _ => refuse(format!("-C {word}: columns are whole numbers from 1 up")),
    }
}

/// `-w`: the width of the picture between its borders.
///
/// # Errors
/// Everything but a whole number of a useful size; `classic` takes 0 and 1 as ministat does.
pub fn width(word: &str, classic: bool) -> Result<usize, Error> {
    let widths = if classic { CLASSIC_WIDTHS } else { WIDTHS };
    let found = match word {
        "" if classic => Some(0),
        word => whole(word),
    };
    match found.filter(|width| widths.contains(width)) {
        Some(width) => Ok(width),
        None => refuse(format!(
            "-w {word}: a width is a whole number from {} to {}",
            widths.start(),
            widths.end()
        )),
    }
}

/// `-d`: the bytes that separate columns.
///
/// # Errors
/// An empty list.
pub fn delimiters(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    if bytes.is_empty() {
        return refuse("-d needs at least one character, such as -d ,".to_string());
    }
    Ok(bytes.to_vec())
}

/// A whole number as read by `strtol` in base ten; `None` if anything follows it, or if it is
/// negative.
fn whole(word: &str) -> Option<usize> {
    let start = word.bytes().take_while(|&b| is_space(b)).count();
    let number: i64 = word[start..].parse().ok()?;
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::{column, confidence, delimiters, width};

    #[test]
    fn confidences_are_ministats_six_or_any_useful_number() {
        assert_eq!(confidence("95.0", true), Ok(95.0));
        assert_eq!(confidence("9e1", true), Ok(90.0));
        assert_eq!(confidence("99.9", false), Ok(99.9));
        for word in ["97", "95.0001", "95x", "80%", "", "nan"] {
            assert!(confidence(word, true).is_err(), "{word}");
        }
        for word in ["100", "0.95", "x", "", "nan", "-95"] {
            assert!(confidence(word, false).is_err(), "{word}");
        }
    }

    #[test]
    fn columns_count_from_one() {
        assert_eq!(column(" +1"), Ok(1));
        for word in ["0", "-1", "x", "1x", "", "99999999999999999999"] {
            assert!(column(word).is_err(), "{word}");
        }
    }

    #[test]
    fn widths_are_bounded_and_classic_ones_may_be_none() {
        assert_eq!(width("60", false), Ok(60));
        assert_eq!(width("0", true), Ok(0));
        assert_eq!(width("", true), Ok(0));
        for word in ["-1", "x", "1e3", "99999999999"] {
            assert!(width(word, true).is_err(), "{word}");
        }
        for word in ["0", "1", "", "10001"] {
            assert!(width(word, false).is_err(), "{word}");
        }
    }

    #[test]
    fn no_delimiter_at_all_is_refused() {
        assert!(delimiters(b"").is_err());
        assert_eq!(delimiters(b",;"), Ok(b",;".to_vec()));
    }
}
