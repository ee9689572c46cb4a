//! What a pool is tried in: its plan, its devices, where its blocks lie.
#![forbid(unsafe_code)]

use furlong::bounce::{Limits, Plan};

use super::addresses::Addresses;

/// What a pool is tried in.
#[derive(Clone, Debug)]
pub struct World {
    /// How large the pool is.
    pub plan: Plan,
    /// Limits of the devices, whose numbers are their places.
    pub devices: Vec<Limits>,
    /// Where blocks lie.
    pub addresses: Addresses,
    /// Bytes for originals.
    pub ram: usize,
    /// Slots of a segment.
    pub segment: usize,
}

/// In which order areas are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// All areas of a block, then the next block.
    PoolFirst,
    /// The own area in all blocks, then the next area.
    AreaFirst,
}

/// FNV-1a over all bytes, from `start` on.
#[must_use]
pub fn digest(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
