//! The numbers of Linux's system calls on x86-64, and what they ask for.
#![forbid(unsafe_code)]

use super::{At, Flags, Layout, MapError, Prot, Request};
use crate::addr::VirtAddr;

/// Shared.
pub const MAP_SHARED: u64 = 1;
/// Private.
pub const MAP_PRIVATE: u64 = 2;
/// Shared, and unknown flags are refused.
pub const MAP_SHARED_VALIDATE: u64 = 3;
/// Exactly there.
pub const MAP_FIXED: u64 = 0x10;
/// Of no object.
pub const MAP_ANONYMOUS: u64 = 0x20;
/// Below 2 GiB.
pub const MAP_32BIT: u64 = 0x40;
/// A stack.
pub const MAP_GROWSDOWN: u64 = 0x100;
/// Exactly there, if nothing is.
pub const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;

/// The flags that a shared mapping may have where unknown ones are refused: those that were there
/// before there was such a rule.
const LEGACY: u64 = MAP_SHARED
    | MAP_PRIVATE
    | MAP_FIXED
    | MAP_ANONYMOUS
    | 0x4000 // no reserve
    | 0x8000 // populate
    | 0x1_0000 // do not block
    | 0x4_0000 // huge pages
    | MAP_32BIT
    | 0x800 // deny write
    | 0x1000 // executable
    | 0x2_0000 // for stacks
    | MAP_GROWSDOWN
    | 0x2000 // locked
    | 0xfc00_0000; // size of a huge page

/// The arguments of `mmap`, but for the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mmap {
    /// The hint, or the fixed place.
    pub address: u64,
    /// Bytes.
    pub len: u64,
    /// Protection.
    pub prot: u64,
    /// Flags.
    pub flags: u64,
    /// Where in the object, in bytes.
    pub offset: u64,
}

impl Mmap {
    /// What the call asks for. `value` is what is kept with the area.
    ///
    /// Bits of the protection and of the flags that do not exist mean nothing; a sharing that does
    /// not exist is refused when there is a place, as in Linux.
    pub fn request<A>(&self, value: A) -> Request<A> {
        let has = |flag: u64| self.flags & flag == flag;
        let address = VirtAddr::new(self.address);
        let at = if has(MAP_FIXED_NOREPLACE) {
            At::Vacant(address)
        } else if has(MAP_FIXED) {
            At::Fixed(address)
        } else if self.address == 0 {
            At::Anywhere
        } else {
            At::Hint(address)
        };
        let (sharing, refusal) = self.sharing();
        let mut flags = sharing;
        if has(MAP_GROWSDOWN) {
            flags |= Flags::GROWS_DOWN;
        }
        // Anonymous memory that is shared is an object too, which begins with the mapping.
        let is_private_memory = has(MAP_ANONYMOUS) && sharing == Flags::NONE;
        let offset = match (is_private_memory, has(MAP_ANONYMOUS)) {
            (true, _) => None,
            (_, true) => Some(0),
            _ => Some(self.offset),
        };
        Request {
            at,
            flags,
            offset,
            refusal,
            window: has(MAP_32BIT).then_some(Layout::LINUX_32BIT),
            ..Request::anonymous(self.len, prot(self.prot), value)
        }
    }

    /// Shared or private, and what is wrong with that.
    fn sharing(&self) -> (Flags, Option<MapError>) {
        match self.flags & 0xf {
            MAP_SHARED => (Flags::SHARED, None),
            MAP_PRIVATE => (Flags::NONE, None),
            // Of what has no object, only the two above can be.
            MAP_SHARED_VALIDATE if self.flags & MAP_ANONYMOUS == 0 => {
                let unknown = self.flags & !LEGACY != 0;
                (Flags::SHARED, unknown.then_some(MapError::Unsupported))
            }
            _ => (Flags::NONE, Some(MapError::Kind)),
        }
    }
}

/// A protection; bits that do not fit stand for one that does not exist.
#[must_use]
pub fn prot(bits: u64) -> Prot {
    Prot::from_bits(u32::try_from(bits).unwrap_or(!Prot::GROWS_UP.bits()))
}
