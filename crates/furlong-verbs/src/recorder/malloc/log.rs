//! The file that the preloaded library writes: a header of one page, and events of 32 bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

use super::tape::{Recorded, Tape};

/// "furlrec1", as in `malloc-record/log.rs`.
const MAGIC: u64 = u64::from_le_bytes(*b"furlrec1");

/// Bytes before the first event.
const HEADER_BYTES: u64 = 4096;

/// Bytes of an event.
pub(super) const EVENT_BYTES: usize = 32;

/// A block's address; 0 means none.
pub(super) type Address = u64;

/// A recorded call, as in `malloc-record/log.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedCall {
    Begun,
    Forked {
        parent: u64,
    },
    Allocated {
        zeroed: bool,
        align: u64,
        block: Address,
    },
    Freed {
        block: Address,
    },
    Resizing {
        block: Address,
    },
    Resized {
        block: Address,
        old: Address,
    },
    /// The size is the number of such events of the block directly before.
    Touched {
        block: Address,
        first: u64,
        pages: u64,
    },
    /// The size is the memory outside the heap.
    Sampled {
        at_ns: u64,
        busy_ns: u64,
    },
    /// The library that would serve the program: device and number of its file.
    Served {
        allocator: [u64; 2],
    },
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) process: u64,
    pub(super) thread: u64,
    pub(super) size: u64,
    pub(super) call: RecordedCall,
}

impl Event {
    /// Decodes an event from its words; `None` if it is unfinished.
    pub(super) fn of(words: [u64; 4]) -> Option<Event> {
        let [what, size, block, old] = words;
        let call = match what & 0xff {
            1 => RecordedCall::Begun,
            2 => RecordedCall::Forked { parent: old },
            kind @ (3 | 4) => RecordedCall::Allocated {
                zeroed: kind == 4,
                align: 1 << (what >> 8 & 0x3f),
                block,
            },
            5 => RecordedCall::Freed { block: old },
            6 => RecordedCall::Resizing { block: old },
            7 => RecordedCall::Resized { block, old },
            8 => RecordedCall::Touched {
                block,
                first: old >> 32,
                pages: old & u64::from(u32::MAX),
            },
            9 => RecordedCall::Sampled {
                at_ns: old,
                busy_ns: block,
            },
            10 => RecordedCall::Served {
                allocator: [old, block],
            },
            _ => return None,
        };
        Some(Event {
            process: size >> 42,
            thread: what >> 16,
            size: size & ((1 << 42) - 1),
            call,
        })
    }
}

/// A log in a file.
pub(super) struct Log {
    path: PathBuf,
    capacity: u64,
}

impl Log {
    /// Creates a log with all its disk space allocated. If the mapped file grew on demand, a full
    /// disk would fault the program.
    pub(super) fn new(path: &Path, capacity: u64) -> io::Result<Log> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let bytes = capacity.saturating_mul(EVENT_BYTES as u64);
        let bytes = bytes.saturating_add(HEADER_BYTES);
        // Some file systems use up all their space before they report that it is too little, and
        // concurrent writers fail meanwhile.
        let system = fstatvfs(&file)?;
        if bytes > system.f_bavail.saturating_mul(system.f_frsize) {
            return Err(Errno::NOSPC.into());
        }
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        (&file).write_all([MAGIC, capacity].map(u64::to_le_bytes).as_flattened())?;
        Ok(Log {
            path: path.to_owned(),
            capacity,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the recorded events.
    pub(super) fn read(&self) -> io::Result<Recorded> {
        let mut file = File::open(&self.path)?;
        let mut header = [0; 24];
        file.read_exact(&mut header)?;
        let next = header[16..].try_into().map_or(0, u64::from_le_bytes);
        file.seek(SeekFrom::Start(HEADER_BYTES))?;
        let mut file = BufReader::new(file);
        let mut tape = Tape::default();
        let mut bytes = [0; EVENT_BYTES];
        for _ in 0..next.min(self.capacity) {
            file.read_exact(&mut bytes)?;
            let words = bytes.as_chunks::<8>().0;
            let word = |at: usize| u64::from_le_bytes(words[at]);
            tape.take(Event::of([word(0), word(1), word(2), word(3)]));
        }
        Ok(tape.end(next.saturating_sub(self.capacity)))
    }
}
