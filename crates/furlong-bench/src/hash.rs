//! A hash for names and fingerprints that is the same on every machine and with every compiler.

use std::io::{self, Read};

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x100_0000_01b3;

/// Bytes that are read at once: whole words.
const PIECE: u64 = 1 << 16;

/// The 64-bit FNV-1a hash.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(BASIS, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// Returns a fingerprint of a large input: the FNV-1a steps over words of eight bytes, with the
/// high half folded down, then the length. It detects accidents, not forgery.
///
/// # Errors
/// Those of reading.
pub fn fingerprint(mut input: impl Read) -> io::Result<u64> {
    let (mut hash, mut length, mut piece) = (BASIS, 0, vec![]);
    loop {
        piece.clear();
        // Every piece but the last has this length, even if reads return less.
        if input.by_ref().take(PIECE).read_to_end(&mut piece)? == 0 {
            return Ok(step(hash, length));
        }
        let words = piece.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        hash = words.fold(hash, step);
        length += piece.len() as u64;
    }
}

/// Returns a digest of words in their order. To append more words, pass the last digest as `begin`.
pub fn digest(begin: u64, words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(begin ^ BASIS, step)
}

fn step(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(PRIME);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{PIECE, digest, fingerprint, fnv1a};

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_fingerprint_sees_every_bit_and_the_length() {
        let whole = [7_u8; 100];
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut other = whole;
                other[place] ^= 1 << bit;
                assert_ne!(
                    fingerprint(&other[..]).unwrap(),
                    fingerprint(&whole[..]).unwrap(),
                    "byte {place} bit {bit}"
                );
            }
        }
        let zeros = |count| fingerprint(&vec![0; count][..]).unwrap();
        assert_ne!(zeros(8), zeros(9));
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_what_a_read_returns() {
        let whole: Vec<u8> = (0..3 * PIECE + 5)
            .map(|at| ((at * at) >> 3) as u8)
            .collect();
        let (front, back) = whole.split_at(PIECE as usize + 3);
        let whole = fingerprint(&whole[..]).unwrap();
        assert_eq!(fingerprint(front.chain(back)).unwrap(), whole);
        assert_ne!(fingerprint(back.chain(front)).unwrap(), whole);
    }

    #[test]
    fn a_digest_sees_the_order_and_what_came_before() {
        assert_ne!(digest(0, [1, 2]), digest(0, [2, 1]));
        assert_ne!(digest(0, [1, 2]), digest(1, [1, 2]));
        assert_ne!(digest(0, [0]), digest(0, [0, 0]));
    }
}
