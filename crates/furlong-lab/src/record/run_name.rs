//! Names of runs.

/// Letters and digits without those that look alike.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns a name of eight letters and digits, from the lowest 40 bits.
pub fn run_name(bits: u64) -> String {
    let letter = |place: u32| char::from(LETTERS[(bits >> (5 * place) & 31) as usize]);
    (0..8).map(letter).collect()
}
