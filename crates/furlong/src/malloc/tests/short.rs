//! Memory is short: what goes back to the system for it, and what stays as it is.

use core::ptr;

use super::super::central::arena::ARENA;
use super::super::{Checked, Hardening, NoHardening, Secure, UNIT};
use super::source::Source;
use super::{Sourced as Tested, allocate, free, with_new};
use crate::sync::atomic::Ordering;

const MIB: usize = 1 << 20;

/// Memory that arenas keep is given back for an object that would not fit beside it.
#[test]
fn kept_arenas_are_given_back_for_what_needs_their_memory() {
    with_new(Source::able(), |malloc: Tested| {
        let objects: Vec<usize> = (0..20).map(|_| allocate(malloc, MIB)).collect();
        let left = &malloc.source().left;
        left.store(5 * MIB, Ordering::SeqCst);
        objects.into_iter().for_each(|object| free(malloc, object));
        let arenas = malloc.statistics().arena_bytes;
        assert!(arenas >= 2 * ARENA, "some are kept");
        let huge = allocate(malloc, arenas);
        assert_eq!(malloc.statistics().arena_bytes, 0);
        // The mapping is given back for an arena, too.
        free(malloc, huge);
        left.store(0, Ordering::SeqCst);
        assert!(malloc.allocate(30 * MIB).is_null());
    });
}

fn shorter_without_memory<H: Hardening>(stays: bool) {
    for size in [40_000, 1_000_000, 5 * MIB] {
        with_new(Source::able(), move |malloc: Tested<H>| {
            let block = allocate(malloc, size);
            let place: *mut u8 = ptr::with_exposed_provenance_mut(block);
            // SAFETY: a live block.
            unsafe { place.write(7) };
            malloc.source().left.store(0, Ordering::SeqCst);
            while !malloc.allocate(3000).is_null() {}
            // SAFETY: a live block, which the result replaces.
            let shorter = unsafe { malloc.resize(place, 3000, 16) };
            let expected = if stays { place } else { ptr::null_mut() };
            assert_eq!(shorter, expected, "{size}");
            // SAFETY: the block is still in use.
            assert_eq!(unsafe { place.read() }, 7, "{size}");
            // SAFETY: it is the caller's.
            unsafe { malloc.free_sized(place, if stays { 3000 } else { size }) };
        });
    }
}

#[test]
fn a_block_that_would_be_shorter_stays_if_there_is_no_memory_for_a_new_one() {
    shorter_without_memory::<NoHardening>(true);
    shorter_without_memory::<Checked>(true);
    shorter_without_memory::<Secure>(false);
}

/// A mapping that is kept is given back for an arena that would not fit beside it.
#[test]
fn kept_mappings_are_given_back_for_what_needs_their_memory() {
    with_new(Source::able(), |malloc: Tested| {
        let live = allocate(malloc, 80 * MIB);
        free(malloc, allocate(malloc, 5 * MIB));
        assert_eq!(malloc.central.pool.mappings.bytes(), 5 * MIB);
        malloc.source().left.store(MIB, Ordering::SeqCst);
        let large = allocate(malloc, MIB);
        assert_eq!(malloc.central.pool.mappings.bytes(), 0);
        free(malloc, large);
        free(malloc, live);
    });
}

/// Words, an arena and records are mapped for the first object: whichever is missing, the others
/// are given back.
#[test]
fn what_a_refused_request_has_mapped_is_given_back() {
    let records = (1 << 20) + (32 << 10);
    for (size, needs) in [(MIB, UNIT + ARENA + records), (3 * MIB, 3 * MIB + records)] {
        for left in [0, UNIT, 3 * MIB, UNIT + ARENA, needs - 4096, needs] {
            with_new(Source::able(), move |malloc: Tested| {
                malloc.source().left.store(left, Ordering::SeqCst);
                let object = malloc.allocate(size);
                assert_eq!(object.is_null(), left < needs, "{size} of {left}");
                free(malloc, object.expose_provenance());
                malloc.trim();
                let now = malloc.source().left.load(Ordering::SeqCst);
                // Records stay.
                assert_eq!(now, if left < needs { left } else { left - records });
            });
        }
    }
}
