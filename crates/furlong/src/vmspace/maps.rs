//! `/proc/PID/maps`: parsing of its lines, a space from them, and the output of a space.
#![forbid(unsafe_code)]

use core::fmt;

use crate::error::messages;

use super::{
    Area, At, Config, Flags, Hold, Layout, LayoutError, MapError, Owned, Prot, Request, Space,
    Value,
};
use crate::addr::{Address, Extent, VirtAddr};

/// An area from a line of `/proc/PID/maps`.
///
/// # Example
/// ```
/// use furlong::vmspace::{MapsLine, Prot};
///
/// let text = "7f3c787a5000-7f3c787af000 r--p 00027000 fe:00 8102    /usr/lib/ld-linux.so.2";
/// let line = MapsLine::parse(text)?;
/// assert_eq!((line.prot, line.offset), (Prot::READ, 0x2_7000));
/// assert_eq!(line.name, "/usr/lib/ld-linux.so.2");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapsLine<'a> {
    /// The addresses of the area.
    pub extent: Extent<VirtAddr>,
    /// The allowed accesses.
    pub prot: Prot,
    /// True if writes are visible to all mappings of the object.
    pub is_shared: bool,
    /// The offset of its start in its object, in bytes.
    pub offset: u64,
    /// The inode number of the file, 0 if it is none.
    pub inode: u64,
    /// The path of a file, or the kernel's name of the area, or nothing.
    pub name: &'a str,
}

/// The reason why a line was not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapsLineError {
    /// The line does not begin with two addresses in order, `start-end`.
    Range,
    /// The second word does not have the form `rw-p`.
    Prot,
    /// The third word is not an offset.
    Offset,
    /// The fourth word is not a device, or the fifth not an inode number.
    Inode,
}

messages! { MapsLineError:
    Self::Range => "a line must begin with two ascending addresses, `start-end`";
    Self::Prot => "the second word must be a protection such as `rw-p`";
    Self::Offset => "the third word must be an offset, in hexadecimal";
    Self::Inode => "the fourth and fifth word must be a device and an inode number";
}

/// The reason why a listing was not turned into a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapsError {
    /// The layout is invalid.
    Layout(LayoutError),
    /// This line, counted from one, cannot be parsed.
    Line(usize, MapsLineError),
    /// The area of this line cannot be mapped.
    Map(usize, MapError),
}

messages! { MapsError:
    Self::Layout(it) => "{it}";
    Self::Line(n, it) => "line {n}: {it}";
    Self::Map(n, it) => "line {n}: {it}";
}

fn hex(word: &str) -> Option<u64> {
    // `from_str_radix` accepts a sign, which no listing has.
    let is_number = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(word, 16).ok())?
}

fn extent(word: &str) -> Option<Extent<VirtAddr>> {
    let (start, end) = word.split_once('-')?;
    Extent::from_end(VirtAddr::new(hex(start)?), VirtAddr::new(hex(end)?))
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

impl<'a> MapsLine<'a> {
    /// Parses a line.
    ///
    /// # Errors
    /// See [`MapsLineError`].
    pub fn parse(line: &'a str) -> Result<Self, MapsLineError> {
        let mut words = line.trim_end_matches(['\n', '\r']).splitn(6, ' ');
        let mut word = || words.next().unwrap_or_default();
        let extent = extent(word()).ok_or(MapsLineError::Range)?;
        let (prot, is_shared) = prot(word()).ok_or(MapsLineError::Prot)?;
        let offset = hex(word()).ok_or(MapsLineError::Offset)?;
        let device = word();
        let inode = word().parse().ok().filter(|_| device.contains(':'));
        Ok(Self {
            extent,
            prot,
            is_shared,
            offset,
            inode: inode.ok_or(MapsLineError::Inode)?,
            name: word().trim(),
        })
    }

    /// True if it is private memory without an object.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        let is_memory = ["", "[heap]"].contains(&self.name)
            || ["[anon:", "[stack"]
                .iter()
                .any(|name| self.name.starts_with(name));
        self.inode == 0 && !self.is_shared && is_memory
    }

    /// A request that maps such an area at the same place, if nothing is mapped there.
    pub fn request<A>(&self, value: A) -> Request<A> {
        let last = self.extent.last().raw();
        // An extent of 2^64 bytes exceeds every space.
        let len = (last - self.extent.start().raw()).saturating_add(1);
        let at = At::Vacant(self.extent.start());
        let flags = match (self.is_shared, self.name) {
            (true, _) => Flags::SHARED,
            (_, "[stack]") if self.is_anonymous() => Flags::GROWS_DOWN,
            _ => Flags::NONE,
        };
        let offset = (!self.is_anonymous()).then_some(self.offset);
        Request {
            offset,
            flags,
            ..Request::anonymous(len, self.prot, value).at(at)
        }
    }
}

