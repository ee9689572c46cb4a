//! The façade of Asterinas' `RangeAllocator` beside a list of allocated ranges.
#![forbid(unsafe_code)]

use std::ops::Range;

use furlong_adapters::range_alloc::{RangeAllocError, RangeAllocator};
use furlong_spec::Random;

const FULL: Range<usize> = 0xffff_e000_0000_0000..0xffff_e000_0000_0400;

/// The lowest place for `size` addresses between ranges in ascending order.
fn lowest(taken: &[Range<usize>], size: usize) -> Option<Range<usize>> {
    let end = FULL.end..FULL.end;
    let mut from = FULL.start;
    for next in taken.iter().chain(std::iter::once(&end)) {
        if next.start - from >= size {
            return Some(from..from + size);
        }
        from = next.end;
    }
    None
}

fn note(taken: &mut Vec<Range<usize>>, range: Range<usize>) {
    taken.push(range);
    taken.sort_unstable_by_key(|range| range.start);
}

#[test]
fn random_calls_are_answered_as_a_list_does() {
    let mut refused = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let kernel = RangeAllocator::new(FULL);
        assert_eq!(*kernel.fullrange(), FULL);
        let mut taken: Vec<Range<usize>> = Vec::new();
        for _ in 0..1_000 {
            let size = 1 + random.below(100) as usize;
            match random.below(4) {
                0 => {
                    let start = FULL.start + random.below(0x400) as usize;
                    let range = start..start + size;
                    let fits = range.end <= FULL.end
                        && !taken
                            .iter()
                            .any(|one| one.start < range.end && range.start < one.end);
                    assert_eq!(kernel.alloc_specific(&range).is_ok(), fits);
                    if fits {
                        note(&mut taken, range);
                    }
                }
                1 if !taken.is_empty() => {
                    let range = taken.remove(random.below(taken.len() as u64) as usize);
                    kernel.free(range);
                }
                _ => {
                    let expected = lowest(&taken, size);
                    assert_eq!(kernel.alloc(size).ok(), expected);
                    match expected {
                        Some(range) => note(&mut taken, range),
                        None => refused += 1,
                    }
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn nothing_is_no_range() {
    let kernel = RangeAllocator::new(FULL);
    assert_eq!(kernel.alloc(0), Err(RangeAllocError));
    let empty = FULL.start..FULL.start;
    assert_eq!(kernel.alloc_specific(&empty), Err(RangeAllocError));
}

#[test]
#[should_panic(expected = "freed once, and whole")]
fn part_of_an_allocation_is_not_freed() {
    let kernel = RangeAllocator::new(FULL);
    let range = kernel.alloc(16).unwrap();
    kernel.free(range.start..range.start + 8);
}

#[test]
fn threads_never_get_the_same_addresses() {
    let kernel = RangeAllocator::new(0..1 << 20);
    let parts: Vec<Vec<Range<usize>>> = std::thread::scope(|scope| {
        let take = || {
            (0..500)
                .map(|size| kernel.alloc(1 + size % 64).unwrap())
                .collect()
        };
        let threads = [(); 4].map(|()| scope.spawn(take));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let mut all: Vec<_> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|range| range.start);
    assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert_eq!(all.len(), 2_000);
}
