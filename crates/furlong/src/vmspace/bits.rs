//! Protections, flags, and kinds of access.
#![forbid(unsafe_code)]

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
            /// None of them.
            pub const NONE: Self = Self(0);
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

            /// Exactly these bits, known or not.
            #[must_use]
            pub const fn from_bits(bits: $repr) -> Self {
                Self(bits)
            }

            /// The bits.
            #[must_use]
            pub const fn bits(self) -> $repr {
                self.0
            }

            /// Whether all of `other` are in it.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Those of either, as `|`, in a constant too.
            #[must_use]
            pub const fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Those of `self` that are in `other` too.
            #[must_use]
            pub const fn and(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            /// Those of `self` that are not in `other`.
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
    /// What may be done with the memory of an area, in Linux's numbers.
    ///
    /// It may hold bits that do not exist, as a system call brings them: [`map`] passes over them
    /// and [`protect`] refuses them, both as Linux does.
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
        /// For atomic operations; it means nothing.
        SEM = 8;
        /// For [`protect`](super::Space::protect): from the start of a growing area on.
        GROWS_DOWN = 0x0100_0000;
        /// For [`protect`](super::Space::protect): up to the end of an area that grows upwards;
        /// there is none.
        GROWS_UP = 0x0200_0000;
    }
);

bits!(
    /// What else is true of an area.
    Flags: u16 {
        /// Writes are seen by all who have mapped the object.
        SHARED = 1;
        /// A stack: it grows towards lower addresses where a fault asks for it.
        GROWS_DOWN = 2;
        /// A child of a fork does not get it.
        DONT_COPY = 4;
        /// A child of a fork gets it with nothing in it.
        WIPE_ON_FORK = 8;
        /// [`remap`](super::Space::remap) must not enlarge it.
        DONT_EXPAND = 16;
        /// It is part of an object; [`map`](super::Space::map) sets it for all but anonymous
        /// memory.
        OBJECT = 32;
    }
);

bits!(
    /// Whether and where [`remap`](super::Space::remap) may move something, in Linux's numbers.
    RemapFlags: u32 {
        /// It may be moved.
        MAY_MOVE = 1;
        /// It goes to the place that is said, in place of what is there.
        FIXED = 2;
        /// Its old place stays mapped, empty.
        DONT_UNMAP = 4;
    }
);

/// What a fault wants of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Execute.
    Execute,
}

impl Prot {
    /// The protection in it: read, write, execute.
    #[must_use]
    pub const fn known(self) -> Self {
        self.and(Self::ALL)
    }

    /// Whether it allows an access. What can be written or executed can be read: no machine of
    /// today tells them apart in a page table.
    #[must_use]
    pub const fn allows(self, access: Access) -> bool {
        match access {
            Access::Read => self.known().bits() != 0,
            Access::Write => self.contains(Self::WRITE),
            Access::Execute => self.contains(Self::EXEC),
        }
    }
}
