//! A hash for names and fingerprints that is the same on every machine and with every compiler.

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x100_0000_01b3;

/// The 64-bit FNV-1a hash.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(BASIS, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// Returns a fingerprint of a large input: the FNV-1a steps over words of eight bytes, with the
/// high half folded down, then the length. It detects accidents, not forgery.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    step(words.fold(BASIS, step), bytes.len() as u64)
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
    use super::{digest, fingerprint, fnv1a};

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
                    fingerprint(&other),
                    fingerprint(&whole),
                    "byte {place} bit {bit}"
                );
            }
        }
        assert_ne!(fingerprint(&[0; 8]), fingerprint(&[0; 9]));
    }

    #[test]
    fn a_digest_sees_the_order_and_what_came_before() {
        assert_ne!(digest(0, [1, 2]), digest(0, [2, 1]));
        assert_ne!(digest(0, [1, 2]), digest(1, [1, 2]));
        assert_ne!(digest(0, [0]), digest(0, [0, 0]));
    }
}
