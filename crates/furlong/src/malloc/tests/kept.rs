//! Mappings of huge objects that are kept for the next ones.

use core::ptr;

use super::super::{Hardening, NoHardening, Secure};
use super::source::Source;
use super::{Sourced, allocate, free, with_new};

const MIB: usize = 1 << 20;

#[test]
fn memory_that_was_never_used_is_not_overwritten_though_the_object_has_kept_pages() {
    fn is_sparse<H: Hardening + 'static>() {
        with_new(Source::able(), |malloc: Sourced<H>| {
            let live = allocate(malloc, 160 * MIB);
            let kept = allocate(malloc, 4 * MIB);
            // SAFETY: a block of this size.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(kept).write_bytes(7, 4 * MIB) };
            free(malloc, kept);
            let object = malloc.allocate_zeroed(512 * MIB, 16);
            let pages = 512 * MIB / 4096;
            let mut known = vec![0_u8; pages];
            let start = object.map_addr(|at| at & !4095).cast();
            // SAFETY: a byte for each page of a new object.
            let told = unsafe { libc::mincore(start, 512 * MIB, known.as_mut_ptr()) };
            assert_eq!(told, 0);
            let resident = known.iter().filter(|page| **page & 1 == 1).count();
            assert!(resident <= 8 * MIB / 4096, "{resident} of {pages}");
            // SAFETY: a block of this size.
            let bytes = unsafe { core::slice::from_raw_parts(object, 6 * MIB) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            free(malloc, object.expose_provenance());
            free(malloc, live);
        });
    }
    is_sparse::<NoHardening>();
    is_sparse::<Secure>();
}

#[test]
fn a_small_object_with_a_large_alignment_takes_no_place_among_kept_mappings() {
    with_new(Source::able(), |malloc: Sourced| {
        let live = allocate(malloc, 160 * MIB);
        let object = malloc.allocate_aligned(100, 4 * MIB).expose_provenance();
        assert!(object.is_multiple_of(4 * MIB) && malloc.statistics().huge_blocks == 2);
        free(malloc, object);
        assert_eq!(malloc.central.pool.mappings.bytes(), 0);
        free(malloc, live);
    });
}
