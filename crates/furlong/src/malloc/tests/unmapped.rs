//! Arenas that go back to the system: with all their memory, and with the memory of their records,
//! unless another thread may still read those.

use super::super::central::arena::{ARENA, Arena, Words};
use super::super::central::span::{Span, Use};
use super::super::thread::thread_heap::ThreadHeap;
use super::super::{Checked, Secure};
use super::source::{Call, Source};
use super::{Sourced as Tested, with_new};
use crate::sync::atomic::Ordering;

/// A source with pages of this size.
fn paged(page: usize) -> Source {
    Source {
        page,
        ..Source::default()
    }
}

/// The number of a unit that is neither at an end nor used.
const MARKED: u32 = 40;

/// True if the records of an arena are as before once it is unmapped. `before` is called first.
fn keeps_records(page: usize, before: fn(Tested<Checked>, &'static Arena)) -> bool {
    with_new(paged(page), move |malloc: Tested<Checked>| {
        // SAFETY: it came from there, and nobody uses it.
        unsafe { malloc.free(malloc.allocate(100_000)) };
        let arena = malloc.central.pool.arenas().next().expect("there is one");
        let marked = malloc.central.map.span_at(arena.unit_base(MARKED));
        marked.quiet.set(7);
        before(malloc, arena);
        assert!(malloc.trim());
        assert_eq!(malloc.statistics().arena_bytes, 0);
        assert!(arena.base.get() == 0 && arena.words.get().is_none());
        let words = size_of::<Words>().next_multiple_of(page);
        let unmapped = malloc.source().bytes(Call::Unmap);
        assert_eq!(unmapped, ARENA + words);
        marked.quiet.get() == 7
    })
}

fn post(malloc: Tested<Checked>, arena: &'static Arena, unit: u32) {
    let span: &Span = malloc.central.map.span_at(arena.unit_base(unit));
    span.posted.store(1, Ordering::SeqCst);
}

#[test]
fn the_records_of_an_unmapped_arena_are_purged_unless_somebody_may_read_them() {
    assert!(!keeps_records(4096, |_, _| ()));
    // A page holds the records of another arena, too.
    assert!(keeps_records(8192, |_, _| ()));
    for kept in [
        |malloc, arena| post(malloc, arena, 0),
        |malloc, arena| post(malloc, arena, 31),
        |malloc, arena| post(malloc, arena, 63),
        |malloc: Tested<Checked>, _| malloc.central.pool.posting.store(1, Ordering::SeqCst),
        |malloc, _| {
            let create = || ThreadHeap::create(&malloc.central).expect("there is memory");
            let heaps = [create(), create(), create()];
            heaps[1].heap.cache.posting.store(1, Ordering::SeqCst);
        },
    ] as [fn(Tested<Checked>, &'static Arena); 5]
    {
        assert!(keeps_records(4096, kept));
    }
}

/// With larger pages the records stay, and must not say that the units are guards.
#[test]
fn the_ends_of_an_unmapped_arena_are_guards_no_longer() {
    with_new(paged(8192), |malloc: Tested<Secure>| {
        // SAFETY: it came from there, and nobody uses it.
        unsafe { malloc.free(malloc.allocate(100_000)) };
        let arena = malloc.central.pool.arenas().next().expect("there is one");
        let ends = [0, 63].map(|at| malloc.central.map.span_at(arena.unit_base(at)));
        assert!(ends.iter().all(|end| end.is(Use::Guard)));
        assert_eq!(malloc.central.pool.live_bytes(), 2 << 16);
        assert!(malloc.trim());
        assert!(ends.iter().all(|end| end.is(Use::Nothing)));
        assert_eq!(malloc.central.pool.live_bytes(), 0);
        malloc.check().expect("nothing is broken");
    });
}
