//! The tests of the allocator, each file after a hazard, and their common parts.

mod borders;
mod broken;
mod ended;
mod exchange;
mod forks;
mod guarded;
mod guards;
mod huge_pages;
mod kept;
mod latches;
mod ledger;
mod misuse;
mod objects;
mod purge;
mod records;
mod samples;
mod short;
mod source;
mod stacks;
mod unmapped;

use core::marker::PhantomData;
use core::ptr::with_exposed_provenance_mut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::central::span::{Span, unit_of};
use super::class::Class;
use super::os::current::OfThread;
use super::thread::thread_heap::ThreadHeap;
use super::{
    Batched, BrokenMalloc, Checked, Config, Hardening, Inlined, Linux, Malloc, Misuse, PageSource,
};

/// The parts of the allocators of these tests.
struct Parts<S = Linux, H = Checked>(PhantomData<(S, H)>);

impl<S: PageSource, H: Hardening> Config for Parts<S, H> {
    type Source = S;
    type Current = OfThread;
    type Hardening = H;
    type Gate = Inlined;
    type Tier = Batched;
}

/// An allocator of these tests, above [`source::Source`].
type Sourced<H = Checked> = &'static Malloc<Parts<source::Source, H>>;

fn allocate<C: Config>(malloc: &'static Malloc<C>, size: usize) -> usize {
    let block = malloc.allocate(size);
    assert!(!block.is_null());
    block.expose_provenance()
}

fn free<C: Config>(malloc: &'static Malloc<C>, block: usize) {
    // SAFETY: it came from there; if it is no live block, the allocator must find that.
    unsafe { malloc.free(with_exposed_provenance_mut(block)) };
}

fn resize<C: Config>(malloc: &'static Malloc<C>, block: usize, size: usize) -> usize {
    // SAFETY: a live block, which nobody uses meanwhile.
    let block = unsafe { malloc.resize(with_exposed_provenance_mut(block), size, 16) };
    assert!(!block.is_null());
    block.expose_provenance()
}

/// The misuse for which the program was stopped.
fn stopped(run: impl FnOnce()) -> Option<(Misuse, usize)> {
    let panic = catch_unwind(AssertUnwindSafe(run)).err()?;
    panic.downcast_ref::<(Misuse, usize)>().copied()
}

/// Pseudo-random numbers below `end`.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |end| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    }
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
