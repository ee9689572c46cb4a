//! Each condition of each invariant, broken alone: `check()` must name the invariant.
#![forbid(unsafe_code)]

use super::super::central::arena::{Arena, Words};
use super::super::central::span::{Span, unit_of};
use super::super::class::{Class, UNIT};
use super::super::thread::thread_heap::ThreadHeap;
use super::super::{BrokenMalloc, Heap, Malloc};
use super::{Parts, said_after};

type Tested = &'static Malloc<Parts>;

/// Harm to the span of 64-byte blocks, of which 31 are carved, the first one in use.
type Harm = fn(Tested, &'static Span);

fn class() -> Class {
    Class::of(64).expect("there is a class for it")
}

fn arena(malloc: Tested) -> &'static Arena {
    malloc.central.pool.arenas().next().expect("there is one")
}

fn words(malloc: Tested) -> &'static Words {
    arena(malloc).words.get().expect("a mapped arena has words")
}

fn heap(span: &Span) -> &'static Heap {
    span.owner.get().expect("a span has an owner")
}

/// Makes a block of the span free there, with all numbers right.
fn set_free(malloc: Tested, span: &'static Span, block: usize) {
    let word = words(malloc).free(span.unit.get(), block / 64);
    word.set(word.get() | 1 << (block % 64));
    span.summary.set(span.summary.get() | 1 << (block / 64));
    span.free.set(span.free.get() + 1);
}

