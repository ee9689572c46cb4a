//! The policy for overwriting memory before a device or another owner sees it, in the pool's type.
#![forbid(unsafe_code)]

use crate::forms::Sealed;

/// The policy for zeroing bounce memory.
///
/// Under each policy, a map overwrites the bytes of a mapping with those of the original, in every
/// direction. So if a device writes fewer bytes, the rest comes back as before, and never holds
/// data of an earlier owner of the slots. Memory that is allocated without an original is zeroed
/// under each policy, too.
///
/// The remaining bytes of a run are the *pads*. One is before the mapping, if the original does not
/// begin at a slot. The other is after it, up to the end of the last slot. The device can reach
/// them. If they are not zeroed, it can read data of other mappings there.
pub trait Zeroing: Sealed + 'static {
    /// True if a map zeroes the pads.
    const PADS: bool;
    /// True if an unmap zeroes the whole run.
    const UNMAPPED: bool;
}

/// Zeroes pads: no device sees a byte that was not meant for it. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroPads;

impl Sealed for ZeroPads {}

impl Zeroing for ZeroPads {
    const PADS: bool = true;
    const UNMAPPED: bool = false;
}

/// Like [`ZeroPads`], and zeroes runs when they are unmapped, so that no data of a transfer stays
/// in memory that a host can read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroUnmapped;

impl Sealed for ZeroUnmapped {}

impl Zeroing for ZeroUnmapped {
    const PADS: bool = true;
    const UNMAPPED: bool = true;
}

/// Leaves pads as they are, like Linux: for devices that are trusted with all data that passes
/// through the pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroNothing;

impl Sealed for ZeroNothing {}

impl Zeroing for ZeroNothing {
    const PADS: bool = false;
    const UNMAPPED: bool = false;
}
