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

/// A hash of all bytes, eight at a time, from `start` on: each word goes into what depends on all
/// before it, and what is short of a word ends with zeros.
#[must_use]
pub fn digest(start: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(start, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let mixed = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A product carries upwards only.
        mixed ^ mixed >> 32
    })
}
