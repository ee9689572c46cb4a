//! What is overwritten before a device or another owner can see it: a policy in the pool's type.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// When bounce memory is zeroed.
///
/// Whatever the policy, the bytes of a mapping are overwritten by those of the original when it is
/// mapped, in every direction: a device that is to write, and writes less, then gives back what was
/// there before, and not what an earlier owner of the slots has left. Memory that is allocated
/// without an original is zeroed under each of them.
///
/// What is left are the bytes of a run outside the mapping: *pads*, in front where the original
/// does not begin at a slot, and behind it up to the end of the last slot. The device can reach
/// them, and if nobody zeroes them it reads there what others have left.
pub trait Zeroing: sealed::Sealed + 'static {
    /// Pads are zeroed when a run is mapped.
    const PADS: bool;
    /// The whole run is zeroed when it is unmapped.
    const UNMAPPED: bool;
}

/// Pads are zeroed: no device sees a byte that was not meant for it. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroPads;

impl sealed::Sealed for ZeroPads {}

impl Zeroing for ZeroPads {
    const PADS: bool = true;
    const UNMAPPED: bool = false;
}

/// As [`ZeroPads`], and runs are zeroed when they are unmapped, so that nothing of a transfer stays
/// in memory that a host can read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroUnmapped;

impl sealed::Sealed for ZeroUnmapped {}

impl Zeroing for ZeroUnmapped {
    const PADS: bool = true;
    const UNMAPPED: bool = true;
}

/// Pads are left as they are, as Linux leaves them: for devices that are trusted with everything
/// that passes through the pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroNothing;

impl sealed::Sealed for ZeroNothing {}

impl Zeroing for ZeroNothing {
    const PADS: bool = false;
    const UNMAPPED: bool = false;
}
