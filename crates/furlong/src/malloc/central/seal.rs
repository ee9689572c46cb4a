//! The end of a block's contents. With `SCRUB` the last word of a block, its seal, encodes it. All
//! bytes between the contents and the seal are zero, so a write there is found when the block is
//! freed, if not before. A free block is all zeros and has no seal, so it needs no mark.

use crate::malloc::{
    Central, Config, Hardening, Misuse, SEAL, Use, clear, is_zero, put_word, stop, word_at,
};

/// The number of bytes checked behind the contents, and of a block before it is handed out.
const BEHIND: usize = 64;
pub(crate) const BEFORE: usize = 128;

/// The seal of a block with `unused` unused bytes.
fn seal_of(secret: usize, address: usize, unused: usize) -> usize {
    let mixed = (secret ^ address ^ unused << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (unused ^ secret) << 32 | mixed >> 32
}

/// The number of unused bytes that a seal encodes, if it is valid.
fn unused_by(secret: usize, address: usize, seal: usize) -> Option<usize> {
    let unused = (seal >> 32) ^ (secret & 0xffff_ffff);
    (seal_of(secret, address, unused) == seal).then_some(unused)
}

/// True if nothing was written between the contents, which end at `from`, and the seal.
#[inline(always)]
fn is_unused(address: usize, from: usize, seal: usize) -> bool {
    let unused = seal - from;
    if unused < 2 * SEAL {
        // Two words and no branch, since the length of the contents cannot be predicted. The shift
        // drops the bytes that are contents: in little-endian order, the lower ones. A block of 16
        // bytes has one word before its seal, and no more than that is unused.
        let low = word_at((seal - 2 * SEAL).max(address)).to_le() as u128;
        let high = word_at(seal - SEAL).to_le() as u128;
        return (high << 64 | low) >> (127 - 8 * unused) >> 1 == 0;
    }
    let first = from - from % SEAL;
    let begins = word_at(first).to_le() >> (8 * (from % SEAL));
    let words = (first + SEAL..seal.min(first + BEHIND)).step_by(SEAL);
    words.fold(begins, |all, at| all | word_at(at)) == 0
}

/// The seals of an allocator's blocks.
pub(crate) struct Seals<C: Config>(pub(crate) &'static Central<C>);

impl<C: Config> Seals<C> {
    /// Seals a new block, all of which is zero; 0 stays 0.
    #[inline(always)]
    pub(crate) fn seal(&self, address: usize, room: usize, size: usize) -> usize {
        if C::Hardening::SCRUB && address != 0 {
            let unused = room - SEAL - size;
            put_word(
                address + room - SEAL,
                seal_of(self.0.pool.mark.get(), address, unused),
            );
        }
        address
    }

    /// The number of bytes of a block's contents.
    ///
    /// Stops the program if something was written past them, or if the block is free.
    #[inline(always)]
    pub(crate) fn contents(&self, address: usize, room: usize) -> usize {
        if !C::Hardening::SCRUB {
            return room;
        }
        match self.intact_contents(address, room) {
            Some(size) => size,
            None => self.stop_unsealed(address),
        }
    }

    /// Stops the program: a block has no valid seal.
    #[cold]
    #[inline(never)]
    fn stop_unsealed(&self, address: usize) -> ! {
        let central = self.0;
        let is_block = central.map.first_unit(address).is(Use::Blocks);
        let misuse = if is_block && central.is_free(address) {
            Misuse::DoubleFree
        } else {
            Misuse::Overrun
        };
        stop(&central.source, misuse, address)
    }

    /// As [`contents`](Self::contents), but `None` if something was written past them.
    #[inline(always)]
    pub(crate) fn intact_contents(&self, address: usize, room: usize) -> Option<usize> {
        let size = self.sealed(address, room)?;
        is_unused(address, address + size, address + room - SEAL).then_some(size)
    }

    /// The number of bytes of a block's contents, by its seal alone; `None` if it has no valid one.
    #[inline(always)]
    pub(crate) fn sealed(&self, address: usize, room: usize) -> Option<usize> {
        let seal = word_at(address + room - SEAL);
        let unused = unused_by(self.0.pool.mark.get(), address, seal)?;
        (room - SEAL).checked_sub(unused)
    }

    /// Changes the length of a block's contents in place, if the block is large enough.
    pub(crate) fn reseal(&self, address: usize, room: usize, size: usize) -> bool {
        let have = self.contents(address, room);
        if size > room - SEAL || size <= room / 2 {
            return false;
        }
        if size < have {
            clear(address + size, have - size);
        }
        self.seal(address, room, size);
        true
    }

    /// Checks a block before it is handed out.
    ///
    /// Stops the program if the block was written to since it was freed.
    #[inline(always)]
    pub(crate) fn inspect(&self, block: usize, room: usize) {
        // The first branch has a length that the compiler knows.
        let clean = if room >= BEFORE {
            is_zero(block, BEFORE)
        } else {
            is_zero(block, room)
        };
        if !clean {
            stop(&self.0.source, Misuse::WrittenAfterFree, block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{seal_of, unused_by};

    #[test]
    fn a_seal_says_what_it_was_made_of_and_any_other_word_is_none() {
        let secret = 0x1234_5678_9abc_def1;
        for unused in [0, 1, 8, 63, 13_000, 65_535] {
            let seal = seal_of(secret, 0x7f00_1230, unused);
            assert_eq!(unused_by(secret, 0x7f00_1230, seal), Some(unused));
            assert_eq!(unused_by(secret, 0x7f00_1240, seal), None);
            for bit in 0..64 {
                assert_eq!(unused_by(secret, 0x7f00_1230, seal ^ 1 << bit), None);
            }
        }
        assert_eq!(unused_by(secret, 0x7f00_1230, 0), None);
    }
}
