//! The world of a pool under test: its plan, its devices and the addresses of its blocks.
#![forbid(unsafe_code)]

use furlong::bounce::{Limits, Plan};

use super::addresses::Addresses;

/// The world of a pool under test.
#[derive(Clone, Debug)]
pub struct World {
    /// Size and growth of the pool.
    pub plan: Plan,
    /// Limits of the devices. A device's number is its index.
    pub devices: Vec<Limits>,
    /// Addresses of the blocks.
    pub addresses: Addresses,
    /// Bytes of memory for originals.
    pub ram: usize,
    /// Slots in a segment.
    pub segment: usize,
}

/// The order in which areas are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// All areas of a block, then the next block.
    PoolFirst,
    /// The CPU's own area in all blocks, then the next area.
    AreaFirst,
}

/// A hash of `bytes`, eight at a time, which starts from `start`. Each word affects all later
/// states; the last word is padded with zeros.
#[must_use]
pub fn digest(start: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A product carries upwards only, so this mixes the high half into the low half.
        mixed ^ mixed >> 32
    };
    // Four independent rows, because each product has to wait for the previous one in its row.
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
