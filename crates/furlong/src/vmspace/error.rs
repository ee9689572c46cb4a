//! The errors, one type for each operation, with the error numbers that Linux returns.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::Errno;

/// Out of memory for the index; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for the index")
    }
}

impl Error for NoMemory {}

impl NoMemory {
    /// The error number that Linux returns.
    #[must_use]
    pub const fn errno(self) -> Errno {
        Errno::Enomem
    }
}

impl From<NoMemory> for Errno {
    fn from(error: NoMemory) -> Self {
        error.errno()
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
        Offset: Einval, "the offset is not at a page";
        /// The length is 0.
        ZeroLen: Einval, "a length of 0 maps nothing";
        /// The length, in whole pages, exceeds the space.
        TooLong: Enomem, "the length is more than the space has";
        /// The object would end beyond the last possible offset.
        OffsetOverflow: Eoverflow, "the mapping would go beyond the last offset of its object";
        /// The space already has more areas than its limit.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// No gap is large enough.
        NoGap: Enomem, "no gap is large enough";
        /// A fixed place reaches beyond the space.
        Beyond: Enomem, "the place reaches beyond the space";
        /// A fixed place does not begin at a page, or the alignment is not a power of two of pages.
        Unaligned: Einval, "the place is not at a page, or the alignment no power of two";
        /// A fixed place lies below the lowest address that may be mapped.
        BelowLow: Eperm, "the place lies below the lowest address that may be mapped";
        /// Something is mapped at the place, and must not be replaced.
        Occupied: Eexist, "something is mapped there";
        /// Neither shared nor private, or shared and growing, or growing and mapping an object.
        Kind: Einval, "this kind of mapping does not exist";
        /// This kind of mapping or one of its flags is not supported.
        Unsupported: Eopnotsupp, "this flag is not supported";
        /// The object does not allow this protection.
        Access: Eacces, "the object does not allow this protection";
        /// The object may not be executed.
        NoExec: Eperm, "the object may not be executed";
        /// The object cannot be mapped.
        NoDevice: Enodev, "the object cannot be mapped";
        /// The space would have more pages than its limit.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// Out of memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why nothing was unmapped; nothing has changed.
    UnmapError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not at a page";
        /// The range reaches beyond the space.
        Beyond: Einval, "the range reaches beyond the space";
        /// The length is 0.
        ZeroLen: Einval, "a length of 0 unmaps nothing";
        /// An area would be cut in two, and the limit of areas is reached.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// Out of memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why no protection was changed. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    ProtectError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not at a page";
        /// The end is no address.
        Overflow: Enomem, "the range ends beyond the last address";
        /// The protection is unknown.
        UnknownProt: Einval, "this protection does not exist";
        /// The area there does not grow that way, or both directions are requested.
        NotGrowing: Einval, "the area does not grow that way";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// An area does not allow the protection.
        Access: Eacces, "an area does not allow this protection";
        /// An area would be cut, and the limit of areas is reached.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// Out of memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why an advice was refused. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    AdviseError {
        /// The start is not at a page.
        Unaligned: Einval, "the start is not at a page";
        /// The end is no address.
        Beyond: Einval, "the range ends beyond the last address";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// Only private anonymous memory can be wiped.
        Kind: Einval, "the advice is not for such an area";
        /// An area would be cut, and the limit of areas is reached.
        TooManyAreas: Eagain, "there are as many areas as there may be";
        /// Out of memory for the index.
        NoMemory: Eagain, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why nothing was moved or resized. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    RemapError {
        /// The options contradict each other.
        Options: Einval, "these options do not go together";
        /// The old or the new start is not at a page.
        Unaligned: Einval, "the start is not at a page";
        /// The new length is 0, or does not fit 64 bits.
        ZeroLen: Einval, "a new length of 0 maps nothing";
        /// Nothing is mapped at the old start.
        NotMapped: Efault, "nothing is mapped there";
        /// The new place reaches beyond the space.
        Beyond: Einval, "the new place reaches beyond the space";
        /// The old and the new place overlap.
        Overlap: Einval, "the old and the new place overlap";
        /// The old range reaches beyond the space and cannot be unmapped.
        OldBeyond: Einval, "the old range reaches beyond the space";
        /// An old length of 0 requests a second mapping, which is possible only for shared memory.
        NotShared: Einval, "only a shared area can be mapped a second time";
        /// The old range reaches beyond its area.
        AcrossAreas: Efault, "the old range is of more than one area";
        /// The object would end beyond the last possible offset.
        OffsetOverflow: Einval, "the mapping would go beyond the last offset of its object";
        /// The area must not be enlarged.
        NotExpandable: Efault, "the area must not become larger";
        /// An area that must not be enlarged cannot leave its old place mapped.
        NotMovable: Einval, "the area cannot be moved and left behind";
        /// The space would have more pages than its limit.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// It cannot be enlarged in place, and must not be moved.
        MayNotMove: Enomem, "there is no room to grow, and it may not be moved";
        /// No gap is large enough.
        NoGap: Enomem, "no gap is large enough";
        /// The new place lies below the lowest address that may be mapped.
        BelowLow: Eperm, "the place lies below the lowest address that may be mapped";
        /// The limit of areas is reached.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// Out of memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why the break stays where it is; nothing has changed. Linux reports none of it:
    /// its `brk` returns the present break.
    BrkError {
        /// The break would lie below the start of the heap.
        BelowStart: Enomem, "the heap begins above";
        /// The heap would lie below the lowest address that may be mapped.
        BelowLow: Enomem, "the heap would lie below the lowest address that may be mapped";
        /// The heap would reach beyond the space.
        Beyond: Enomem, "the heap would reach beyond the space";
        /// Something else is mapped there, or too close.
        Occupied: Enomem, "something else is mapped there";
        /// The part to be unmapped is not mapped.
        NotMapped: Enomem, "the end of the heap is not mapped";
        /// The limit of pages is reached.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// The limit of areas is reached.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// Out of memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why a fault was refused; nothing has changed.
    FaultError {
        /// Nothing is mapped there, and no stack can grow down to it.
        NotMapped: Efault, "nothing is mapped there";
        /// The area does not allow this access.
        Access: Eacces, "the area does not allow this access";
        /// The stack would grow below the lowest address that may be mapped.
        BelowLow: Eperm, "the stack would grow below the lowest address";
        /// The stack would come too close to the area below it.
        Guard: Enomem, "the stack would come too close to what is below it";
        /// The stack would exceed its limit.
        TooLarge: Enomem, "the stack would be larger than it may be";
        /// The limit of pages is reached.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// Out of memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// The reason why a layout is invalid.
    LayoutError {
        /// The page size is not a power of two, or is less than two bytes.
        Page: Einval, "a page is a power of two, and has two bytes at least";
        /// An end of the space or of a window is not at a page, or the ends are out of order.
        Ragged: Einval, "the bounds are not at pages or not in order";
    }
);
