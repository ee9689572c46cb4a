//! Bytes to values by a state machine over each line: no line is ever held in memory.

use std::io::{self, BufRead};

use super::fault::shortened;
use super::input::{Reading, Skipped, VALUES_MIN};
use super::number::{NumberError, is_space, parse};
use crate::error::cause;

/// Length limit of a word; no number needs it.
const WORD_BYTES_MAX: usize = 4096;

/// ministat splits longer lines.
const CLASSIC_LINE_BYTES: usize = 8191;

/// The scanner's position in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the beginning or among delimiters.
    Gap,
    /// In a word before the wanted one.
    Earlier,
    /// In the wanted word.
    Wanted,
    /// After it, with only white space since. If the line ends here, neither this white space nor
    /// that at the end of the word counts.
    Behind,
    /// After everything that matters.
    Rest,
}

/// Bytes in, values out.
pub(super) struct Scanner<'a> {
    reading: &'a Reading,
    is_delimiter: [bool; 256],
    place: Place,
    /// Words of this line so far, the current one included.
    words: usize,
    /// True if one of them has more than white space.
    inked: bool,
    /// True if this line had the wanted word.
    found: bool,
    /// Bytes of this line so far.
    length: usize,
    /// Complete lines.
    lines: u64,
    word: Vec<u8>,
    pub(super) values: Vec<f64>,
    pub(super) skipped: Skipped,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(reading: &'a Reading) -> Self {
        let mut is_delimiter = [false; 256];
        for &byte in &reading.delimiters {
            is_delimiter[usize::from(byte)] = true;
        }
        Self {
            reading,
            is_delimiter,
            place: Place::Gap,
            words: 0,
            inked: false,
            found: false,
            length: 0,
            lines: 0,
            word: Vec::new(),
            values: Vec::new(),
            skipped: Skipped::default(),
        }
    }

    fn line(&self) -> u64 {
        self.lines + 1
    }

    fn refuse(&self, what: &str) -> Result<(), String> {
        Err(format!("line {}: {what}", self.line()))
    }

    pub(super) fn drain(&mut self, source: &mut impl BufRead) -> Result<(), String> {
        loop {
            let chunk = match source.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return self.refuse(&format!("cannot be read: {}", cause(&error)));
                }
            };
            for &byte in chunk {
                self.byte(byte)?;
            }
            let used = chunk.len();
            source.consume(used);
        }
        if self.length > 0 {
            self.end_line()?;
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> Result<(), String> {
        self.length += 1;
        if byte == b'\n' {
            return self.end_line();
        }
        if byte == 0 {
            if !self.reading.classic {
                return self.refuse("holds a NUL byte; name a text file of numbers");
            }
            self.end_text()?;
            self.place = Place::Rest;
        } else {
            self.text(byte)?;
        }
        if self.reading.classic && self.length == CLASSIC_LINE_BYTES {
            return self.end_line();
        }
        Ok(())
    }

    fn text(&mut self, byte: u8) -> Result<(), String> {
        let delimiter = self.is_delimiter[usize::from(byte)];
        let comment = byte == b'#' && self.place == Place::Gap;
        self.inked |= !(delimiter || comment || self.place == Place::Rest || is_space(byte));
        match self.place {
            Place::Rest => {}
            Place::Gap if delimiter => {}
            Place::Gap if comment => self.place = Place::Rest,
            Place::Gap => {
                self.words += 1;
                self.place = if self.words == self.reading.column {
                    self.word.push(byte);
                    Place::Wanted
                } else {
                    Place::Earlier
                };
            }
            Place::Earlier if delimiter => self.place = Place::Gap,
            Place::Earlier => {}
            Place::Wanted if delimiter && is_space(byte) => self.place = Place::Behind,
            Place::Behind if is_space(byte) => {}
            Place::Behind => {
                self.value()?;
                self.place = Place::Rest;
            }
            Place::Wanted if delimiter => {
                self.value()?;
                self.place = Place::Rest;
            }
            Place::Wanted => {
                if self.word.len() == WORD_BYTES_MAX && !self.reading.classic {
                    return self.refuse(&format!(
                        "a word of more than {WORD_BYTES_MAX} bytes is not a number; set the \
                         separator of columns with -d"
                    ));
                }
                self.word.push(byte);
            }
        }
        Ok(())
    }

    /// Handles the end of a line's text: white space there never counts.
    fn end_text(&mut self) -> Result<(), String> {
        if matches!(self.place, Place::Wanted | Place::Behind) {
            let kept = self.word.iter().rposition(|&b| !is_space(b));
            self.word.truncate(kept.map_or(0, |last| last + 1));
            if !self.word.is_empty() {
                self.value()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), String> {
        self.end_text()?;
        if self.inked && !self.found {
            if self.skipped.count == 0 {
                self.skipped.first_line = self.line();
            }
            self.skipped.count += 1;
        }
        self.word.clear();
        self.place = Place::Gap;
        self.words = 0;
        self.inked = false;
        self.found = false;
        self.length = 0;
        self.lines += 1;
        Ok(())
    }

    fn value(&mut self) -> Result<(), String> {
        self.found = true;
        match parse(&self.word) {
            Ok(value) => self.values.push(value),
            Err(why) => {
                let word = shortened(&self.word);
                let remedy = match why {
                    NumberError::Malformed => "begin a heading with #, or choose a column with -C",
                    _ => "correct or remove the line",
                };
                return self.refuse(&format!("`{word}` {why}; {remedy}"));
            }
        }
        self.word.clear();
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<(), String> {
        let lines = self.lines;
        match self.values.len() {
            0 if self.skipped.count > 0 => Err(format!(
                "no line of {lines} has a column {}; choose another with -C, or set the separator \
                 with -d",
                self.reading.column
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
            _ => {
                self.values.shrink_to_fit();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::{BufRead, BufReader};

    use crate::ministat::input::{Reading, read_from};
    use furlong_stats::random::Random;

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
