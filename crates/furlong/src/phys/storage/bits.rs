//! A bitmap of used places.
#![forbid(unsafe_code)]

use core::cell::Cell;

/// Words that a bitmap of `bits` bits takes.
pub(super) const fn words_for(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// The first run of `len` clear bits in `from..room`; otherwise the length of the longest run as
/// the error.
pub(crate) fn clear_run(
    words: &[Cell<u64>],
    from: usize,
    room: usize,
    len: usize,
) -> Result<usize, usize> {
    let (mut from, mut longest) = (from, 0);
    while from < room {
        let at = next_change(words, from, room, 0);
        if at - from >= len {
            return Ok(from);
        }
        longest = longest.max(at - from);
        from = next_change(words, at, room, u64::MAX);
    }
    Err(longest)
}

/// The first bit in `from..room` that differs from the bits of `same`, which are all 0 or all 1;
/// `room` if there is none.
fn next_change(words: &[Cell<u64>], from: usize, room: usize, same: u64) -> usize {
    let mut at = from;
    while at < room {
        let word = (words[at / 64].get() ^ same) >> (at % 64);
        if word != 0 {
            return (at + word.trailing_zeros() as usize).min(room);
        }
        at = (at / 64 + 1) * 64;
    }
    room
}

/// Sets or clears the bits `from..from + len`.
pub(crate) fn mark(words: &[Cell<u64>], from: usize, len: usize, set: bool) {
    for (word, mask) in masks(words, from, len) {
        let rest = word.get() & !mask;
        word.set(if set { rest | mask } else { rest });
    }
}

/// The number of set bits in `from..from + len`.
pub(crate) fn count(words: &[Cell<u64>], from: usize, len: usize) -> usize {
    let ones = |(word, mask): (&Cell<u64>, u64)| (word.get() & mask).count_ones() as usize;
    masks(words, from, len).map(ones).sum()
}

/// The words that contain bits of `from..from + len`, each with a mask of those bits.
fn masks(words: &[Cell<u64>], from: usize, len: usize) -> impl Iterator<Item = (&Cell<u64>, u64)> {
    let end = from + len;
    let words_end = if len == 0 { 0 } else { end.div_ceil(64) };
    (from / 64..words_end).map(move |at| {
        let (low, high) = (from.max(at * 64), end.min(at * 64 + 64));
        let mask = (u64::MAX >> (64 - (high - low))) << (low % 64);
        (&words[at], mask)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::Cell;

    use super::{clear_run, count, mark};

    #[test]
    fn the_first_run_that_is_long_enough_is_found_across_words() {
        let words: [Cell<u64>; 3] = core::array::from_fn(|_| Cell::new(0));
        mark(&words, 0, 60, true);
        mark(&words, 62, 10, true);
        assert_eq!(clear_run(&words, 0, 190, 2), Ok(60));
        assert_eq!(clear_run(&words, 0, 190, 3), Ok(72));
        assert_eq!(clear_run(&words, 0, 190, 118), Ok(72));
        assert_eq!(clear_run(&words, 0, 190, 119), Err(118));
        assert_eq!(clear_run(&words, 100, 190, 90), Ok(100));
        mark(&words, 10, 1, false);
        assert_eq!(clear_run(&words, 0, 190, 1), Ok(10));
    }

    #[test]
    fn marks_are_counted() {
        let words: [Cell<u64>; 2] = core::array::from_fn(|_| Cell::new(0));
        mark(&words, 63, 3, true);
        mark(&words, 0, 128, true);
        mark(&words, 1, 126, false);
        assert_eq!(words[0].get() | words[1].get(), 1 | 1 << 63);
        assert_eq!((count(&words, 0, 128), count(&words, 1, 127)), (2, 1));
        assert_eq!(count(&words, 5, 0), 0);
    }
}