/// The records of the later units of a new object of three units, and its unit's number.
fn rest(malloc: Tested) -> ([&'static Span; 2], u64) {
    let object = malloc.allocate(3 * UNIT).expose_provenance();
    let records = [1, 2].map(|at| malloc.central.map.span_at(object + at * UNIT));
    (records, unit_of(object).into())
}

fn are_named(invariant: &str, harms: &[Harm]) {
    for (at, harm) in harms.iter().enumerate() {
        let said = format!("{:?}", said_after(*harm));
        assert!(
            said.starts_with(&format!("Some({invariant}(")),
            "{invariant} {at}: {said}"
        );
    }
}

#[test]
fn every_broken_condition_of_a_unit_is_named() {
    are_named(
        "Unit",
        &[
            |malloc, span| {
                let free = &arena(malloc).free;
                free.set(free.get() | 1 << (span.unit.get() % 64));
            },
            |malloc, span| {
                let free = malloc.central.map.span_at(arena(malloc).unit_base(63));
                free.owner.set(Some(heap(span)));
            },
            |_, span| span.unit.set(span.unit.get() + 1),
            |malloc, _| {
                let ([first, _], unit) = rest(malloc);
                first.summary.set(unit + 40);
            },
            |malloc, _| {
                let ([first, _], _) = rest(malloc);
                let behind = malloc.allocate(2 * UNIT).addr();
                first.summary.set(unit_of(behind).into());
            },
            |malloc, _| {
                let ([_, second], unit) = rest(malloc);
                second.summary.set(unit + 1);
            },
        ],
    );
}

#[test]
fn every_broken_condition_of_a_count_is_named() {
    are_named(
        "Count",
        &[
            |malloc, span| {
                let (arena, pool) = (arena(malloc), &malloc.central.pool);
                arena.dirty.set(1 << (span.unit.get() % 64));
                pool.dirty.set(1);
            },
            |malloc, _| arena(malloc).idle.set(1 << 63),
            |malloc, _| arena(malloc).leaving.set(1 << 63),
            |malloc, _| malloc.central.pool.dirty.set(1),
            |malloc, _| arena(malloc).longest.set(1),
            |malloc, _| arena(malloc).most.set(1),
            |_, span| heap(span).count(class()),
            |_, span| heap(span).discount(class()),
            |_, span| {
                heap(span).discount(class());
                heap(span).count(Class::numbered(class().index() + 1));
            },
        ],
    );
    // A total is named without an address.
    let said = said_after(|malloc, _| arena(malloc).dirty.set(1 << 63));
    assert_eq!(said, Some(BrokenMalloc::Count(0)));
}

#[test]
fn every_broken_condition_of_the_words_is_named() {
    are_named(
        "Words",
        &[
            |_, span| span.carved.set(1025),
            |_, span| span.magic.set(span.magic.get() + 1),
            |_, span| span.limit.set(span.limit.get() + 1),
            |_, span| span.free.set(1),
            |_, span| span.summary.set(1),
            |_, span| span.summary.set(1 << 5),
            |_, span| span.summary.set(1 << 63),
            |malloc, span| {
                words(malloc).free(span.unit.get(), 0).set(1);
                span.free.set(1);
            },
            |malloc, span| set_free(malloc, span, 31),
            |malloc, span| set_free(malloc, span, 63),
            |malloc, span| set_free(malloc, span, 64),
            |malloc, span| set_free(malloc, span, 70),
            |malloc, span| set_free(malloc, span, 4095),
            |malloc, span| {
                span.carved.set(100);
                set_free(malloc, span, 100);
            },
        ],
    );
    // Blocks of the second word that are carved are free by right.
    let said = said_after(|malloc, span| {
        span.carved.set(100);
        set_free(malloc, span, 99);
        set_free(malloc, span, 64);
    });
    assert_eq!(said, None);
}

#[test]
fn every_broken_condition_of_a_list_is_named() {
    are_named(
        "List",
        &[
            |malloc, span| ThreadHeap::new(&malloc.central, heap(span)).unlist(span),
            |_, span| {
                let other = Class::of(2000).expect("there is a class for it");
                assert_eq!(heap(span).first(other).get(), 0);
                heap(span).first(other).set(span.unit.get());
            },
            |_, span| span.owner.set(None),
            |_, span| span.carved.set(1024),
            |_, span| span.prev.set(7),
            |_, span| span.listed.set(2),
            |malloc, span| {
                heap(span).first(class()).set(0);
                ThreadHeap::create(&malloc.central)
                    .expect("there is memory")
                    .heap
                    .first(class())
                    .set(span.unit.get());
            },
        ],
    );
}

#[test]
fn every_broken_condition_of_a_kept_block_is_named() {
    are_named(
        "Kept",
        &[
            |_, span| {
                let other = Class::of(1000).expect("there is a class for it");
                assert!(heap(span).cache.bins.push(other.number(), span.base()));
            },
            |_, span| {
                let inside = span.base() + 8;
                assert!(heap(span).cache.bins.push(class().number(), inside));
            },
            |_, span| {
                let untouched = span.address_of(31);
                assert!(heap(span).cache.bins.push(class().number(), untouched));
            },
            |malloc, span| {
                let other = ThreadHeap::create(&malloc.central).expect("there is memory");
                other.heap.cache.bins.shape(class(), 1);
                assert!(other.heap.cache.bins.push(class().number(), span.base()));
            },
            // Handed to the heap, and free in its span.
            |malloc, span| set_free(malloc, span, 1),
        ],
    );
}

/// A span that is being made is in no list yet.
#[test]
fn a_span_that_its_maker_has_not_listed_is_not_broken() {
    let said = said_after(|malloc, span| {
        ThreadHeap::new(&malloc.central, heap(span)).unlist(span);
        span.listed.set(2);
        heap(span).discount(class());
    });
    assert_eq!(said, None);
}

#[test]
fn a_broken_invariant_is_described_with_its_address() {
    for (broken, what) in [
        (BrokenMalloc::Unit(1), "a unit is both free and in use"),
        (BrokenMalloc::Count(1), "a count does not match"),
        (BrokenMalloc::Words(1), "the words and numbers of a span"),
        (BrokenMalloc::List(1), "a span is in the wrong list"),
        (BrokenMalloc::Kept(1), "a cached block is free"),
    ] {
        let said = broken.to_string();
        assert!(said.starts_with(what) && said.ends_with(": 0x1"), "{said}");
    }
}
