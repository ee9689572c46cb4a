//! Properties of size classes and runs of units, for all inputs.
#![forbid(unsafe_code)]

use super::central::arena::RUN_MAX;
use super::class::{CLASSES, Class, MEDIUM_MAX, SMALL_MAX, UNIT};
use super::runs::{find, run, runs};
use crate::proofs::{Input, Property};

/// The properties of this file.
pub const PROPERTIES: &[Property] = &[
    Property::new("malloc::run_has_its_bits", run_has_its_bits),
    // Split by alignment: the search divides by a word that it computes.
    Property::in_cases(
        "malloc::find_fits_and_is_first",
        find_fits_and_is_first,
        [0, 0, 7, 0, 0],
    ),
    Property::new("malloc::the_first_run_is_whole", the_first_run_is_whole),
    Property::new("malloc::small_class_is_smallest", small_class_is_smallest),
    Property::new("malloc::medium_class_is_smallest", medium_class_is_smallest),
    // Split by class: each has a size of its own to divide by.
    Property::in_cases(
        "malloc::blocks_are_told_apart",
        blocks_are_told_apart,
        [CLASSES as u64 - 1, 0, 0, 0, 0],
    ),
];

/// A run is `len` bits from `at` on, and no others.
pub fn run_has_its_bits(x: &Input) -> bool {
    let (len, at) = (x[0] as usize % 64 + 1, x[1] as u32 % 64);
    let bit = x[2] as u32 % 64;
    if at as usize + len > 64 {
        return true;
    }
    let is_set = run(at, len) >> bit & 1 == 1;
    is_set == (at <= bit && bit < at + len as u32)
}

/// A found run is aligned and free, and no aligned place before it is free.
pub fn find_fits_and_is_first(x: &Input) -> bool {
    let (set, len) = (x[0], x[1] as usize % RUN_MAX + 1);
    let align = 1_usize << (x[2] % 7);
    let other = x[3] as usize % 64;
    let fits = |at: usize| {
        let is_free = |bits| set & bits == bits;
        at & (align - 1) == 0 && at + len <= 64 && is_free(run(at as u32, len))
    };
    match find(set, len, align) {
        Some(at) => fits(at as usize) && !(other < at as usize && fits(other)),
        None => !fits(other),
    }
}

/// The first of the longest runs begins at the lowest bit and ends before a clear one.
pub fn the_first_run_is_whole(x: &Input) -> bool {
    let set = x[0];
    let Some((at, len)) = runs(set).next() else {
        return set == 0;
    };
    let bits = run(at, len);
    let ends = at as usize + len == 64 || set >> (at as usize + len) & 1 == 0;
    set & bits == bits && at == set.trailing_zeros() && ends
}

/// A small request's class has room for it, and the class below has not.
pub fn small_class_is_smallest(x: &Input) -> bool {
    let size = x[0] as usize % (SMALL_MAX * 2);
    size > SMALL_MAX || is_smallest(size)
}

/// A request above the small ones has the smallest class with room, or none if there is none.
pub fn medium_class_is_smallest(x: &Input) -> bool {
    let size = x[0] as usize;
    if size <= SMALL_MAX {
        return true;
    }
    if size > MEDIUM_MAX {
        return Class::of(size).is_none();
    }
    is_smallest(size)
}

fn is_smallest(size: usize) -> bool {
    let Some(class) = Class::of(size) else {
        return false;
    };
    let below = class.index() - 1;
    class.size() >= size && (below == 0 || Class::numbered(below).size() < size)
}

/// An offset in a span is the start of block `number` exactly if it is `number` times the block
/// size.
pub fn blocks_are_told_apart(x: &Input) -> bool {
    let class = Class::numbered(x[0] as usize % (CLASSES - 1) + 1);
    let (offset, number) = (x[1] as usize % (16 * UNIT), x[2] as usize % UNIT);
    let starts = offset < class.units() * UNIT && number * class.size() == offset;
    (class.block_at(offset) == Some(number)) == starts
}
