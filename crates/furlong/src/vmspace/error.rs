//! What is refused, one type an operation, each with the number that Linux answers.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::Errno;

/// There is no memory for the index; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for the index")
    }
}

impl Error for NoMemory {}

impl NoMemory {
    /// The number that Linux answers.
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
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$case),*];

            /// The number that Linux answers.
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
    /// Why nothing was mapped, in the order in which it is found out; nothing has changed.
    MapError {
        /// The offset into the object is no multiple of the page size.
        Offset: Einval, "the offset is not at a page";
        /// The length is 0.
        ZeroLen: Einval, "a length of 0 maps nothing";
        /// The length, in whole pages, does not fit the space.
        TooLong: Enomem, "the length is more than the space has";
        /// The object would end beyond the last offset.
        OffsetOverflow: Eoverflow, "the mapping would go beyond the last offset of its object";
        /// The space has more areas than it may have.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// No gap will do.
        NoGap: Enomem, "no gap is large enough";
        /// A fixed place reaches beyond the space.
        Beyond: Enomem, "the place reaches beyond the space";
        /// A fixed place begins at no page, or the alignment is no power of two pages.
        Unaligned: Einval, "the place is not at a page, or the alignment no power of two";
        /// A fixed place lies below the lowest address that may be mapped.
        BelowLow: Eperm, "the place lies below the lowest address that may be mapped";
        /// Something is mapped at the place, and may not be replaced.
        Occupied: Eexist, "something is mapped there";
        /// Neither shared nor private, or shared and growing, or growing and of an object.
        Kind: Einval, "this kind of mapping does not exist";
        /// The kind or a flag of it is not supported.
        Unsupported: Eopnotsupp, "this flag is not supported";
        /// The object allows no such protection.
        Access: Eacces, "the object does not allow this protection";
        /// The object may not be executed.
        NoExec: Eperm, "the object may not be executed";
        /// The object cannot be mapped.
        NoDevice: Enodev, "the object cannot be mapped";
        /// The space may not have so many pages.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// There is no memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// Why nothing was unmapped; nothing has changed.
    UnmapError {
        /// The start is at no page.
        Unaligned: Einval, "the start is not at a page";
        /// The range reaches beyond the space.
        Beyond: Einval, "the range reaches beyond the space";
        /// The length is 0.
        ZeroLen: Einval, "a length of 0 unmaps nothing";
        /// An area would be cut in two, and there may be no more areas.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// There is no memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// Why no protection was changed. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    ProtectError {
        /// The start is at no page.
        Unaligned: Einval, "the start is not at a page";
        /// The end is no address.
        Overflow: Enomem, "the range ends beyond the last address";
        /// A protection that does not exist.
        UnknownProt: Einval, "this protection does not exist";
        /// What is there does not grow that way, or both ways are asked for.
        NotGrowing: Einval, "the area does not grow that way";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// An area does not allow the protection.
        Access: Eacces, "an area does not allow this protection";
        /// An area would be cut, and there may be no more areas.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// There is no memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// Why an advice was not taken. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    AdviseError {
        /// The start is at no page.
        Unaligned: Einval, "the start is not at a page";
        /// The end is no address.
        Beyond: Einval, "the range ends beyond the last address";
        /// Part of the range is not mapped.
        Hole: Enomem, "part of the range is not mapped";
        /// Only private anonymous memory can be wiped.
        Kind: Einval, "the advice is not for such an area";
        /// An area would be cut, and there may be no more areas.
        TooManyAreas: Eagain, "there are as many areas as there may be";
        /// There is no memory for the index.
        NoMemory: Eagain, "there is no memory for the index";
    }
);

refusals!(
    /// Why nothing was moved or resized. Nothing has changed, except in the mode
    /// [`Linux`](super::Linux).
    RemapError {
        /// Options that do not go together.
        Options: Einval, "these options do not go together";
        /// The old or the new start is at no page.
        Unaligned: Einval, "the start is not at a page";
        /// The new length is 0, or does not fit 64 bits.
        ZeroLen: Einval, "a new length of 0 maps nothing";
        /// Nothing is mapped at the old start.
        NotMapped: Efault, "nothing is mapped there";
        /// The new place reaches beyond the space.
        Beyond: Einval, "the new place reaches beyond the space";
        /// The old and the new place overlap.
        Overlap: Einval, "the old and the new place overlap";
        /// The old range cannot be unmapped: it reaches beyond the space.
        OldBeyond: Einval, "the old range reaches beyond the space";
        /// An old length of 0 asks for a second mapping, which only a shared one can have.
        NotShared: Einval, "only a shared area can be mapped a second time";
        /// The old range reaches beyond its area.
        AcrossAreas: Efault, "the old range is of more than one area";
        /// The object would end beyond the last offset.
        OffsetOverflow: Einval, "the mapping would go beyond the last offset of its object";
        /// The area must not become larger.
        NotExpandable: Efault, "the area must not become larger";
        /// An area that must not become larger cannot be left behind empty.
        NotMovable: Einval, "the area cannot be moved and left behind";
        /// The space may not have so many pages.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// It cannot become larger where it is, and may not be moved.
        MayNotMove: Enomem, "there is no room to grow, and it may not be moved";
        /// No gap will do.
        NoGap: Enomem, "no gap is large enough";
        /// The new place lies below the lowest address that may be mapped.
        BelowLow: Eperm, "the place lies below the lowest address that may be mapped";
        /// There may be no more areas.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// There is no memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// Why the break stays where it is; nothing has changed. Linux tells none of it: its `brk`
    /// answers where the break is.
    BrkError {
        /// Below where the heap begins.
        BelowStart: Enomem, "the heap begins above";
        /// Below the lowest address that may be mapped.
        BelowLow: Enomem, "the heap would lie below the lowest address that may be mapped";
        /// Beyond the space.
        Beyond: Enomem, "the heap would reach beyond the space";
        /// Something else is mapped there, or is too close.
        Occupied: Enomem, "something else is mapped there";
        /// What is given back is not mapped.
        NotMapped: Enomem, "the end of the heap is not mapped";
        /// There may be no more pages.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// There may be no more areas.
        TooManyAreas: Enomem, "there are as many areas as there may be";
        /// There is no memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// Why a fault finds no memory; nothing has changed.
    FaultError {
        /// Nothing is mapped there, nor is it below a stack.
        NotMapped: Efault, "nothing is mapped there";
        /// The area does not allow it.
        Access: Eacces, "the area does not allow this access";
        /// The stack would grow below the lowest address that may be mapped.
        BelowLow: Eperm, "the stack would grow below the lowest address";
        /// The stack would come too close to the area below it.
        Guard: Enomem, "the stack would come too close to what is below it";
        /// The stack would be larger than it may be.
        TooLarge: Enomem, "the stack would be larger than it may be";
        /// There may be no more pages.
        TooManyPages: Enomem, "there would be more pages than there may be";
        /// There is no memory for the index.
        NoMemory: Enomem, "there is no memory for the index";
    }
);

refusals!(
    /// Why there can be no such space.
    LayoutError {
        /// A page is no power of two of two bytes at least.
        Page: Einval, "a page is a power of two, and has two bytes at least";
        /// An end of the space or of a window is at no page, or they are out of order.
        Ragged: Einval, "the bounds are not at pages or not in order";
    }
);
