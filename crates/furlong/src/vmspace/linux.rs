//! The numbers of Linux's system calls on x86-64, and their conversion to requests.

use super::{At, Flags, Layout, MapError, Prot, Request};
use crate::addr::VirtAddr;

/// The mapping is shared.
pub const MAP_SHARED: u64 = 1;
/// The mapping is private.
pub const MAP_PRIVATE: u64 = 2;
/// The mapping is shared, and unknown flags are refused.
pub const MAP_SHARED_VALIDATE: u64 = 3;
/// The mapping is private, and the system may drop its pages. Since Linux 6.11.
pub const MAP_DROPPABLE: u64 = 8;
/// The address is fixed; existing mappings there are replaced.
pub const MAP_FIXED: u64 = 0x10;
/// The mapping has no object.
pub const MAP_ANONYMOUS: u64 = 0x20;
/// The address lies below 2 GiB.
pub const MAP_32BIT: u64 = 0x40;
/// The mapping is a stack.
pub const MAP_GROWSDOWN: u64 = 0x100;
/// The address is fixed; existing mappings there are not replaced.
pub const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;

/// The mapping is locked in memory.
const LOCKED: u64 = 0x2000;
/// The mapping has huge pages.
const HUGE: u64 = 0x4_0000;

/// The flags that a shared mapping may have if unknown ones are refused: those older than this
/// rule.
const LEGACY: u64 = MAP_SHARED
    | MAP_PRIVATE
    | MAP_FIXED
    | MAP_ANONYMOUS
    | 0x4000 // no reserve
    | 0x8000 // populate
    | 0x1_0000 // do not block
    | HUGE
    | MAP_32BIT
    | 0x800 // deny write
    | 0x1000 // executable
    | 0x2_0000 // for stacks
    | MAP_GROWSDOWN
    | LOCKED
    | 0x80 // above 4 GiB
    | 0x7c00_0000; // a huge page of 2 MiB or 1 GiB

/// Bytes of a page.
const PAGE: u64 = 4096;

/// The arguments of `mmap`, without the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mmap {
    /// The hint, or the fixed address.
    pub address: u64,
    /// The length in bytes.
    pub len: u64,
    /// The protection.
    pub prot: u64,
    /// The flags.
    pub flags: u64,
    /// The offset in the object, in bytes.
    pub offset: u64,
}

impl Mmap {
    /// The request of this call. `value` is the value of the area.
    ///
    /// Unknown bits of the protection and of the flags are ignored. An invalid sharing type is
    /// refused only after a place was found, as in Linux.
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
        // Shared anonymous memory is an object too, which begins with the mapping.
        let is_private_memory = has(MAP_ANONYMOUS) && !sharing.contains(Flags::SHARED);
        let offset = match (is_private_memory, has(MAP_ANONYMOUS)) {
            (_, false) => Some(self.offset),
            // Refused before all else, though nothing would come from there: 1 is at no page.
            _ if !self.offset.is_multiple_of(PAGE) => Some(1),
            (true, _) => None,
            _ => Some(0),
        };
        Request {
            at,
            flags,
            offset,
            refusal,
            window: has(MAP_32BIT).then_some(Layout::LINUX_32BIT),
            ..Request::anonymous(self.len, prot(self.prot & KNOWN), value)
        }
    }

    /// The flags of the sharing type, and the error of an invalid sharing type.
    fn sharing(&self) -> (Flags, Option<MapError>) {
        match self.flags & 0xf {
            MAP_SHARED => (Flags::SHARED, None),
            MAP_PRIVATE => (Flags::NONE, None),
            MAP_DROPPABLE if self.flags & MAP_ANONYMOUS != 0 => {
                let is_kept = self.flags & (LOCKED | HUGE) != 0;
                (Flags::DROPPABLE, is_kept.then_some(MapError::Kind))
            }
            // A mapping without an object can only have the three types above.
            MAP_SHARED_VALIDATE if self.flags & MAP_ANONYMOUS == 0 => {
                let unknown = self.flags & !LEGACY != 0;
                (Flags::SHARED, unknown.then_some(MapError::Unsupported))
            }
            _ => (Flags::NONE, Some(MapError::Kind)),
        }
    }
}

/// The accesses that a mapping can have. It ignores all other bits, also those above 32.
const KNOWN: u64 = Prot::ALL.bits() as u64;

/// Converts a protection; a value that does not fit 32 bits becomes an unknown one.
#[must_use]
pub fn prot(bits: u64) -> Prot {
    Prot::from_bits(u32::try_from(bits).unwrap_or(!Prot::GROWS_UP.bits()))
}
