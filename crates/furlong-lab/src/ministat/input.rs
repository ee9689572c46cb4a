//! Files of numbers, read as a stream: one value per line, from one column of words.
//!
//! Delimiters divide a line into words; a word that begins with `#` ends it. Memory holds only the
//! values and at most one word, however long a line is.

use std::ffi::{OsStr, OsString};
use std::io::BufRead;

use super::fault::unusable;
use super::scanner::Scanner;
use crate::error::Error;

/// Fewest values of a set: fewer say nothing about their spread.
pub const VALUES_MIN: usize = 3;

/// Rules for reading values from lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The word of a line to read, counted from one.
    pub column: usize,
    /// Bytes that separate words; several in a row count as one.
    pub delimiters: Vec<u8>,
    /// Exactly as ministat: a long line counts as several, and a NUL byte ends a line.
    pub classic: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            column: 1,
            delimiters: b" \t".to_vec(),
            classic: false,
        }
    }
}

/// The values of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// As given on the command line; `<stdin>` for `-`.
    pub name: OsString,
    /// In the order of the file; at least [`VALUES_MIN`], all finite.
    pub values: Vec<f64>,
    /// Lines with words but without the wanted column.
    pub skipped: Skipped,
}

/// Lines that had words, but too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Their number.
    pub count: u64,
    /// Number of the first one, counted from one.
    pub first_line: u64,
}

/// Reads values from any reader.
///
/// # Errors
/// The first error in it, with the line if there is one.
///
/// # Cost
/// O(bytes) time; eight bytes of memory per value, twice that while the list grows.
pub fn read_from(name: &OsStr, mut source: impl BufRead, reading: &Reading) -> Result<Set, Error> {
    let mut scanner = Scanner::new(reading);
    let outcome = scanner.drain(&mut source).and_then(|()| scanner.finish());
    outcome.map_err(|why| unusable(name, why))?;
    Ok(Set {
        name: name.to_os_string(),
        values: scanner.values,
        skipped: scanner.skipped,
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::{self, BufReader, Read};

    use super::{Reading, Set, Skipped, read_from};
    use crate::error::Error;

    fn read_as(reading: &Reading, text: &[u8]) -> Result<Set, Error> {
        read_from(OsStr::new("f"), text, reading)
    }

    fn values(text: &str) -> Vec<f64> {
        read_as(&Reading::default(), text.as_bytes())
            .unwrap()
            .values
    }

    fn message(reading: &Reading, text: &[u8]) -> String {
        read_as(reading, text).unwrap_err().to_string()
    }

    #[test]
    fn comments_blanks_carriage_returns_and_a_missing_newline_are_no_trouble() {
        let wanted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(values("1\n2\n3\n4"), wanted);
        assert_eq!(values("1\r\n2\r\n\r\n3\r\n4\r\n"), wanted);
        assert_eq!(
            values("# head\n 1\n\n\t2 # two\n  # no\n3 4 5\n4 x\n"),
            wanted
        );
        assert_eq!(values("1\u{b}\n2\u{c}\n3 \t\n4\r\r"), wanted);
        assert_eq!(values("1\u{b} \r\n2 \u{c} \n3\r \u{b}\n4 \r"), wanted);
        assert_eq!(values("0x1\n2e0\n+3\n.4e1"), wanted);
    }

    #[test]
    fn a_column_is_taken_and_lines_without_it_are_counted() {
        let reading = Reading {
            column: 2,
            ..Reading::default()
        };
        let set = read_as(&reading, b"a 1\nb\n\n\r\nc 2 x\n#\nd # 7\ne\t3\n").unwrap();
        assert_eq!(set.values, [1.0, 2.0, 3.0]);
        let (count, first_line) = (2, 2);
        assert_eq!(set.skipped, Skipped { count, first_line });
    }

    #[test]
    fn other_delimiters_leave_blanks_to_the_number() {
        let reading = Reading {
            column: 2,
            delimiters: b",;".to_vec(),
            classic: false,
        };
        let set = read_as(&reading, b"a b, 1\nx,;2;y\n,,z;3  \nw,  \r\n").unwrap();
        assert_eq!(set.values, [1.0, 2.0, 3.0]);
        assert_eq!(set.skipped.count, 1);
        assert!(message(&reading, b"a,5 ,6\n").contains("line 1: `5 `"));
    }

    #[test]
    fn each_bad_file_is_named_with_its_line_and_what_to_do() {
        let second = Reading {
            column: 2,
            ..Reading::default()
        };
        let first = Reading::default();
        for (reading, text, wanted) in [
            (&first, &b""[..], "f: is empty"),
            (&first, b"# a\n\n", "f: holds no number in 2 lines"),
            (&first, b"1\n2\n", "f: holds 2 values; at least 3"),
            (&first, b"7", "f: holds 1 value; at least 3"),
            (&first, b"1\ntime\n", "f: line 2: `time` is not a number;"),
            (
                &first,
                b"1\n\n\nnan\n",
                "f: line 4: `nan` is not a finite number",
            ),
            (&first, b"1\n2\n-inf", "f: line 3: `-inf` is not finite;"),
            (&first, b"1\n1e999\n", "f: line 2: `1e999` is too large"),
            (&first, b"1\n2\n3\n\0\n", "f: line 4: holds a NUL byte"),
            (&first, b"\x7fELF\x02\0\n", "f: line 1: holds a NUL byte"),
            (&first, b"1\n\x1b[31m\n", "f: line 2: `\\u{1b}[31m` is not"),
            (&second, b"1\n2\n3\n", "f: no line of 3 has a column 2;"),
        ] {
            let found = message(reading, text);
            assert!(found.starts_with(wanted), "{found}");
            assert!(!found.contains('\n'), "{found}");
        }
    }

    #[test]
    fn a_long_line_is_no_trouble_unless_it_is_one_word() {
        let long = "x ".repeat(200_000);
        assert_eq!(
            values(&format!("1 {long}\n#{long}\n2\n3\n")),
            [1.0, 2.0, 3.0]
        );
        let digits = "1".repeat(5000);
        let found = message(&Reading::default(), format!("1\n{digits}\n").as_bytes());
        assert!(found.starts_with("f: line 2: a word of more than 4096 bytes"));
        let word = "y".repeat(300);
        let found = message(&Reading::default(), word.as_bytes());
        assert!(found.len() < 140, "{found}");
    }

    #[test]
    fn classic_lines_end_after_8191_bytes_and_at_a_nul() {
        let classic = Reading {
            classic: true,
            ..Reading::default()
        };
        let blanks = " ".repeat(8190);
        let set = read_as(&classic, format!("1\n{blanks}17\n4\n").as_bytes()).unwrap();
        assert_eq!(set.values, [1.0, 1.0, 7.0, 4.0]);
        let set = read_as(&classic, b"1\n2\n3 \0x\n\0 4\n5\n").unwrap();
        assert_eq!(set.values, [1.0, 2.0, 3.0, 5.0]);
        let comment = format!("1\n2\n#{}\n4\n", "x".repeat(10_000));
        let found = message(&classic, comment.as_bytes());
        assert!(found.starts_with("f: line 4: `"), "{found}");
    }

    #[test]
    fn a_source_that_fails_in_the_middle_is_named_with_its_line() {
        struct Breaks;
        impl Read for Breaks {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let source = BufReader::new(b"1\n2\n3\n4".chain(Breaks));
        let found = read_from(OsStr::new("f"), source, &Reading::default()).unwrap_err();
        assert_eq!(found.to_string(), "f: line 4: cannot be read: gone");
    }
}
