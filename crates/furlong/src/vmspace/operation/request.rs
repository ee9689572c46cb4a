//! Requests for mappings.

use crate::error::messages;
use crate::forms::debug_as;

use crate::addr::VirtAddr;
use crate::vmspace::{Errno, Flags, MapError, Prot};

/// The place of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Any place with room.
    Anywhere,
    /// At this address or, if there is no room for all of it, anywhere. A hint is rounded to a page
    /// and raised to the lowest address that may be mapped; 0 is no hint.
    Hint(VirtAddr),
    /// Exactly at this address; existing mappings are replaced.
    Fixed(VirtAddr),
    /// Exactly at this address, if nothing is mapped there.
    Vacant(VirtAddr),
}

/// A request for a mapping.
///
/// # Example
/// ```
/// use furlong::vmspace::{Layout, Prot, Request, Space};
///
/// let mut space: Space<()> = Space::new(Layout::LINUX_X86_64)?;
/// let stack = Request::anonymous(0x2000, Prot::READ | Prot::WRITE, ());
/// let start = space.map(stack, drop)?;
/// assert!(space.find(start).is_some());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<A> {
    /// The length in bytes, rounded up to whole pages.
    pub len: u64,
    /// The place.
    pub at: At,
    /// The allowed accesses; unknown bits are ignored.
    pub prot: Prot,
    /// The accesses that [`protect`](crate::vmspace::Space::protect) may allow later.
    pub may: Prot,
    /// Further properties; unknown bits are ignored.
    pub flags: Flags,
    /// The offset of the mapping in its object, at a page; `None` for anonymous memory.
    pub offset: Option<u64>,
    /// The alignment of the start in bytes, if the space chooses the place: a power of two. Less
    /// than a page counts as a page.
    pub align: u64,
    /// The first and last address of an upward search for a place. For a hint only the last one
    /// counts, as with `MAP_32BIT`: the hint may lie below the first.
    pub window: Option<(VirtAddr, VirtAddr)>,
    /// An error that the caller has found in the object or the kind of mapping. As in Linux, it is
    /// returned only after a place was found, and if no cause before it in the order of
    /// [`MapError`] applies.
    pub refusal: Option<MapError>,
    /// The value of the area.
    pub value: A,
}

impl<A> Request<A> {
    /// `len` bytes of private anonymous memory, anywhere.
    pub fn anonymous(len: u64, prot: Prot, value: A) -> Self {
        Self {
            len,
            at: At::Anywhere,
            prot,
            may: Prot::ALL,
            flags: Flags::NONE,
            offset: None,
            align: 0,
            window: None,
            refusal: None,
            value,
        }
    }

    /// `len` bytes from `offset` on of the object that `value` refers to, anywhere.
    pub fn object(len: u64, prot: Prot, offset: u64, value: A) -> Self {
        Self {
            offset: Some(offset),
            ..Self::anonymous(len, prot, value)
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, at: At) -> Self {
        Self { at, ..self }
    }

    /// Sets the flags.
    #[must_use]
    pub fn flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// Limits the accesses that may be allowed later.
    #[must_use]
    pub fn may(self, may: Prot) -> Self {
        Self { may, ..self }
    }

    /// Sets the alignment, in bytes.
    #[must_use]
    pub fn align(self, align: u64) -> Self {
        Self { align, ..self }
    }

    /// Limits the search to addresses from `first` to `last`, both inclusive. It has no effect on a
    /// fixed place, and a hint may lie below `first`.
    #[must_use]
    pub fn window(self, first: VirtAddr, last: VirtAddr) -> Self {
        Self {
            window: Some((first, last)),
            ..self
        }
    }

    /// The fixed address, if the request has one.
    pub(super) fn fixed(&self) -> Option<VirtAddr> {
        match self.at {
            At::Fixed(address) | At::Vacant(address) => Some(address),
            At::Anywhere | At::Hint(_) => None,
        }
    }

    /// True unless it grows and is of a kind that cannot.
    pub(super) fn may_grow(&self) -> bool {
        let others = self.flags.and(Flags::SHARED | Flags::DROPPABLE);
        let is_plain = self.offset.is_none() && others == Flags::NONE;
        is_plain || !self.flags.contains(Flags::GROWS_DOWN)
    }

    /// The hint, if there is one.
    pub(super) fn hint(&self) -> Option<VirtAddr> {
        match self.at {
            At::Hint(address) => Some(address),
            _ => None,
        }
    }
}

/// A refused request. Its value comes back, and nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refused<A> {
    /// The reason.
    pub cause: MapError,
    /// The value that the area would have had.
    pub value: A,
}

messages! { Refused<A> where [A]:
    Self { cause, .. } => "{cause}";
}

debug_as! { Refused<A> where [A]: |it| Refused { cause: it.cause, .. } }

impl<A> Refused<A> {
    /// The error number that Linux returns.
    #[must_use]
    pub const fn errno(&self) -> Errno {
        self.cause.errno()
    }
}

impl<A> From<Refused<A>> for Errno {
    fn from(refused: Refused<A>) -> Self {
        refused.errno()
    }
}
