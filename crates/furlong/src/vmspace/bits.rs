//! Protections, flags, and kinds of access.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

macro_rules! bits {
    (
        $(#[$doc:meta])*
        $name:ident: $repr:ty { $($(#[$bit_doc:meta])* $bit:ident = $value:expr;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($repr);

        impl $name {
            /// The empty set.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

            /// Exactly these bits, known or unknown.
            #[must_use]
            pub const fn from_bits(bits: $repr) -> Self {
                Self(bits)
            }

            /// The bits.
            #[must_use]
            pub const fn bits(self) -> $repr {
                self.0
            }

            /// True if it contains all bits of `other`.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// The bits of either, as `|`, but usable in a constant.
            #[must_use]
            pub const fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The bits in both.
            #[must_use]
            pub const fn and(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// The bits of `self` that are not in `other`.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    };
}

bits!(
    /// The allowed accesses to an area, in Linux's numbers.
    ///
    /// It may hold unknown bits from a system call: [`map`] ignores them and [`protect`] refuses
    /// them, both as Linux does.
    ///
    /// [`map`]: super::Space::map
    /// [`protect`]: super::Space::protect
    Prot: u32 {
        /// Read.
        READ = 1;
        /// Write.
        WRITE = 2;
        /// Execute.
        EXEC = 4;
        /// All three.
        ALL = 7;
        /// For atomic operations; it has no effect.
        SEM = 8;
        /// For [`protect`](super::Space::protect): extends the range down to the start of a growing
        /// area.
        GROWS_DOWN = 0x0100_0000;
        /// For [`protect`](super::Space::protect): extends the range up to the end of an area that
        /// grows upwards. No area does.
        GROWS_UP = 0x0200_0000;
    }
);

bits!(
    /// Further properties of an area.
    Flags: u16 {
        /// Writes are visible to all mappings of the object.
        SHARED = 1;
        /// A stack: it grows towards lower addresses on a fault below it.
        GROWS_DOWN = 2;
        /// A fork does not copy it to the child.
        DONT_COPY = 4;
        /// A fork gives the child an empty copy.
        WIPE_ON_FORK = 8;
        /// [`remap`](super::Space::remap) must not enlarge it.
        DONT_EXPAND = 16;
        /// It maps a part of an object. [`map`](super::Space::map) sets it for all but anonymous
        /// memory.
        OBJECT = 32;
        /// Its pages may be dropped when memory is short, as with
        /// [`MAP_DROPPABLE`](super::linux::MAP_DROPPABLE). [`map`](super::Space::map) sets
        /// `WIPE_ON_FORK` with it, which no advice takes away.
        DROPPABLE = 64;
        /// The caller's own flags, eight of them: locked, huge pages, whatever a kernel needs. They
        /// mean nothing to a space, apart from that neighbours with different ones are not merged.
        /// [`update`](super::Space::update) changes them.
        CALLER = 0xff00;
    }
);

bits!(
    /// Options of [`remap`](super::Space::remap), in Linux's numbers.
    RemapFlags: u32 {
        /// It may be moved.
        MAY_MOVE = 1;
        /// It is moved to the given place, and replaces all mappings there.
        FIXED = 2;
        /// Its old place stays mapped, but empty.
        DONT_UNMAP = 4;
    }
);

/// The kind of access that caused a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Execute.
    Execute,
}

impl Flags {
    /// The known properties in it, and the caller's own.
    pub(super) const fn known(self) -> Self {
        let on_fork = Self::DONT_COPY.or(Self::WIPE_ON_FORK);
        let kinds = Self::SHARED.or(Self::GROWS_DOWN).or(Self::OBJECT);
        let kinds = kinds.or(Self::DROPPABLE);
        self.and(kinds.or(on_fork).or(Self::DONT_EXPAND).or(Self::CALLER))
    }
}

impl Prot {
    /// The known accesses in it: read, write, execute.
    #[must_use]
    pub const fn known(self) -> Self {
        self.and(Self::ALL)
    }

    /// True if it allows an access. Memory that can be written or executed can also be read: the
    /// page tables of current machines do not separate them.
    #[must_use]
    pub const fn allows(self, access: Access) -> bool {
        match access {
            Access::Read => self.known().bits() != 0,
            Access::Write => self.contains(Self::WRITE),
            Access::Execute => self.contains(Self::EXEC),
        }
    }
}
