//! Files of numbers, read as a stream: one value per line, from one column of words.
//!
//! Delimiters divide a line into words; a word that begins with `#` ends it. Memory holds only the
//! values and one line of limited length.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, Read as _};

use super::fault::{shortened, unusable};
use super::number::{NumberError, is_space, parse};
use crate::error::{Error, cause};

/// Fewest values of a set: fewer say nothing about their spread.
pub const VALUES_MIN: usize = 3;

/// Length limit of a word; no number needs it.
const WORD_BYTES_MAX: usize = 4096;

/// Length limit of a line, against files that are no text.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// ministat splits longer lines.
const CLASSIC_LINE_BYTES: u64 = 8191;

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
/// O(bytes) time; eight bytes of memory per value, twice that while the list grows, and one line.
pub fn read_from(name: &OsStr, source: impl BufRead, reading: &Reading) -> Result<Set, Error> {
    let mut set = Set {
        name: name.to_os_string(),
        values: Vec::new(),
        skipped: Skipped::default(),
    };
    let read = read_lines(&mut set, source, reading);
    let checked = read.and_then(|lines| check(&set, lines, reading.column));
    checked.map_err(|why| unusable(name, why))?;
    set.values.shrink_to_fit();
    Ok(set)
}

/// Adds the values of all lines, and returns the number of lines.
fn read_lines(set: &mut Set, mut source: impl BufRead, reading: &Reading) -> Result<u64, String> {
    let bytes_max = match reading.classic {
        true => CLASSIC_LINE_BYTES,
        false => LINE_BYTES_MAX,
    };
    let mut lines = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = source.by_ref().take(bytes_max).read_until(b'\n', &mut line);
        let found = read
            .map_err(|error| format!("cannot be read: {}", cause(&error)))
            .and_then(|_| find(&line, reading))
            .map_err(|why| format!("line {}: {why}", lines + 1))?;
        if line.is_empty() {
            return Ok(lines);
        }
        lines += 1;
        match found {
            Found::Value(value) => set.values.push(value),
            Found::Nothing => {}
            Found::OtherWords => {
                if set.skipped.count == 0 {
                    set.skipped.first_line = lines;
                }
                set.skipped.count += 1;
            }
        }
    }
}

/// Content of a line.
enum Found {
    /// The number in the wanted column.
    Value(f64),
    /// Words, but too few.
    OtherWords,
    /// White space or a comment.
    Nothing,
}

fn find(line: &[u8], reading: &Reading) -> Result<Found, String> {
    let mut text = line;
    if let Some(nul) = line.iter().position(|&b| b == 0) {
        if !reading.classic {
            return Err("holds a NUL byte; name a text file of numbers".to_owned());
        }
        text = &line[..nul];
    } else if line.len() as u64 == LINE_BYTES_MAX {
        return Err(format!(
            "has {LINE_BYTES_MAX} bytes or more; name a text file of numbers"
        ));
    }
    // White space at the end never counts, whatever the delimiters are.
    let end = text.iter().rposition(|&b| !is_space(b));
    let words = text[..end.map_or(0, |last| last + 1)]
        .split(|byte| reading.delimiters.contains(byte))
        .filter(|word| !word.is_empty())
        .take_while(|word| word[0] != b'#');
    let mut found = Found::Nothing;
    for (column, word) in (1..).zip(words) {
        if column == reading.column {
            return number(word, reading.classic).map(Found::Value);
        }
        if !word.iter().all(|&b| is_space(b)) {
            found = Found::OtherWords;
        }
    }
    Ok(found)
}

fn number(word: &[u8], classic: bool) -> Result<f64, String> {
    if word.len() > WORD_BYTES_MAX && !classic {
        return Err(format!(
            "a word of more than {WORD_BYTES_MAX} bytes is not a number; set the separator of \
             columns with -d"
        ));
    }
    parse(word).map_err(|why| {
        let remedy = match why {
            NumberError::Malformed => "begin a heading with #, or choose a column with -C",
            _ => "correct or remove the line",
        };
        format!("`{}` {why}; {remedy}", shortened(word))
    })
}

