//! Records: all zeros at first, as mapped memory is, and right as soon as they are in use.
#![forbid(unsafe_code)]

use super::super::central::map::Map;
use super::super::central::pool::Pool;
use super::super::central::span::Span;
use super::super::class::{CLASSES, Class, UNIT};
use super::super::policy::Policy;
use super::super::thread::heap::{Heap, State};
use super::super::thread::thread_heap::ThreadHeap;
use super::super::{Linux, Malloc};
use super::{Parts, with_new};

type Tested = &'static Malloc<Parts>;

/// Asserts that a record shows no digit but zeros, apart from the bottom of empty stacks.
fn is_zeros(name: &str, shown: &str) {
    let bottom = format!("{:?}", Heap::vacant().cache.bins);
    let bottom = bottom.split("0x").nth(1).expect("tops are addresses");
    let bottom: String = bottom.chars().take_while(char::is_ascii_hexdigit).collect();
    let shown = shown.replace(&format!("0x{bottom}"), "");
    let shown: String = shown.split_whitespace().collect();
    let other = shown.find(|digit: char| ('1'..='9').contains(&digit));
    let near = other.map(|at| &shown[at.saturating_sub(60)..at + 1]);
    assert_eq!(near, None, "{name}");
}

#[test]
fn records_begin_as_the_zeros_that_mapped_memory_holds() {
    is_zeros("Heap", &format!("{:?}", Heap::standing_for(State::Vacant)));
    is_zeros("Pool", &format!("{:?}", Pool::new()));
    is_zeros("Policy", &format!("{:?}", Policy::new()));
    let span = Span::none();
    is_zeros("Span", &format!("{span:?}"));
    assert_eq!(
        (span.magic.get(), span.limit.get(), span.class.get()),
        (0, 0, 0)
    );
}

#[test]
fn a_map_of_nothing_leads_every_address_to_no_record() {
    static MAP: Map = Map::new();
    for address in [
        0,
        UNIT,
        1 << 30,
        (1 << 47) - 1,
        usize::MAX << 47,
        usize::MAX,
    ] {
        assert!(!MAP.has_records(address), "{address:#x}");
        assert!(MAP.span_at(address).owner.get().is_none());
    }
}

/// The borders of the addresses that a process or a kernel may have.
#[test]
fn addresses_of_more_than_48_bits_are_not_covered() {
    for (address, covered) in [
        (0, true),
        ((1 << 47) - 1, true),
        (1 << 47, false),
        (1 << 48, false),
        ((usize::MAX << 47) - 1, false),
        (usize::MAX << 47, true),
        (usize::MAX, true),
    ] {
        assert_eq!(Map::is_covered(address), covered, "{address:#x}");
    }
}

#[test]
fn records_of_a_region_fill_whole_pages() {
    let len = (1 << 20) + (32 << 10);
    for (page, expected) in [
        (16, (len, 64)),
        (4096, (len, 4096)),
        (UNIT, (len + (32 << 10), UNIT)),
    ] {
        assert_eq!(Map::records(page), expected);
    }
}

#[test]
fn the_record_of_a_new_span_is_that_of_its_class() {
    with_new(Linux, |malloc: Tested| {
        let mut units = 0;
        for class in (1..CLASSES).map(Class::numbered) {
            let block = malloc.allocate(class.size()).expose_provenance();
            let span = malloc.central.map.span_at(block);
            assert_eq!((span.class(), span.base()), (class, block));
            assert_eq!(
                (span.magic.get(), span.limit.get()),
                (class.magic(), class.magic())
            );
            let given = malloc.central.policy.kept(class) / 2;
            assert_eq!(usize::from(span.carved.get()), given.max(1), "{class:?}");
            assert_eq!(
                span.available(),
                class.blocks(0) - given.max(1),
                "{class:?}"
            );
            units += class.units();
        }
        assert_eq!(malloc.central.pool.live_bytes(), units * UNIT);
    });
}

/// One of 16 bytes needs all words of a unit, one of 1,024 bytes a single word.
#[test]
fn words_are_touched_once_for_all_units_of_an_arena() {
    with_new(Linux, |malloc: Tested| {
        let arenas = || malloc.central.pool.arenas();
        let touched = || {
            arenas()
                .map(|arena| arena.touched.get())
                .collect::<Vec<_>>()
        };
        for (size, eights) in [(1024, 1), (16, 8), (1024, 8)] {
            let block = malloc.allocate(size).expose_provenance();
            let span = malloc.central.map.span_at(block);
            assert!(malloc.central.has_words(span));
            assert_eq!(touched(), [eights], "{size}");
        }
        arenas().for_each(|arena| arena.touched.set(7));
        let block = malloc.allocate(32).expose_provenance();
        let span = malloc.central.map.span_at(block);
        assert_eq!(span.eights(), 4);
        span.class.set(1);
        assert!(!malloc.central.has_words(span));
        malloc.central.touch_words(span);
        assert_eq!(touched(), [8]);
    });
}

/// The address of a heap does not tell its placement: each bit of the state depends on the secret.
#[test]
fn a_heaps_random_numbers_begin_with_the_secret_and_its_place() {
    with_new(Linux, |malloc: Tested| {
        for _ in 0..4 {
            let heap = ThreadHeap::create(&malloc.central).expect("there is memory");
            let place = core::ptr::from_ref(heap.heap).addr();
            let secret = malloc.central.pool.mark.get();
            assert_eq!(heap.heap.cache.mark.get(), secret);
            assert_eq!(heap.heap.cache.random.get(), (secret ^ place) | 1);
        }
    });
}

#[test]
fn memory_taken_again_counts_as_regretted_once() {
    let pool = Pool::new();
    pool.note_gone(100);
    for (taken, regretted) in [(40, 40), (40, 80), (40, 100), (40, 100)] {
        pool.note_taken(taken);
        assert_eq!(pool.regretted.get(), regretted);
    }
    pool.note_gone(7);
    pool.forget_gone();
    pool.note_taken(7);
    assert_eq!(pool.regretted.get(), 100);
}
