//! Lines of `/proc/PID/maps`.

use furlong::vmspace::Prot;

/// An area of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The address of its first byte.
    pub(super) start: u64,
    /// The address behind its last byte.
    pub(super) end: u64,
    /// The allowed accesses.
    pub(super) prot: Prot,
    /// True if writes are visible to all mappings of the object.
    is_shared: bool,
    /// The inode number of the file, 0 if it is none.
    inode: u64,
    /// The path of a file, or the kernel's name of the area, or nothing.
    pub(super) name: &'a str,
}

fn hex(word: &str) -> Option<u64> {
    // `from_str_radix` accepts a sign, which no listing has.
    let is_number = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(word, 16).ok())?
}

/// The allowed accesses, and true if the area is shared.
fn prot(word: &str) -> Option<(Prot, bool)> {
    let &[read, write, execute, sharing] = word.as_bytes() else {
        return None;
    };
    let mut prot = Prot::NONE;
    for (found, letter, bit) in [
        (read, b'r', Prot::READ),
        (write, b'w', Prot::WRITE),
        (execute, b'x', Prot::EXEC),
    ] {
        match found {
            b'-' => {}
            _ if found == letter => prot |= bit,
            _ => return None,
        }
    }
    match sharing {
        b'p' => Some((prot, false)),
        b's' => Some((prot, true)),
        _ => None,
    }
}

impl<'a> Line<'a> {
    /// Parses a line; `None` if it is not one of a listing.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.trim_end_matches(['\n', '\r']).splitn(6, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (start, end) = word().split_once('-')?;
        let (start, end) = (hex(start)?, hex(end)?);
        let (prot, is_shared) = prot(word())?;
        let (offset, device) = (word(), word());
        let inode = word().parse().ok()?;
        let is_whole = start < end && hex(offset).is_some() && device.contains(':');
        is_whole.then(|| Self {
            start,
            end,
            prot,
            is_shared,
            inode,
            name: word().trim(),
        })
    }

    /// True if it is private memory without an object.
    pub(super) fn is_anonymous(&self) -> bool {
        let is_memory = ["", "[heap]"].contains(&self.name)
            || ["[anon:", "[stack"]
                .iter()
                .any(|name| self.name.starts_with(name));
        self.inode == 0 && !self.is_shared && is_memory
    }
}

#[cfg(test)]
mod tests {
    use super::Line;
    use furlong::vmspace::Prot;

    #[test]
    fn a_line_is_read() {
        let text = "7f3c787a5000-7f3c787af000 r--p 00027000 fe:00 8102    /usr/lib/a b.so\n";
        let line = Line::parse(text).unwrap();
        assert_eq!((line.start, line.end), (0x7f3c_787a_5000, 0x7f3c_787a_f000));
        assert_eq!((line.prot, line.name), (Prot::READ, "/usr/lib/a b.so"));
        assert!(!line.is_anonymous());
        let own = std::fs::read_to_string("/proc/self/maps").unwrap();
        let lines: Option<Vec<Line<'_>>> = own.lines().map(Line::parse).collect();
        let lines = lines.expect("the kernel writes such lines");
        let here = (&raw const text).addr() as u64;
        let stack = lines
            .iter()
            .find(|line| (line.start..line.end).contains(&here));
        assert!(stack.is_some_and(Line::is_anonymous), "{stack:?}");
    }

    #[test]
    fn a_line_that_is_none_is_not_read() {
        for line in [
            "",
            "00500000 r-xp 00000000 fe:00 7 a",
            "00500000-00500000 r-xp 00000000 fe:00 7 a",
            "00600000-00500000 r-xp 00000000 fe:00 7 a",
            "+0500000-00600000 r-xp 00000000 fe:00 7 a",
            "00500000-10000000000000000 r-xp 00000000 fe:00 7 a",
            "00500000-00600000 xr-p 00000000 fe:00 7 a",
            "00500000-00600000 r-x 00000000 fe:00 7 a",
            "00500000-00600000 r-x- 00000000 fe:00 7 a",
            "00500000-00600000 r-xp 0x000000 fe:00 7 a",
            "00500000-00600000 r-xp 00000000 fe00 7 a",
            "00500000-00600000 r-xp 00000000 fe:00 a",
            "00500000-00600000 r-xp 00000000 fe:00",
        ] {
            assert_eq!(Line::parse(line), None, "{line:?}");
        }
    }
}