/// Refuses too few values.
fn check(set: &Set, lines: u64, column: usize) -> Result<(), String> {
    match set.values.len() {
        0 if set.skipped.count > 0 => Err(format!(
            "no line of {lines} has a column {column}; choose another with -C, or set the \
             separator with -d"
        )),
        0 if lines == 0 => Err("is empty; write one number a line".to_owned()),
        0 => Err(format!(
            "holds no number in {lines} lines, only comments and blanks; write one a line"
        )),
        found if found < VALUES_MIN => {
            let plural = if found == 1 { "" } else { "s" };
            Err(format!(
                "holds {found} value{plural}; at least {VALUES_MIN} are needed"
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::{self, BufRead, BufReader, Read};

    use super::{Reading, Set, Skipped, read_from};
    use crate::error::Error;
    use furlong_stats::random::Random;

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
        let endless = "1 ".repeat(1 << 20);
        let found = message(&Reading::default(), format!("1\n{endless}").as_bytes());
        assert!(found.starts_with("f: line 2: has 1048576 bytes or more"));
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

    /// The same grammar on whole lines, for text without long lines or NUL bytes.
    fn by_lines(text: &[u8], reading: &Reading) -> Option<Vec<f64>> {
        let mut values = Vec::new();
        for line in text.split(|&b| b == b'\n') {
            let end = line.iter().rposition(|b| !b" \t\x0b\x0c\r".contains(b));
            let line = &line[..end.map_or(0, |last| last + 1)];
            let mut words = line
                .split(|b| reading.delimiters.contains(b))
                .filter(|word| !word.is_empty())
                .take_while(|word| word[0] != b'#');
            if let Some(word) = words.nth(reading.column - 1) {
                values.push(crate::ministat::number::parse(word).ok()?);
            }
        }
        (values.len() >= 3).then_some(values)
    }

    #[test]
    fn random_bytes_never_panic_and_agree_with_reading_by_lines() {
        let alphabet = b"0123456789 \t\r\n#.,-+exXpPaAnNiIfF\x0b\xff\xc3(_)";
        let mut random = Random::new(1);
        let mut next = |below| random.below(below);
        let mut agreed = 0;
        for round in 0..20_000 {
            // Mostly digits and line ends, so that many rounds have valid input.
            let text: Vec<u8> = (0..next(40))
                .map(|_| match next(16) {
                    0..=6 => b'0' + next(10) as u8,
                    7..=10 => b'\n',
                    11..=13 => b' ',
                    14 => alphabet[next(alphabet.len())],
                    _ if round % 4 == 0 => next(256) as u8,
                    _ => b'1',
                })
                .collect();
            let reading = Reading {
                column: 1 + next(3),
                delimiters: [&b" \t"[..], b",", b" ,", b"1\r"][next(4)].to_vec(),
                classic: next(2) == 0,
            };
            let capacity = 1 + next(16);
            let source = BufReader::with_capacity(capacity, text.as_slice());
            let found = read_from(OsStr::new("f"), source, &reading);
            if !text.contains(&0) {
                let found = found.ok().map(|set| set.values);
                assert_eq!(found, by_lines(&text, &reading), "{text:?} {reading:?}");
                agreed += usize::from(found.is_some());
            }
        }
        assert!(agreed > 1000, "only {agreed} rounds were good input");
    }

    #[test]
    fn whatever_the_bytes_reading_ends_without_a_panic() {
        let mut random = Random::new(42);
        for _ in 0..200 {
            let bytes: Vec<u8> = (0..10_000).map(|_| (random.bits() >> 56) as u8).collect();
            for classic in [false, true] {
                let reading = Reading {
                    classic,
                    ..Reading::default()
                };
                let mut source = bytes.as_slice();
                assert!(read_from(OsStr::new("f"), &mut source, &reading).is_err());
                assert!(source.fill_buf().is_ok());
            }
        }
    }
}
