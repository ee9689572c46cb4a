//! What a mapping is asked for.
#![forbid(unsafe_code)]

use super::{Errno, Flags, MapError, Prot};
use crate::addr::{Address, VirtAddr};

/// Where a mapping goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Wherever there is room.
    Anywhere,
    /// At this address or, where there is no room for all of it, anywhere. A hint is rounded to a
    /// page and lifted to the lowest address that may be mapped; 0 is no hint.
    Hint(VirtAddr),
    /// Exactly there, in place of what is there.
    Fixed(VirtAddr),
    /// Exactly there, if nothing is.
    Vacant(VirtAddr),
}

/// A mapping that is asked for.
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
    /// Bytes, rounded up to whole pages.
    pub len: u64,
    /// Where.
    pub at: At,
    /// What may be done; bits that do not exist mean nothing.
    pub prot: Prot,
    /// What [`protect`](super::Space::protect) may allow later.
    pub may: Prot,
    /// What else is true.
    pub flags: Flags,
    /// The first byte of the object that is mapped, at a page; `None` for anonymous memory.
    pub offset: Option<u64>,
    /// A power of two of bytes that the start is a multiple of, where the place is chosen; less
    /// than a page is a page.
    pub align: u64,
    /// First and last address that the space looks at where it chooses a place; it looks upwards.
    /// Of a hint only the end counts here, as `MAP_32BIT` has it: it may lie below.
    pub window: Option<(VirtAddr, VirtAddr)>,
    /// What the caller has found wrong with the object or with the kind of mapping: Linux says it
    /// only when there is a place.
    pub refusal: Option<MapError>,
    /// What is kept with the area.
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

    /// `len` bytes from `offset` on of the object that `value` stands for, anywhere.
    pub fn object(len: u64, prot: Prot, offset: u64, value: A) -> Self {
        Self {
            offset: Some(offset),
            ..Self::anonymous(len, prot, value)
        }
    }

    /// At another place.
    #[must_use]
    pub fn at(self, at: At) -> Self {
        Self { at, ..self }
    }

    /// With other flags.
    #[must_use]
    pub fn flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// With a limit to what may be allowed later.
    #[must_use]
    pub fn may(self, may: Prot) -> Self {
        Self { may, ..self }
    }

    /// At a multiple of `align` bytes.
    #[must_use]
    pub fn align(self, align: u64) -> Self {
        Self { align, ..self }
    }

    /// Between two addresses, both inclusive; it means nothing where the place is fixed, and a hint
    /// may lie below the first.
    #[must_use]
    pub fn window(self, first: VirtAddr, last: VirtAddr) -> Self {
        Self {
            window: Some((first, last)),
            ..self
        }
    }

    /// Whether what is there is replaced, or refused, rather than avoided.
    pub(super) fn fixed(&self) -> Option<VirtAddr> {
        match self.at {
            At::Fixed(address) | At::Vacant(address) => Some(address),
            At::Anywhere | At::Hint(_) => None,
        }
    }

    /// Whether there is such a kind of mapping.
    pub(super) fn is_kind(&self) -> bool {
        let grows = self.flags.contains(Flags::GROWS_DOWN);
        !(grows && (self.offset.is_some() || self.flags.contains(Flags::SHARED)))
    }

    /// The hint, if it is one.
    pub(super) fn hint(&self) -> Option<VirtAddr> {
        match self.at {
            At::Hint(address) if address.raw() != 0 => Some(address),
            _ => None,
        }
    }
}

/// A mapping that was refused; its value comes back and nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refused<A> {
    /// Why.
    pub cause: MapError,
    /// What would have been kept with the area.
    pub value: A,
}

impl<A> core::fmt::Debug for Refused<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut shown = f.debug_struct("Refused");
        shown.field("cause", &self.cause).finish_non_exhaustive()
    }
}

impl<A> core::fmt::Display for Refused<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.cause.fmt(f)
    }
}

impl<A> core::error::Error for Refused<A> {}

impl<A> Refused<A> {
    /// The number that Linux answers.
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
