//! The files that a process has mapped to run, from `/proc/self/maps`.
#![forbid(unsafe_code)]

/// The most mapped files of a profile.
pub(super) const MAPPINGS: usize = 1024;

/// The longest name of a mapped file; of a longer one the end is cut off.
const PATH: usize = 512;

/// Code of a file in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The place in the file at which it begins.
    pub(super) offset: u64,
    path: [u8; PATH],
    path_len: usize,
}

impl Mapping {
    pub(super) const fn none() -> Self {
        Self {
            start: 0,
            end: 0,
            offset: 0,
            path: [0; PATH],
            path_len: 0,
        }
    }

    pub(super) fn has(&self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }

    pub(super) fn path(&self) -> &[u8] {
        self.path.get(..self.path_len).unwrap_or_default()
    }
}

/// Hexadecimal digits at the front of a text, and the text after them.
fn hex(text: &[u8]) -> (u64, &[u8]) {
    let digit = |byte: &u8| (*byte as char).to_digit(16);
    let digits = text.iter().map_while(digit);
    let (value, count) = digits.fold((0_u64, 0), |(value, count), digit| {
        (value << 4 | u64::from(digit), count + 1)
    });
    (value, text.get(count..).unwrap_or_default())
}

/// Reads a line: the range, the rights, the offset, the device, the number and the name of the
/// file. `None` unless it is code.
fn line(text: &[u8]) -> Option<Mapping> {
    let mut mapping = Mapping::none();
    let (start, text) = hex(text);
    let (end, text) = hex(text.strip_prefix(b"-")?);
    let text = text.strip_prefix(b" ")?;
    let code = text.get(2)? == &b'x';
    let (offset, text) = hex(text.get(5..)?);
    let path = text
        .iter()
        .position(|byte| *byte == b'/' || *byte == b'[')?;
    for (slot, byte) in mapping.path.iter_mut().zip(text.get(path..)?) {
        *slot = *byte;
        mapping.path_len += 1;
    }
    mapping.start = usize::try_from(start).ok()?;
    mapping.end = usize::try_from(end).ok()?;
    mapping.offset = offset;
    code.then_some(mapping)
}

/// Lines that arrive in pieces, and the mappings in them.
pub(super) struct Lines<'a> {
    mappings: &'a mut [Mapping],
    pub(super) count: usize,
    line: [u8; 128 + PATH],
    len: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(mappings: &'a mut [Mapping]) -> Self {
        Self {
            mappings,
            count: 0,
            line: [0; 128 + PATH],
            len: 0,
        }
    }

    /// Reads the next piece.
    pub(super) fn take(&mut self, piece: &[u8]) {
        for byte in piece {
            if *byte == b'\n' {
                self.end_line();
            } else if let Some(slot) = self.line.get_mut(self.len) {
                *slot = *byte;
                self.len += 1;
            }
        }
    }

    fn end_line(&mut self) {
        let text = self.line.get(..self.len).unwrap_or_default();
        if let (Some(mapping), Some(slot)) = (line(text), self.mappings.get_mut(self.count)) {
            *slot = mapping;
            self.count += 1;
        }
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Mapping};

    #[test]
    fn lines_in_pieces_are_read_and_only_code_is_kept() {
        let text = b"55d0c0000000-55d0c0002000 r--p 00000000 08:01 42    /usr/bin/a b\n\
            55d0c0002000-55d0c0007000 r-xp 00002000 08:01 42    /usr/bin/a b\n\
            7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
            7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0     [vdso]\n";
        let mut mappings = [Mapping::none(); 4];
        let mut lines = Lines::new(&mut mappings);
        text.chunks(7).for_each(|piece| lines.take(piece));
        assert_eq!(lines.count, 2);
        let [code, vdso, ..] = &mappings;
        assert_eq!((code.path(), code.offset), (&b"/usr/bin/a b"[..], 0x2000));
        assert_eq!((code.start, code.end), (0x55d0_c000_2000, 0x55d0_c000_7000));
        assert!(code.has(code.start) && !code.has(code.end));
        assert_eq!(vdso.path(), b"[vdso]");
    }

    #[test]
    fn more_mappings_than_there_is_room_for_are_left_out() {
        let mut mappings = [Mapping::none(); 1];
        let mut lines = Lines::new(&mut mappings);
        lines.take(b"1000-2000 r-xp 0 00:00 0 /a\n2000-3000 r-xp 0 00:00 0 /b\nnonsense\n");
        assert_eq!(lines.count, 1);
        assert_eq!(mappings[0].path(), b"/a");
    }
}
