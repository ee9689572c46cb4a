//! A profile as a file of pprof: `profile.proto`, in gzip's format without compression.
//!
//! Nothing here allocates or takes a lock, so a handler of a signal may write a profile.
//!
//! # Sources
//! - pprof, `proto/profile.proto`: the numbers of the fields.
//! - RFC 1951, section 3.2.4 (stored blocks), and RFC 1952 (gzip, CRC-32).
#![forbid(unsafe_code)]

use super::maps::{MAPPINGS, Mapping};
use super::memory::with_numbers;
use super::table::{FRAMES, ONE, Stack, Sum, Table};

/// The bytes of a block of the file.
const BLOCK: usize = 1 << 15;

/// Memory for a profile that is being written.
pub(super) struct Scratch {
    pub(super) mappings: [Mapping; MAPPINGS],
    block: [u8; BLOCK],
}

/// A file that is being written.
pub(super) trait Sink {
    /// Writes bytes. `false` if that failed, now or before.
    fn write(&mut self, bytes: &[u8]) -> bool;
}

/// A file in gzip's format, of stored blocks.
struct Gzip<'a, S> {
    sink: &'a mut S,
    block: &'a mut [u8; BLOCK],
    used: usize,
    crc: u32,
    len: u32,
}

impl<S: Sink> Gzip<'_, S> {
    fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.used == BLOCK {
                self.flush(0);
            }
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.used));
            self.block[self.used..][..now.len()].copy_from_slice(now);
            self.used += now.len();
            bytes = later;
        }
    }

    /// Writes a block; `last` is 1 for the last one.
    fn flush(&mut self, last: u8) {
        let block = &self.block[..self.used];
        let len = block.len() as u16;
        let [low, high] = len.to_le_bytes();
        self.sink.write(&[last, low, high, !low, !high]);
        self.sink.write(block);
        for byte in block {
            self.crc ^= u32::from(*byte);
            for _ in 0..8 {
                let bit = self.crc & 1;
                self.crc = self.crc >> 1 ^ (bit * 0xedb8_8320);
            }
        }
        self.len = self.len.wrapping_add(u32::from(len));
        self.used = 0;
    }

    /// Ends the file. `false` if it could not be written.
    fn end(mut self) -> bool {
        self.flush(1);
        self.sink.write(&(!self.crc).to_le_bytes());
        self.sink.write(&self.len.to_le_bytes())
    }
}

/// A message within the profile.
struct Message {
    bytes: [u8; 1024],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self {
            bytes: [0; 1024],
            len: 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Appends bytes; all messages here are shorter than there is room.
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        for (slot, byte) in room.iter_mut().zip(bytes) {
            *slot = *byte;
            self.len += 1;
        }
        self
    }

    fn varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.raw(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.raw(&[value as u8])
    }

    fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3).varint(value)
    }

    /// A field of bytes, or of a message.
    fn nested(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2)
            .varint(bytes.len() as u64)
            .raw(bytes)
    }
}

/// The first strings of the table of strings: the others are the names of mapped files.
const STRINGS: [&str; 8] = [
    "",
    "alloc_objects",
    "count",
    "alloc_space",
    "bytes",
    "inuse_objects",
    "inuse_space",
    "space",
];

/// The four values of a sample, as numbers of strings: the type and the unit.
const TYPES: [(u64, u64); 4] = [(1, 2), (3, 4), (5, 2), (6, 4)];

fn pair((kind, unit): (u64, u64)) -> Message {
    let mut pair = Message::new();
    pair.number(1, kind).number(2, unit);
    pair
}

/// Writes a profile. `false` if it could not be written.
pub(super) fn write(
    table: &Table,
    scratch: &mut Scratch,
    mappings: usize,
    (every, time_ns): (usize, u64),
    sink: &mut impl Sink,
) -> bool {
    let mappings = scratch.mappings.get(..mappings).unwrap_or_default();
    sink.write(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    let mut out = Gzip {
        sink,
        block: &mut scratch.block,
        used: 0,
        crc: u32::MAX,
        len: 0,
    };
    for types in TYPES {
        out.put(Message::new().nested(1, pair(types).bytes()).bytes());
    }
    for stack in table.stacks() {
        out.put(Message::new().nested(2, sample(stack).bytes()).bytes());
    }
    for (at, mapping) in mappings.iter().enumerate() {
        let mut message = Message::new();
        let (start, end) = (mapping.start as u64, mapping.end as u64);
        message.number(1, at as u64 + 1).number(2, start);
        message.number(3, end).number(4, mapping.offset);
        message.number(5, (STRINGS.len() + at) as u64);
        out.put(Message::new().nested(3, message.bytes()).bytes());
    }
    let located = with_places(table, |place| out.put(location(place, mappings).bytes()));
    let names = STRINGS.map(str::as_bytes).into_iter();
    for name in names.chain(mappings.iter().map(Mapping::path)) {
        out.put(Message::new().nested(6, name).bytes());
    }
    let mut rest = Message::new();
    rest.number(9, time_ns).nested(11, pair((7, 4)).bytes());
    rest.number(12, every as u64).number(14, 6);
    out.put(rest.bytes());
    out.end() && located.is_some()
}

/// A stack, by the numbers of its places, with its four values.
fn sample(stack: &Stack) -> Message {
    let mut ids = Message::new();
    for frame in stack.frames() {
        ids.varint(*frame as u64);
    }
    let mut values = Message::new();
    for Sum { count, bytes } in [stack.own(), stack.live()] {
        values.varint((count + ONE / 2) / ONE).varint(bytes);
    }
    let mut sample = Message::new();
    sample.nested(1, ids.bytes()).nested(2, values.bytes());
    sample
}

/// Calls `put` once with each address in any stack. `None` if there is no memory to sort them.
fn with_places(table: &Table, mut put: impl FnMut(usize)) -> Option<()> {
    with_numbers(table.stacks().len() * FRAMES, |places| {
        let frames = table.stacks().iter().flat_map(Stack::frames);
        let slots = places.iter_mut().zip(frames);
        slots.for_each(|(place, frame)| *place = *frame);
        places.sort_unstable();
        let mut before = 0;
        for place in places {
            if *place != before {
                before = *place;
                put(before);
            }
        }
    })
}

/// A place in the program, numbered by the address to which a call returns. The address of the
/// place is one byte before, in the call.
fn location(frame: usize, mappings: &[Mapping]) -> Message {
    let mut message = Message::new();
    message.number(1, frame as u64);
    if let Some(at) = mappings.iter().position(|mapping| mapping.has(frame)) {
        message.number(2, at as u64 + 1);
    }
    message.number(3, frame as u64 - 1);
    let mut field = Message::new();
    field.nested(4, message.bytes());
    field
}
