//! Content of a block: a body that all blocks share, with two words in each slot that identify the
//! block and count its writes.
#![forbid(unsafe_code)]

use std::ops::Range;

/// Bytes of a grain, the unit that is stamped: a slot.
pub(super) const GRAIN: usize = furlong::bounce::SLOT as usize;

/// Bytes of a word.
const WORD: usize = 8;

/// A block, and the number of its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) block: u64,
    pub(super) generation: u32,
}

/// Mixes the bits of a number, so that similar numbers give distinct words.
pub(super) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

impl Name {
    /// The stamps of a block of `len` bytes: offset and word.
    pub(super) fn stamps(self, len: usize) -> impl Iterator<Item = (usize, u64)> {
        let Self { block, generation } = self;
        (0..len / GRAIN).flat_map(move |grain| {
            let word = mix(block << 24 ^ u64::from(generation) << 8 ^ grain as u64);
            let first = grain * GRAIN;
            [(first, word), (first + GRAIN - WORD, !word)]
        })
    }

    /// Fills `bytes` with the block's content.
    pub(super) fn write(self, bytes: &mut [u8]) {
        let (words, _) = bytes.as_chunks_mut::<WORD>();
        for (at, word) in words.iter_mut().enumerate() {
            *word = mix(at as u64).to_le_bytes();
        }
        let len = bytes.len();
        for (at, word) in self.stamps(len) {
            bytes[word_at(at)].copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Byte range of the word at an offset.
fn word_at(at: usize) -> Range<usize> {
    at..at + WORD
}
