//! Breaks each invariant once on purpose; `check()` must name it.

mod borders;
mod broken;
mod exchange;
mod forks;
mod latches;
mod ledger;
mod misuse;
mod objects;
mod purge;
mod records;
mod stacks;
mod unmapped;

use std::thread;

use super::{
    Batched, BrokenMalloc, Checked, Config, Inlined, Linux, Malloc, PageSource,
    central::span::{Span, unit_of},
    class::Class,
    os::current::OfThread,
    thread::thread_heap::ThreadHeap,
};

struct Parts;

impl Config for Parts {
    type Source = Linux;
    type Current = OfThread;
    type Hardening = Checked;
    type Gate = Inlined;
    type Tier = Batched;
}

/// Runs a closure in a new thread, with a new allocator.
fn with_new<C, T>(
    source: C::Source,
    run: impl FnOnce(&'static Malloc<C>) -> T + Send + 'static,
) -> T
where
    C: Config,
    C::Source: Send,
    T: Send + 'static,
{
    let run = move || {
        let place = Linux.map(size_of::<Malloc<C>>(), 4096);
        let place = place.expect("there are 3 MiB of addresses").cast();
        // SAFETY: fresh pages; the thread is new, and calls no other allocator in its life.
        unsafe { Malloc::new_at(place, source) };
        // SAFETY: it was made there, for ever.
        run(unsafe { place.as_ref() })
    };
    thread::spawn(run).join().expect("what it asserts holds")
}

/// The result of `check` after `harm` was done to the span of one small block.
fn said_after(harm: fn(&'static Malloc<Parts>, &'static Span)) -> Option<BrokenMalloc> {
    with_new(Linux, move |malloc: &'static Malloc<Parts>| {
        let block = malloc.allocate(64);
        let other = malloc.allocate(1000);
        assert!(!block.is_null() && !other.is_null());
        malloc.check().expect("nothing is broken yet");
        harm(malloc, malloc.central.map.span_at(block.addr()));
        malloc.check().err()
    })
}

#[test]
fn a_unit_that_is_free_and_in_use_is_named() {
    let said = said_after(|malloc, span| {
        let arena = malloc
            .central
            .map
            .arena(span.unit.get())
            .expect("a span lies in an arena");
        arena
            .free
            .set(arena.free.get() | 1 << (span.unit.get() % 64));
    });
    assert!(matches!(said, Some(BrokenMalloc::Unit(_))), "{said:?}");
}

#[test]
fn a_count_that_is_wrong_is_named() {
    let said = said_after(|malloc, span| {
        let arena = malloc
            .central
            .map
            .arena(span.unit.get())
            .expect("a span lies in an arena");
        arena.dirty.set(arena.dirty.get() | 1 << 63);
    });
    assert_eq!(said, Some(BrokenMalloc::Count(0)));
}

#[test]
fn numbers_of_a_span_that_do_not_agree_are_named() {
    let said = said_after(|_, span| span.free.set(span.free.get() + 1));
    assert!(matches!(said, Some(BrokenMalloc::Words(_))), "{said:?}");
    let said = said_after(|_, span| span.summary.set(1 << 5));
    assert!(matches!(said, Some(BrokenMalloc::Words(_))), "{said:?}");
}

#[test]
fn a_span_that_is_in_no_list_is_named() {
    let said = said_after(|malloc, span| {
        let heap = span.owner.get().expect("a span has an owner");
        ThreadHeap::new(&malloc.central, heap).unlist(span);
    });
    assert!(matches!(said, Some(BrokenMalloc::List(_))), "{said:?}");
}

/// Another thread may call `check` before the span is in its list.
#[test]
fn a_span_that_is_being_made_breaks_nothing() {
    let said = said_after(|malloc, span| {
        let heap = span.owner.get().expect("a span has an owner");
        let class = Class::of(2000).expect("there is a class for it");
        let made = ThreadHeap::new(&malloc.central, heap).new_span(class);
        assert!(made.is_some_and(|made| made.owner.is(heap)));
    });
    assert_eq!(said, None);
}

#[test]
fn a_kept_block_of_another_class_is_named() {
    let said = said_after(|_, span| {
        let heap = span.owner.get().expect("a span has an owner");
        let class = Class::of(1000).expect("there is a class for it");
        assert!(heap.cache.bins.push(class.number(), span.base()));
    });
    assert!(matches!(said, Some(BrokenMalloc::Kept(_))), "{said:?}");
}

/// The lookup of a record works at both ends of the address space.
#[test]
fn addresses_of_nobody_lead_to_the_record_of_nothing() {
    let said = said_after(|malloc, span| {
        for address in [0, 1, 0xffff, 1 << 47, usize::MAX, usize::MAX << 16] {
            let found = malloc.central.map.span_at(address);
            assert!(
                found.owner.get().is_none() && !core::ptr::eq(found, span),
                "{address:x}"
            );
        }
        assert_eq!(unit_of(span.base()), span.unit.get());
    });
    assert_eq!(said, None);
}
