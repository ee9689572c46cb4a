//! Where the contents of a block end: in the type that checks everything, a block's last word, its
//! seal, says so. Between the contents and the seal all is zero, so what a program writes there
//! shows when the block is freed, if not before.
#![forbid(unsafe_code)]

use super::{
    allocator::Malloc,
    class::UNIT,
    config::Config,
    hardening::Hardening,
    large::LARGE_MAX,
    source::Misuse,
    system::{clear, is_zero, put_word, stop, word_at},
};

/// Bytes of a seal.
const SEAL: usize = size_of::<usize>();

/// So many bytes behind the contents are looked at.
const LOOK: usize = 64;

/// The seal of a block, of which so many bytes are not used.
fn seal_of(secret: usize, address: usize, unused: usize) -> usize {
    let mixed = (secret ^ address ^ unused << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (unused ^ secret) << 32 | mixed >> 32
}

/// The unused bytes that a seal speaks of, if it is one.
fn unused_by(secret: usize, address: usize, seal: usize) -> Option<usize> {
    let unused = (seal >> 32) ^ (secret & 0xffff_ffff);
    (seal_of(secret, address, unused) == seal).then_some(unused)
}

/// Whether nothing was written between the contents and the seal.
#[inline(always)]
fn is_unused(from: usize, seal: usize) -> bool {
    let inside = from % SEAL;
    if from == seal {
        return true;
    }
    let first = from - inside;
    // The bytes that come first in memory are the lower ones of a word of little-endian order.
    let mut found = word_at(first).to_le() >> (inside * 8);
    let mut at = first + SEAL;
    while at < seal.min(first + LOOK) {
        found |= word_at(at);
        at += SEAL;
    }
    found == 0
}

impl<C: Config> Malloc<C> {
    /// What a request needs.
    #[inline(always)]
    pub(crate) fn with_seal(size: usize) -> usize {
        if C::Hardening::SCRUB {
            size.saturating_add(SEAL)
        } else {
            size
        }
    }

    /// Seals a new block, all of which is zero; 0 stays 0.
    #[inline(always)]
    pub(crate) fn sealed(&'static self, address: usize, room: usize, size: usize) -> usize {
        if C::Hardening::SCRUB && address != 0 {
            let unused = room - SEAL - size;
            put_word(
                address + room - SEAL,
                seal_of(self.pool.mark.get(), address, unused),
            );
        }
        address
    }

    /// How many bytes the contents of a block have.
    ///
    /// Stops the program where they were exceeded.
    #[inline(always)]
    pub(crate) fn contents(&'static self, address: usize, room: usize) -> usize {
        if !C::Hardening::SCRUB {
            return room;
        }
        let seal = word_at(address + room - SEAL);
        let unused = unused_by(self.pool.mark.get(), address, seal);
        let size = unused.and_then(|unused| (room - SEAL).checked_sub(unused));
        match size {
            Some(size) if is_unused(address + size, address + room - SEAL) => size,
            _ => stop(&self.source, Misuse::Overrun, address),
        }
    }

    /// Changes how many bytes of a block are contents, if it has the room.
    pub(crate) fn reseal(&'static self, address: usize, room: usize, size: usize) -> bool {
        let have = self.contents(address, room);
        if size > room - SEAL || size <= room / 2 {
            return false;
        }
        if size < have {
            clear(address + size, have - size);
        }
        self.sealed(address, room, size);
        true
    }

    /// Overwrites the contents and the seal of a block that is freed.
    #[inline(always)]
    pub(crate) fn scrub(&'static self, address: usize, room: usize) {
        let size = self.contents(address, room);
        clear(address, size);
        put_word(address + room - SEAL, 0);
    }

    /// Sees to it that a new object of its own units is all zeros, and seals it.
    pub(crate) fn sealed_units(&'static self, address: usize, zero: bool, size: usize) {
        let (_, room) = self.object_at(address);
        if !zero {
            clear(address, room);
        } else if room <= LARGE_MAX && !is_zero(address, room) {
            stop(&self.source, Misuse::WrittenAfterFree, address);
        }
        debug_assert!(room >= UNIT.min(size));
        self.sealed(address, room, size);
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
