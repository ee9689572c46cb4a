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

/// A hash of all bytes, eight at a time, from `start` on: each word goes into what depends on those
/// before it, and what is short of a word ends with zeros.
#[must_use]
pub fn digest(start: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A product carries upwards only.
        mixed ^ mixed >> 32
    };
    // Four rows, for each product waits for the one before it.
    let mut rows = [start, 1, 2, 3];
    let (lines, rest) = bytes.as_chunks::<32>();
    for line in lines {
        for (hash, word) in rows.iter_mut().zip(line.as_chunks::<8>().0) {
            *hash = mix(*hash, u64::from_le_bytes(*word));
        }
    }
    let hash = rows.into_iter().fold(bytes.len() as u64, mix);
    rest.chunks(8).fold(hash, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(word))
    })
}
