//! The errors, one type for each operation, with the error numbers that Linux returns.

use core::error::Error;
use core::fmt;

use super::Errno;
pub use crate::error::NoMemory;

impl From<NoMemory> for Errno {
    fn from(_: NoMemory) -> Self {
        Self::Enomem
    }
}

macro_rules! refusals {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$case_doc:meta])* $case:ident: $errno:ident, $text:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// All cases.
            pub const ALL: &'static [Self] = &[$(Self::$case),*];

            /// The error number that Linux returns.
            #[must_use]
            pub const fn errno(self) -> Errno {
                match self {
                    $(Self::$case => Errno::$errno,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$case => $text,)*
                })
            }
        }

        impl Error for $name {}

        impl From<$name> for Errno {
            fn from(error: $name) -> Self {
                error.errno()
            }
        }
    };
}

refusals!(
    /// The reason why nothing was mapped, in the order of the checks; nothing has changed.
    MapError {
        /// The offset into the object is not a multiple of the page size.
        Offset: Einval, "the offset is not page-aligned";
        /// The length is 0.
        ZeroLen: Einval, "the length is 0";
        /// The length, in whole pages, exceeds the space.
        TooLong: Enomem, "the length exceeds the space";
        /// The space already has more areas than its limit.
        TooManyAreas: Enomem, "the limit on areas is reached";
        /// No gap is large enough.
        NoGap: Enomem, "no gap is large enough";
        /// A fixed place reaches beyond the space.
        Beyond: Enomem, "the address range extends beyond the space";
        /// A fixed place does not begin at a page, or the alignment is not a power of two of pages.
        Unaligned: Einval, "the address is not page-aligned, or the alignment is not a power of \
                            two";
        /// A fixed place lies below the lowest address that may be mapped.
        BelowLow: Eperm, "the address is below the lowest one that may be mapped";
        /// Something is mapped at the place, and must not be replaced.
        Occupied: Eexist, "the range is already mapped";
        /// The object would end beyond the last possible offset.
        OffsetOverflow: Eoverflow, "the mapping would extend beyond the last offset of its object";
        /// Neither shared nor private, or droppable and locked, or droppable and mapping an object.
        Kind: Einval, "this kind of mapping does not exist";
        /// This kind of mapping or one of its flags is not supported.
        Unsupported: Eopnotsupp, "this flag is not supported";
        /// The object does not allow this protection.
        Access: Eacces, "the object does not allow this protection";
        /// The object may not be executed.
        NoExec: Eperm, "the object may not be executed";
        /// The object cannot be mapped.
        NoDevice: Enodev, "the object cannot be mapped";
        /// It grows, and is shared, droppable, or maps an object.
        Growing: Einval, "only private anonymous memory can grow";
        /// The space would have more pages than its limit.
        TooManyPages: Enomem, "the limit on pages is reached";
        /// Out of memory for the index.
        NoMemory: Enomem, "out of memory for the index";
    }
);

refusals!(
    /// The reason why nothing was unmapped; nothing has changed.
    UnmapError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not page-aligned";
        /// The range reaches beyond the space.
        Beyond: Einval, "the range extends beyond the space";
        /// The length is 0.
        ZeroLen: Einval, "the length is 0";
        /// An area would be cut in two, and the limit of areas is reached.
        TooManyAreas: Enomem, "the limit on areas is reached";
        /// Out of memory for the index.
        NoMemory: Enomem, "out of memory for the index";
    }
);

refusals!(
    /// The reason why no protection was changed. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    ProtectError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not page-aligned";
        /// The end is no address.
        Overflow: Enomem, "the range ends beyond the last address";
        /// The protection is unknown.
        UnknownProt: Einval, "this protection does not exist";
        /// The area there does not grow that way, or both directions are requested.
        NotGrowing: Einval, "the area does not grow in that direction";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// An area does not allow the protection.
        Access: Eacces, "an area does not allow this protection";
        /// An area would be cut, and the limit of areas is reached.
        TooManyAreas: Enomem, "the limit on areas is reached";
        /// Out of memory for the index.
        NoMemory: Enomem, "out of memory for the index";
    }
);

refusals!(
    /// The reason why an advice was refused. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    AdviseError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not page-aligned";
        /// The end is no address.
        Beyond: Einval, "the range ends beyond the last address";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// Only private anonymous memory can be wiped, and droppable memory always is.
        Kind: Einval, "the advice does not apply to this kind of area";
        /// An area would be cut, and the limit of areas is reached.
        TooManyAreas: Eagain, "the limit on areas is reached";
        /// Out of memory for the index.
        NoMemory: Eagain, "out of memory for the index";
    }
);

