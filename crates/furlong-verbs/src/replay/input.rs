//! Sources of a trace: a file or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use furlong_lab::error::Error;
use furlong_lab::report::text::plain;

/// Maximum size: more than any trace that can be replayed.
pub(super) const BYTES_MAX: u64 = 1 << 30;

/// Magic number of zstd.
const PACKED: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// A trace, read but not yet parsed.
#[derive(Clone, Debug)]
pub struct Input {
    /// Name for messages.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Input {
    /// Reads a trace; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub fn read(path: &Path) -> Result<Input, Error> {
        if path == Path::new("-") {
            return Input::of("standard input", &mut io::stdin().lock());
        }
        let name = plain(&path.display().to_string());
        let cannot = |error: io::Error| Error::usage(format!("{name}: cannot be read: {error}"));
        let mut file = File::open(path).map_err(cannot)?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err(Error::usage(format!("{name}: is a directory; name a file")));
        }
        Input::of(&name, &mut file)
    }

    fn of(name: &str, from: &mut impl Read) -> Result<Input, Error> {
        let mut bytes = Vec::new();
        let read = from.take(BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| Error::usage(format!("{name}: cannot be read: {error}")))?;
        if bytes.len() as u64 > BYTES_MAX {
            let most = BYTES_MAX >> 30;
            return Err(Error::usage(format!(
                "{name}: has more than {most} GiB, too much for one replay; split it"
            )));
        }
        Ok(Input {
            name: name.to_owned(),
            bytes,
        })
    }

    /// True if it is compressed with zstd.
    pub(super) fn is_packed(&self) -> bool {
        self.bytes.starts_with(&PACKED)
    }

    /// The first `bytes` bytes, decompressed if necessary; fewer if there are fewer.
    pub(super) fn beginning(&self, bytes: usize) -> Vec<u8> {
        let mut start = vec![];
        if !self.is_packed() {
            start.extend(self.bytes.iter().take(bytes));
        } else if let Ok(decoder) = StreamingDecoder::new(self.bytes.as_slice()) {
            // The bytes before an error count.
            let _ = decoder.take(bytes as u64).read_to_end(&mut start);
        }
        start
    }

    /// True if it begins with the heading, compressed or not.
    pub(super) fn begins_with(&self, heading: &str) -> bool {
        self.beginning(heading.len()) == heading.as_bytes()
    }

    /// True if the last line is complete: a truncated file seldom ends with a line end. True for
    /// compressed input, where decompression detects a truncation.
    #[must_use]
    pub fn ends_with_a_line(&self) -> bool {
        self.is_packed() || self.bytes.last().is_none_or(|byte| *byte == b'\n')
    }
}
