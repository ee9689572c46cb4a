//! Conversion between events and lines of text.

use std::fmt;

use furlong::vmspace::linux::Mmap;

use super::fault::Fault;
use super::{Answer, Event, What};
use crate::fault::shortened;

/// The words of a line, consumed one by one.
struct Fields<'a>(std::str::Split<'a, char>);

impl<'a> Fields<'a> {
    fn word(&mut self, field: &'static str) -> Result<&'a str, Fault> {
        let word = self.0.next().filter(|word| !word.is_empty());
        word.ok_or(Fault::Missing { field })
    }

    fn parsed<T>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Fault> {
        let word = self.word(field)?;
        let wrong = || Fault::Field {
            field,
            word: shortened(word),
        };
        parse(word).ok_or_else(wrong)
    }

    /// A hexadecimal number without a prefix.
    fn hex(&mut self, field: &'static str) -> Result<u64, Fault> {
        self.parsed(field, hex)
    }

    fn decimal<T: std::str::FromStr>(&mut self, field: &'static str) -> Result<T, Fault> {
        self.parsed(field, |word| word.parse().ok())
    }

    /// The result of a call, after the `=`.
    fn answer(&mut self) -> Result<Answer, Fault> {
        self.parsed("`=` before the result", |word| (word == "=").then_some(()))?;
        self.parsed("result", |word| {
            if !word.starts_with('-') {
                return hex(word).map(Ok);
            }
            let errno = word.parse().ok().filter(|errno| (-4095..0).contains(errno));
            errno.map(|errno: i32| Err(-errno))
        })
    }

    fn end(mut self) -> Result<(), Fault> {
        let word = self.0.next().map(shortened);
        word.map_or(Ok(()), |word| Err(Fault::More { word }))
    }
}

fn hex(word: &str) -> Option<u64> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(word, 16).ok())?
}

/// Parses the event in a line.
pub(super) fn event(number: u32, line: &str) -> Result<Event, Fault> {
    let mut fields = Fields(line.split(' '));
    let at_us = fields.decimal("time")?;
    let letter = fields.word("operation")?;
    if letter.len() != 1 || !"ximupbrfce".contains(letter) {
        let word = shortened(letter);
        return Err(Fault::Unknown { word });
    }
    let first = fields.decimal("process")?;
    let what = match letter {
        "x" => What::Exec,
        "i" => image(&mut fields)?,
        "m" => map(&mut fields)?,
        "u" => What::Unmap {
            start: fields.hex("start")?,
            len: fields.hex("length")?,
            answer: fields.answer()?,
        },
        "p" => What::Protect {
            start: fields.hex("start")?,
            len: fields.hex("length")?,
            prot: fields.decimal("protection")?,
            answer: fields.answer()?,
        },
        "b" => What::Brk {
            end: fields.hex("end of the heap")?,
            answer: fields.answer()?,
        },
        "r" => What::Remap {
            start: fields.hex("start")?,
            old_len: fields.hex("old length")?,
            new_len: fields.hex("new length")?,
            flags: fields.hex("flags")?,
            new_start: fields.hex("new start")?,
            answer: fields.answer()?,
        },
        "f" => What::Fault {
            address: fields.hex("address")?,
            code: fields.hex("error code")?,
        },
        "c" => What::Task {
            child: fields.decimal("child")?,
            flags: fields.hex("flags")?,
        },
        "e" => What::Exit { task: first },
        _ => unreachable!("the letter is one of these"),
    };
    // The ID of the ending task comes first, then its process.
    let pid = match what {
        What::Exit { .. } => fields.decimal("process")?,
        _ => first,
    };
    if !matches!(what, What::Image { .. }) {
        fields.end()?;
    }
    Ok(Event {
        line: number,
        at_us,
        pid,
        what,
    })
}

/// The name extends to the end of the line, because it may contain blanks.
fn image(fields: &mut Fields<'_>) -> Result<What, Fault> {
    let (start, len) = (fields.hex("start")?, fields.hex("length")?);
    let prot = fields.decimal("protection")?;
    let mut name = fields.word("name")?.to_string();
    for word in fields.0.by_ref() {
        name = name + " " + word;
    }
    if name.contains(char::is_control) {
        let (field, word) = ("name", shortened(&name));
        return Err(Fault::Field { field, word });
    }
    Ok(What::Image {
        start,
        len,
        prot,
        name: name.into(),
    })
}

fn map(fields: &mut Fields<'_>) -> Result<What, Fault> {
    let (address, len) = (fields.hex("start")?, fields.hex("length")?);
    let prot = fields.decimal("protection")?;
    let flags = fields.hex("flags")?;
    let fd = fields.decimal("file")?;
    let call = Mmap {
        address,
        len,
        prot,
        flags,
        offset: fields.hex("offset")?,
    };
    let answer = fields.answer()?;
    Ok(What::Map { call, fd, answer })
}

/// A result in its written form.
struct Written(Answer);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(number) => write!(f, "= {number:x}"),
            Err(errno) => write!(f, "= -{errno}"),
        }
    }
}

impl fmt::Display for Event {
    /// Writes the line without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, pid) = (self.at_us, self.pid);
        match &self.what {
            What::Exec => write!(f, "{at} x {pid}"),
            What::Image {
                start,
                len,
                prot,
                name,
            } => write!(f, "{at} i {pid} {start:x} {len:x} {prot} {name}"),
            What::Map { call, fd, answer } => {
                let (address, len, prot) = (call.address, call.len, call.prot);
                write!(f, "{at} m {pid} {address:x} {len:x} {prot} ")?;
                let (flags, offset) = (call.flags, call.offset);
                write!(f, "{flags:x} {fd} {offset:x} {}", Written(*answer))
            }
            What::Unmap { start, len, answer } => {
                write!(f, "{at} u {pid} {start:x} {len:x} {}", Written(*answer))
            }
            What::Protect {
                start,
                len,
                prot,
                answer,
            } => write!(
                f,
                "{at} p {pid} {start:x} {len:x} {prot} {}",
                Written(*answer)
            ),
            What::Brk { end, answer } => write!(f, "{at} b {pid} {end:x} {}", Written(*answer)),
            What::Remap {
                start,
                old_len,
                new_len,
                flags,
                new_start,
                answer,
            } => {
                write!(
                    f,
                    "{at} r {pid} {start:x} {old_len:x} {new_len:x} {flags:x} "
                )?;
                write!(f, "{new_start:x} {}", Written(*answer))
            }
            What::Fault { address, code } => write!(f, "{at} f {pid} {address:x} {code:x}"),
            What::Task { child, flags } => write!(f, "{at} c {pid} {child} {flags:x}"),
            What::Exit { task } => write!(f, "{at} e {task} {pid}"),
        }
    }
}