refusals!(
    /// The reason why no flags were changed. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    UpdateError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not page-aligned";
        /// The end is no address.
        Beyond: Einval, "the range ends beyond the last address";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// A flag is not one of the [caller's](super::Flags::CALLER).
        Flags: Einval, "only the caller's own flags can be changed";
        /// An area would be cut, and the limit of areas is reached.
        TooManyAreas: Eagain, "the limit on areas is reached";
        /// Out of memory for the index.
        NoMemory: Eagain, "out of memory for the index";
    }
);

refusals!(
    /// The reason why nothing was moved or resized. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    RemapError {
        /// The options contradict each other.
        Options: Einval, "these options exclude each other";
        /// The old or the new start is not at a page.
        Unaligned: Einval, "the start is not page-aligned";
        /// The new length is 0, or does not fit 64 bits.
        ZeroLen: Einval, "the new length is 0";
        /// Nothing is mapped at the old start.
        NotMapped: Efault, "the address is not mapped";
        /// The new place reaches beyond the space.
        Beyond: Einval, "the new range extends beyond the space";
        /// The old and the new place overlap.
        Overlap: Einval, "the old and the new range overlap";
        /// The old range reaches beyond the space and cannot be unmapped.
        OldBeyond: Einval, "the old range extends beyond the space";
        /// An old length of 0 requests a second mapping, which is possible only for shared memory.
        NotShared: Einval, "only a shared area can be mapped a second time";
        /// The old range reaches beyond its area.
        AcrossAreas: Efault, "the old range covers more than one area";
        /// The object would end beyond the last possible offset.
        OffsetOverflow: Einval, "the mapping would extend beyond the last offset of its object";
        /// The area must not be enlarged.
        NotExpandable: Efault, "the area is not allowed to grow";
        /// An area that must not be enlarged cannot leave its old place mapped.
        NotMovable: Einval, "this area cannot be moved and kept at its old address";
        /// The space would have more pages than its limit.
        TooManyPages: Enomem, "the limit on pages is reached";
        /// It cannot be enlarged in place, and must not be moved.
        MayNotMove: Enomem, "the area has no room to grow and may not be moved";
        /// No gap is large enough.
        NoGap: Enomem, "no gap is large enough";
        /// The new place lies below the lowest address that may be mapped.
        BelowLow: Eperm, "the address is below the lowest one that may be mapped";
        /// The limit of areas is reached.
        TooManyAreas: Enomem, "the limit on areas is reached";
        /// Out of memory for the index.
        NoMemory: Enomem, "out of memory for the index";
    }
);

refusals!(
    /// The reason why the break stays where it is; nothing has changed. Linux reports none of it:
    /// its `brk` returns the present break.
    BrkError {
        /// The break would lie below the start of the heap.
        BelowStart: Enomem, "the new end is below the start of the heap";
        /// The heap would lie below the lowest address that may be mapped.
        BelowLow: Enomem, "the heap would be below the lowest address that may be mapped";
        /// The heap would reach beyond the space.
        Beyond: Enomem, "the heap would extend beyond the space";
        /// Something else is mapped there, or too close.
        Occupied: Enomem, "the range is already mapped";
        /// The part to be unmapped is not mapped.
        NotMapped: Enomem, "the end of the heap is not mapped";
        /// The limit of pages is reached.
        TooManyPages: Enomem, "the limit on pages is reached";
        /// The limit of areas is reached.
        TooManyAreas: Enomem, "the limit on areas is reached";
        /// Out of memory for the index.
        NoMemory: Enomem, "out of memory for the index";
    }
);

refusals!(
    /// The reason why a fault was refused; nothing has changed.
    FaultError {
        /// Nothing is mapped there, and no stack can grow down to it.
        NotMapped: Efault, "the address is not mapped";
        /// The area does not allow this access.
        Access: Eacces, "the area does not allow this access";
        /// The stack would grow below the lowest address that may be mapped.
        BelowLow: Eperm, "the stack would grow below the lowest address";
        /// The stack would come too close to the area below it.
        Guard: Enomem, "the stack would come too close to the area below it";
        /// The stack would exceed its limit, or grow below offset 0 after it was moved upwards.
        TooLarge: Enomem, "the stack would exceed its limit";
        /// The limit of pages is reached.
        TooManyPages: Enomem, "the limit on pages is reached";
        /// Out of memory for the index.
        NoMemory: Enomem, "out of memory for the index";
    }
);

refusals!(
    /// The reason why a layout is invalid.
    LayoutError {
        /// The page size is not a power of two, or is less than two bytes.
        Page: Einval, "the page size must be a power of two, at least 2";
        /// An end of the space or of a window is not at a page, or the ends are out of order.
        Ragged: Einval, "the bounds are not page-aligned or out of order";
    }
);
