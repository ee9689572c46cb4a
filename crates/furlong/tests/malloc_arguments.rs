//! Invalid arguments: each safe entry refuses them. None hangs, panics or returns a block that does
//! not fit, under any hardening.

use std::alloc::{GlobalAlloc, Layout};

use allocator_api2::alloc::Allocator;
use furlong::malloc::{
    Batched, Checked, Config, Global, HugePages, Inlined, Malloc, NoHardening, Outlined, PerCall,
    Profile, Secure, Zone,
};

mod allocators;

allocators::allocators! {
    Plain, PlainThread, PLAIN: NoHardening, Inlined, Batched;
    Looked, LookedThread, LOOKED: Checked, Outlined, PerCall;
    Sealed, SealedThread, SEALED: Secure, Inlined, Batched;
    Faced, FacedThread, FACED: Checked, Inlined, Batched;
    Kept, KeptThread, KEPT: Checked, Inlined, Batched;
    Fitted, FittedThread, FITTED: Checked, Inlined, Batched;
    Program, ProgramThread, PROGRAM: Checked, Inlined, Batched;
}

/// Sizes at every border: of classes, of units, of an arena's limit, and of `isize::MAX`.
fn sizes() -> Vec<usize> {
    let borders = [32, 1024, 8192, 65_536, 32 << 16, isize::MAX.cast_unsigned()];
    let around = borders.into_iter().flat_map(|border| {
        [
            border - 16,
            border - 9,
            border - 8,
            border - 1,
            border,
            border + 1,
        ]
    });
    let ends = [0, 1, 40, 100_000, isize::MAX.cast_unsigned() - (8 << 20)];
    around
        .chain(ends)
        .chain(usize::MAX - 40..=usize::MAX)
        .collect()
}

/// All powers of two, their neighbours, and values between.
fn aligns() -> Vec<usize> {
    let powers = (0..usize::BITS).map(|shift| 1 << shift);
    let others = powers.clone().flat_map(|power: usize| {
        [
            power.wrapping_sub(1),
            power + 1,
            power.wrapping_mul(3),
            power / 2 * 3,
        ]
    });
    powers.chain(others).chain([0, usize::MAX]).collect()
}

/// Returns true if a result is right: null if no block can exist, and an aligned block if memory
/// suffices.
fn is_right(block: *mut u8, size: usize, align: usize) -> bool {
    if Layout::from_size_align(size, align).is_err() {
        return block.is_null();
    }
    let must_be_there = size <= 4 << 20 && align <= 4 << 20;
    if block.is_null() {
        !must_be_there
    } else {
        block.addr().is_multiple_of(align)
    }
}

/// Requests everything from an allocator and a zone, and frees it.
fn every_entry_refuses<C: Config>(malloc: &'static Malloc<C>) {
    let zone = Zone::new(malloc).expect("there is memory");
    for size in sizes() {
        for align in aligns() {
            let what = format!("{size} at {align}");
            for zeroed in [false, true] {
                let block = if zeroed {
                    malloc.allocate_zeroed(size, align)
                } else {
                    malloc.allocate_aligned(size, align)
                };
                assert!(is_right(block, size, align), "{what}: {block:?}");
                // SAFETY: null, or no longer used.
                unsafe { malloc.free(block) };
                let block = if zeroed {
                    zone.allocate_zeroed(size, align)
                } else {
                    zone.allocate(size, align)
                };
                let start = block.map_or(std::ptr::null_mut(), std::ptr::NonNull::as_ptr);
                assert!(is_right(start, size, align), "{what}: {block:?} of a zone");
                if let Some(block) = block {
                    // SAFETY: the zone's, and no longer used.
                    unsafe { zone.free(block) };
                }
            }
        }
        let block = malloc.allocate(size);
        assert!(is_right(block, size, 16), "{size}: {block:?}");
        // SAFETY: null, or no longer used.
        unsafe { malloc.free(block) };
    }
    drop(zone);
    good_sizes_fill_blocks(malloc);
    malloc.check().expect("every invariant holds");
    assert_eq!(malloc.statistics().used_blocks, 0);
}

/// Also checks that a good size is the size of its block.
#[test]
fn no_size_and_no_alignment_gets_what_does_not_fit() {
    every_entry_refuses(&PLAIN);
    every_entry_refuses(&LOOKED);
    every_entry_refuses(&SEALED);
}

/// The same through the allocators of collections, whose arguments are layouts.
#[test]
fn layouts_that_are_too_large_are_refused_by_every_face() {
    let zone = Zone::new(&FACED).expect("there is memory");
    let global = Global::new(&FACED);
    for shift in 0..usize::BITS - 1 {
        let align = 1_usize << shift;
        let most = isize::MAX.cast_unsigned() - (align - 1);
        let layout = Layout::from_size_align(most, align).expect("the largest that there is");
        assert!(global.allocate(layout).is_err(), "{layout:?}");
        assert!(global.allocate_zeroed(layout).is_err(), "{layout:?}");
        assert!(Allocator::allocate(&zone, layout).is_err(), "{layout:?}");
        assert!(
            Allocator::allocate_zeroed(&zone, layout).is_err(),
            "{layout:?}"
        );
    }
    assert_eq!(FACED.statistics().used_blocks, 0);
}

/// A block requested with a good size has exactly that size.
fn good_sizes_fill_blocks<C: Config>(malloc: &'static Malloc<C>) {
    for size in sizes() {
        let good = malloc.good_size(size);
        assert!(
            good >= size && malloc.good_size(good) == good,
            "{size}: {good}"
        );
        let [block, other] = [size, good].map(|size| malloc.allocate(size));
        assert_eq!(block.is_null(), other.is_null(), "{size}: {good}");
        if !block.is_null() {
            // SAFETY: a live block.
            let usable = unsafe { malloc.usable_size(other) };
            assert_eq!(usable, good, "{size}");
        }
        for block in [block, other] {
            // SAFETY: null, or no longer used.
            unsafe { malloc.free(block) };
        }
    }
}