/// The one area that does not belong to the process: it is the same in all, above their spaces.
const KERNELS: &str = "[vsyscall]";

impl<A: Value, C: Config<Index<A>: Default>> Space<A, C> {
    /// Builds the space of a process from the text of `/proc/PID/maps`. `value` makes the value of
    /// each area. Neighbours whose values merge become one area. The start of the heap is unknown.
    ///
    /// # Errors
    /// See [`MapsError`].
    ///
    /// # Cost
    /// O(n log n).
    ///
    /// # Example
    /// ```
    /// use furlong::addr::VirtAddr;
    /// use furlong::vmspace::{Layout, MapsLine, Space};
    ///
    /// let text = "00400000-00403000 r-xp 00000000 fe:00 7  /bin/true\n\
    ///             7ffccdef4000-7ffccdf15000 rw-p 00000000 00:00 0  [stack]\n";
    /// let inode = |line: &MapsLine<'_>| line.inode;
    /// let mut space = Space::<u64>::of_maps(Layout::LINUX_X86_64, text, inode)?;
    /// assert_eq!(space.find(VirtAddr::new(0x40_2fff)).map(|area| *area.value), Some(7));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn of_maps(
        layout: Layout,
        text: &str,
        mut value: impl FnMut(&MapsLine<'_>) -> A,
    ) -> Result<Self, MapsError> {
        let mut space = Self::with_config(layout).map_err(MapsError::Layout)?;
        for (at, line) in text.lines().enumerate() {
            let at = at + 1;
            let line = MapsLine::parse(line).map_err(|error| MapsError::Line(at, error))?;
            if line.name == KERNELS {
                continue;
            }
            let mapped = space.map(line.request(value(&line)), drop);
            mapped.map_err(|refused| MapsError::Map(at, refused.cause))?;
        }
        Ok(space)
    }
}

/// The text form of a space, one area in each line; see [`Space::maps`].
pub struct Maps<'s, A: Value, C: Config, H: Hold = Owned>(&'s Space<A, C, H>);

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// The space in the format of `/proc/PID/maps`, with values instead of names.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::VirtAddr;
    /// use furlong::vmspace::{At, Layout, Prot, Request, Space};
    ///
    /// let mut space: Space<u32> = Space::new(Layout::LINUX_X86_64)?;
    /// let text = Request::object(0x3000, Prot::READ | Prot::EXEC, 0x1000, 7);
    /// space.map(text.at(At::Fixed(VirtAddr::new(0x40_0000))), drop)?;
    /// let shown = space.maps().to_string();
    /// assert_eq!(shown, "00400000-00403000 r-xp 00001000 00:00 0 7\n");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn maps(&self) -> Maps<'_, A, C, H> {
        Maps(self)
    }
}

impl<A: Value + fmt::Display, C: Config, H: Hold> fmt::Display for Maps<'_, A, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.areas().try_for_each(|area| show(f, &area))
    }
}

fn show<A: fmt::Display>(f: &mut fmt::Formatter<'_>, area: &Area<'_, A>) -> fmt::Result {
    let end = u128::from(area.extent.last().raw()) + 1;
    write!(f, "{:08x}-{end:08x} ", area.extent.start().raw())?;
    for (letter, bit) in [("r", Prot::READ), ("w", Prot::WRITE), ("x", Prot::EXEC)] {
        f.write_str(if area.prot.contains(bit) { letter } else { "-" })?;
    }
    let is_shared = area.flags.contains(Flags::SHARED);
    // Linux shows 0 for memory without an object, although it keeps an offset.
    let is_object = area.flags.contains(Flags::OBJECT);
    let offset = if is_object { area.offset } else { 0 };
    let sharing = if is_shared { "s" } else { "p" };
    writeln!(f, "{sharing} {offset:08x} 00:00 0 {}", area.value)
}

impl<A: Value + fmt::Display, C: Config, H: Hold> fmt::Debug for Maps<'_, A, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
