//! Recordings: a sequence of plugs, unplugs and look-ups.
//!
//! ```text
//! furlong.plugs/1
//! page 4096
//! plug 0x100000 0x140000 0
//! find 0x13ffff
//! unplug 0x138000 0x140000
//! ```
//!
//! Frames are numbers of pages. `page` gives the page size in bytes; the default is 4096. Ranges
//! are half-open. A recording may contain operations that must be refused, because it lists
//! requests and not their outcomes.

use std::fmt;

use furlong::addr::{Address, Extent, Pfn};

use super::fault::{Fault, MapError};
use super::native::{node_from, node_name};
use super::number::number;
use super::text::{lines, text_of};
use crate::fault::shortened;

/// The first line.
const HEADING: &str = "furlong.plugs/1";

/// The start of the first line in every version.
const ANY_HEADING: &str = "furlong.plugs/";

/// The binary logarithm of the default page size.
const PAGE_SHIFT: u32 = 12;

/// The largest page: 1 GiB.
const PAGE_SHIFT_MAX: u32 = 30;

/// An operation on a table of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Adds frames as a new segment.
    Plug {
        /// The frames to add.
        frames: Extent<Pfn>,
        /// The NUMA node that owns them; `None` if it is unknown.
        node: Option<u32>,
    },
    /// Removes frames.
    Unplug {
        /// The frames to remove.
        frames: Extent<Pfn>,
    },
    /// Looks up a frame.
    Find {
        /// The frame.
        pfn: Pfn,
    },
}

/// A sequence of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Binary logarithm of the bytes in a frame. A frame has at most 1 GiB.
    pub page_shift: u32,
    /// The operations in their order.
    pub operations: Vec<Operation>,
}

impl Recording {
    /// Reads the recording in the bytes of a file. `name` is the file's name in errors.
    ///
    /// # Errors
    /// The first fault, with the file and, if there is one, the line.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Recording, MapError> {
        match Recording::parse_sound_part(name, bytes) {
            (recording, None) => Ok(recording),
            (_, Some(error)) => Err(error),
        }
    }

    /// Reads a recording up to the first fault, and returns both.
    #[must_use]
    pub fn parse_sound_part(name: &str, bytes: &[u8]) -> (Recording, Option<MapError>) {
        let mut sound = Recording {
            page_shift: PAGE_SHIFT,
            operations: Vec::new(),
        };
        let all = text_of(bytes).and_then(|text| sound.append(&text));
        (sound, all.err().map(|error| error.named(name)))
    }

    /// True if a file begins as a recording of any version does.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        let begins = |(_, line): (usize, &str)| line.starts_with(ANY_HEADING);
        text_of(bytes).is_ok_and(|text| lines(&text).next().is_some_and(begins))
    }

    /// Appends the operations in a text, up to the first fault.
    fn append(&mut self, text: &str) -> Result<(), MapError> {
        let mut lines = lines(text).peekable();
        let (line, heading) = lines.next().ok_or(MapError::whole(Fault::Empty))?;
        if heading != HEADING {
            let found = shortened(heading);
            let wanted = HEADING;
            return Err(MapError::at(line, Fault::Syntax { found, wanted }));
        }
        if let Some((line, bytes)) = lines.peek().and_then(|(line, text)| {
            let bytes = text.trim().strip_prefix("page ")?;
            Some((*line, bytes))
        }) {
            self.page_shift = page_shift_of(bytes).map_err(|fault| MapError::at(line, fault))?;
            lines.next();
        }
        for (line, text) in lines {
            let operation = operation(text).map_err(|fault| MapError::at(line, fault))?;
            self.operations.push(operation);
        }
        Ok(())
    }
}

fn page_shift_of(word: &str) -> Result<u32, Fault> {
    let bytes = number(word.trim(), u64::BITS)?;
    let shift = bytes.trailing_zeros();
    if bytes.is_power_of_two() && shift <= PAGE_SHIFT_MAX {
        return Ok(shift);
    }
    Err(Fault::Syntax {
        found: shortened(word),
        wanted: "a power of two of bytes, 1 GiB at most",
    })
}