/// Limits of zero, of everything, and minima above maxima: the allocator keeps working.
#[test]
fn any_profile_can_be_followed_at_any_time() {
    let ends = [0, 1, usize::MAX];
    for kept in ends {
        for aside in ends {
            for dirty in [
                (0, 0),
                (usize::MAX, 0),
                (0, usize::MAX),
                (usize::MAX, usize::MAX),
            ] {
                KEPT.follow(&Profile {
                    kept_bytes_max: kept,
                    kept_blocks_max: kept,
                    aside_bytes_max: aside,
                    dirty_bytes: dirty,
                    regretted_bytes_max: aside,
                    purge_delay_ms: kept,
                    prefault: false,
                    huge_pages: HugePages::Arenas,
                    sample_bytes: kept,
                    guarded_every: kept,
                });
                let blocks: Vec<_> = (0..300).map(|at| KEPT.allocate(at * 300)).collect();
                for block in blocks {
                    assert!(!block.is_null());
                    // SAFETY: no longer used.
                    unsafe { KEPT.free(block) };
                }
                KEPT.check().expect("every invariant holds");
            }
        }
    }
}

/// Grows or shrinks a block of a collection; returns `true` if it stayed where it was.
fn stays(allocator: &impl Allocator, old: (usize, usize), new: (usize, usize)) -> bool {
    let layout = |(size, align)| Layout::from_size_align(size, align).expect("a valid layout");
    let block = allocator.allocate(layout(old)).expect("there is memory");
    assert_eq!(block.len(), old.0);
    let start = block.cast::<u8>();
    // SAFETY: a block of this size.
    unsafe { start.write_bytes(7, old.0) };
    let resized = if new.0 >= old.0 {
        // SAFETY: a live block of this layout.
        unsafe { allocator.grow(start, layout(old), layout(new)) }
    } else {
        // SAFETY: as above.
        unsafe { allocator.shrink(start, layout(old), layout(new)) }
    };
    let resized = resized.expect("there is memory");
    let now = resized.cast::<u8>();
    assert_eq!((resized.len(), now.addr().get() % new.1), (new.0, 0));
    // SAFETY: a block of at least this size, all of which was written.
    let kept = unsafe { std::slice::from_raw_parts(now.as_ptr(), old.0.min(new.0)) };
    assert!(kept.iter().all(|byte| *byte == 7), "{old:?} to {new:?}");
    // SAFETY: the block, in its last layout.
    unsafe { allocator.deallocate(now, layout(new)) };
    now == start
}

#[test]
fn a_collections_block_stays_if_it_fits_and_is_aligned() {
    let zone = Zone::new(&FITTED).expect("there is memory");
    for (old, new, expected) in [
        ((33, 16), (48, 16), Some(true)),
        ((48, 16), (25, 8), Some(true)),
        ((48, 16), (24, 16), Some(false)),
        ((48, 16), (49, 16), Some(false)),
        // A block of 80 bytes may be aligned by chance, but no block of its class always is.
        ((80, 16), (80, 4096), None),
        ((100_000, 16), (110_000, 1 << 16), Some(true)),
        ((0, 64), (48, 16), Some(false)),
        ((48, 16), (0, 4096), Some(false)),
        ((0, 16), (0, 16), Some(true)),
    ] {
        for stays in [
            stays(&Global::new(&FITTED), old, new),
            stays(&&zone, old, new),
        ] {
            assert!(
                expected.is_none_or(|expected| stays == expected),
                "{old:?} to {new:?}"
            );
        }
        assert_eq!(FITTED.statistics().used_blocks, 0, "{old:?} to {new:?}");
    }
}

/// The four functions that a program's global allocator has.
#[test]
fn the_allocator_of_a_program_allocates_zeroes_resizes_and_frees() {
    let global = Global::new(&PROGRAM);
    for (size, align) in [
        (1, 1),
        (100, 64),
        (5000, 4096),
        (100_000, 1 << 17),
        (3 << 20, 16),
    ] {
        let layout = Layout::from_size_align(size, align).expect("a valid layout");
        // SAFETY: not empty.
        let block = unsafe { global.alloc(layout) };
        // SAFETY: a block of this size.
        unsafe { block.write_bytes(7, size) };
        // SAFETY: a live block of this layout.
        let longer = unsafe { global.realloc(block, layout, 2 * size) };
        // SAFETY: at least as long as before, and written up to there.
        let kept = unsafe { std::slice::from_raw_parts(longer, size) };
        assert!(kept.iter().all(|byte| *byte == 7));
        assert!(block.addr().is_multiple_of(align) && longer.addr().is_multiple_of(align));
        let double = Layout::from_size_align(2 * size, align).expect("a valid layout");
        // SAFETY: the live block, in its last layout.
        unsafe { global.dealloc(longer, double) };
        // SAFETY: not empty.
        let zeros = unsafe { global.alloc_zeroed(layout) };
        // SAFETY: a block of this size.
        let bytes = unsafe { std::slice::from_raw_parts(zeros, size) };
        assert!(bytes.iter().all(|byte| *byte == 0) && zeros.addr().is_multiple_of(align));
        assert_eq!(PROGRAM.statistics().used_blocks, 1);
        // SAFETY: a live block of this layout.
        unsafe { global.dealloc(zeros, layout) };
        assert_eq!(PROGRAM.statistics().used_blocks, 0);
    }
}
