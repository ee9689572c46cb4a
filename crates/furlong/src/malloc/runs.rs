//! Runs of places in a word: of units in an arena, and of grains in a region.
#![forbid(unsafe_code)]

/// The places at multiples of 1, 2, 4 and so on up to 64.
const ALIGNED: [u64; 7] = [
    u64::MAX,
    u64::MAX / 0x3,
    u64::MAX / 0xf,
    u64::MAX / 0xff,
    u64::MAX / 0xffff,
    u64::MAX / 0xffff_ffff,
    1,
];

/// The bits of a run of `len` places that begins at place `at`.
pub(crate) fn run(at: u32, len: usize) -> u64 {
    debug_assert!(len >= 1 && at as usize + len <= 64);
    (u64::MAX >> (64 - len)) << at
}

/// The places from which `len` places are in the set.
pub(crate) fn starts(set: u64, len: usize) -> u64 {
    if len > 64 {
        return 0;
    }
    let mut starts = set;
    let mut have = 1;
    while have < len {
        let step = have.min(len - have);
        starts &= starts >> step;
        have += step;
    }
    starts
}

/// The first place at a multiple of `align`, a power of two, from which `len` places are in the
/// set.
pub(crate) fn find(set: u64, len: usize, align: usize) -> Option<u32> {
    let starts = starts(set, len) & ALIGNED[align.ilog2().min(6) as usize];
    (starts != 0).then(|| starts.trailing_zeros())
}

/// The length of the longest run of a set.
pub(crate) fn longest(set: u64) -> usize {
    // The places from which runs of 1, 2, 4, 8, 16 and 32 places are in the set.
    let mut starts = [set; 6];
    for at in 1..6 {
        starts[at] = starts[at - 1] & starts[at - 1] >> (1 << (at - 1));
    }
    let (mut len, mut from) = (0, u64::MAX);
    for at in (0..6).rev() {
        let more = from & starts[at].checked_shr(len).unwrap_or(0);
        if more != 0 {
            (len, from) = (len + (1 << at), more);
        }
    }
    len as usize + usize::from(set == u64::MAX)
}

/// The maximal runs of a set, in ascending order.
pub(crate) fn runs(mut set: u64) -> impl Iterator<Item = (u32, usize)> {
    core::iter::from_fn(move || {
        let at = (set != 0).then(|| set.trailing_zeros())?;
        let len = (!(set >> at)).trailing_zeros().min(64 - at);
        set &= u64::MAX.checked_shl(at + len).unwrap_or(0);
        Some((at, len as usize))
    })
}

#[cfg(test)]
mod tests {
    use super::{find, longest, run, runs};

    /// As `find`, by trying every unit.
    fn slowly(set: u64, len: usize, align: usize) -> Option<u32> {
        let fits =
            |at: &usize| at + len <= 64 && (*at..at + len).all(|place| set >> place & 1 == 1);
        (0..64)
            .step_by(align)
            .find(fits)
            .map(|at| u32::try_from(at).expect("below 64"))
    }

    fn sets() -> impl Iterator<Item = u64> {
        let mut x = 0x2545_f491_4f6c_dd1d_u64;
        let random = (0..500).map(move |round| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if round % 2 == 0 {
                x
            } else {
                x | x >> 3 | x << 5
            }
        });
        random.chain([0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, u64::MAX << 32])
    }

    #[test]
    fn the_first_aligned_run_is_found_in_every_set() {
        for set in sets() {
            for len in 1..=70 {
                for align in [1, 2, 4, 8, 16, 32, 64] {
                    assert_eq!(
                        find(set, len, align),
                        slowly(set, len, align),
                        "{set:x} {len}"
                    );
                }
            }
        }
    }

    #[test]
    fn runs_are_disjoint_and_make_up_the_set() {
        for set in sets() {
            let mut sum = 0;
            for (at, len) in runs(set) {
                let bits = run(at, len);
                assert_eq!(sum & (bits | bits << 1), 0);
                sum |= bits;
            }
            assert_eq!(sum, set);
            let all = runs(set).map(|(_, len)| len);
            assert_eq!(longest(set), all.max().unwrap_or(0), "{set:x}");
        }
        assert_eq!(run(60, 4), 0xf << 60);
    }
}