fn operation(text: &str) -> Result<Operation, Fault> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["plug", start, end, node] => Ok(Operation::Plug {
            frames: frames(start, end)?,
            node: node_from(node)?,
        }),
        ["unplug", start, end] => Ok(Operation::Unplug {
            frames: frames(start, end)?,
        }),
        ["find", pfn] => Ok(Operation::Find {
            pfn: Pfn::new(number(pfn, u64::BITS)?),
        }),
        _ => Err(Fault::Syntax {
            found: shortened(text),
            wanted: "plug START END NODE, unplug START END or find PFN",
        }),
    }
}

fn frames(start: &str, end: &str) -> Result<Extent<Pfn>, Fault> {
    let (start, end) = (number(start, u64::BITS)?, number(end, u64::BITS)?);
    Extent::from_end(Pfn::new(start), Pfn::new(end)).ok_or(match end == start {
        true => Fault::Hollow { start },
        false => Fault::Reversed {
            start,
            last: end.saturating_sub(1),
        },
    })
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Plug { frames, node } => {
                write!(f, "plug {} {}", Ends(frames), node_name(*node))
            }
            Operation::Unplug { frames } => write!(f, "unplug {}", Ends(frames)),
            Operation::Find { pfn } => write!(f, "find {pfn}"),
        }
    }
}

/// Displays the start and the end of frames.
struct Ends<'a>(&'a Extent<Pfn>);

impl fmt::Display for Ends<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The end 2^64 does not fit into a word. It cannot occur, because addresses have fewer
        // frames.
        let last = self.0.last().raw();
        write!(f, "{} {:#x}", self.0.start(), last.saturating_add(1))
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADING}\npage {}", 1_u64 << self.page_shift)?;
        self.operations
            .iter()
            .try_for_each(|one| writeln!(f, "{one}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_SHIFT, Recording};
    use crate::phys_map::fault::refuses;

    fn parse(text: &str) -> Recording {
        Recording::parse("f", text.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let text = "furlong.plugs/1\npage 65536\nplug 0x0 0x10 7\nfind 0xffffffffffffffff\n\
                    plug 0x10 0xffffffffffffffff unknown\nunplug 0x8 0x9\n";
        assert_eq!(parse(text).to_string(), text);
        let decimal = "# a\r\nfurlong.plugs/1\r\nplug 0 16 7\r\n";
        let found = parse(decimal);
        assert_eq!((found.page_shift, found.operations.len()), (PAGE_SHIFT, 1));
        assert_eq!(parse(&found.to_string()), found);
        assert!(Recording::is_one(decimal.as_bytes()));
        assert!(!Recording::is_one(b"furlong.map/1\n"));
    }

    #[test]
    fn what_stands_before_a_malformed_line_is_kept() {
        let text = b"furlong.plugs/1\npage 8192\nplug 0 8 0\nfind 3\nfind\nfind 4\n";
        let (sound, error) = Recording::parse_sound_part("f", text);
        assert_eq!((sound.page_shift, sound.operations.len()), (13, 2));
        let error = error.unwrap();
        assert_eq!(error.line, Some(5));
        assert!(
            error
                .to_string()
                .starts_with("f: line 5: `find`: expected ")
        );
        assert!(Recording::is_one(b"furlong.plugs/2\n"));
    }

    #[test]
    fn malformed_lines_are_named() {
        let read = |text: &str| Recording::parse("f", text.as_bytes());
        let texts = [
            ("furlong.map/1\n", "1 Syntax"),
            ("furlong.plugs/2\n", "1 "),
            ("# a\n", "0 Empty"),
        ];
        refuses(read, &texts);
        let lines = [
            ("plug 0 1", "3 Syntax"),
            ("plug 0 1 0 0", "3 Syntax"),
            ("unplug 0", "3 Syntax"),
            ("find", "3 Syntax"),
            ("find 1 2", "3 Syntax"),
            ("seek 1", "3 Syntax"),
            ("page", "3 Syntax"),
            ("page 0", "3 Syntax"),
            ("page 3", "3 Syntax"),
            ("page 0x80000000", "3 Syntax"),
            ("find 1\npage 4096", "4 Syntax"),
            ("plug 8 8 0", "3 Hollow { start: 8 }"),
            ("unplug 8 0", "3 Reversed"),
            ("plug 8 g 0", "3 Number"),
            ("plug 8 9 one", "3 Number"),
            (
                "find 18446744073709551616",
                r#"3 LargeNumber { word: "18446744073709551616", bits: 64 }"#,
            ),
        ];
        let of = |line: &str| read(&format!("furlong.plugs/1\n\n{line}\n"));
        refuses(of, &lines);
    }
}
