//! Tests of the table.
#![forbid(unsafe_code)]

mod host;
mod hosted_unplug;
mod hosts_memory;
mod invariants;
mod memory;
mod panics;
mod price;
mod probes;
mod readers;
mod tokens;
mod unlinked;
mod without_lock;

use core::mem::MaybeUninit;

use std::sync::Mutex;

use super::{
    Array, BigFirst, BinarySearch, Branchless, Custom, Descriptor, Direct, Flat, Linear, Lookup,
    SegmentTable, Tree, UnplugError,
};
use crate::addr::{Address, Extent, Pfn, PhysAddr};
use crate::check::Check;
use crate::rcu::Domain;
use crate::sync::SpinLock;
use crate::sync::atomic::AtomicPtr;

#[derive(Debug, PartialEq)]
struct Page(Pfn);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame)
    }
}

/// Memory that is never freed: the mapping of a range's first frames, or a donation. It stays
/// reachable, so that leak checkers do not report it.
fn lent(bytes: usize) -> &'static mut [MaybeUninit<u8>] {
    static ALL: Mutex<Vec<AtomicPtr<MaybeUninit<u8>>>> = Mutex::new(Vec::new());
    let memory = Box::leak(Box::<[u8]>::new_uninit_slice(bytes));
    let start = AtomicPtr::new(memory.as_mut_ptr());
    ALL.lock().unwrap().push(start);
    memory
}

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

fn table<L: Lookup>() -> SegmentTable<Page, Custom<L>, 4> {
    SegmentTable::with_config(SpinLock::new(), Domain::new())
}

/// A table with these segments.
fn plugged<L: Lookup>(segments: &[(u64, u64)]) -> SegmentTable<Page, Custom<L>, 4> {
    let table = table::<L>();
    let mut writer = table.lock();
    writer.grow_on_heap();
    for (start, end) in segments {
        writer.plug(frames(*start, *end)).unwrap();
    }
    drop(writer);
    table
}

/// A table that was started with these segments.
fn started<L: Lookup>(segments: &[(u64, u64)]) -> SegmentTable<Page, Custom<L>, 4> {
    let table = plugged(segments);
    table.lock().start().unwrap();
    table
}

/// The frames below `end` that lookups find, each with its own descriptor.
fn found<L: Lookup, const N: usize>(
    table: &SegmentTable<Page, Custom<L>, N>,
    end: u64,
) -> Vec<u64> {
    let segments = table.lock();
    let view = segments.view();
    (0..end)
        .filter(|frame| {
            let frame = Pfn::new(*frame);
            let page = view.page(PhysAddr::new(frame.raw() << 12));
            assert_eq!(page.is_some(), view.find(frame).is_some(), "{frame}");
            assert!(page.is_none_or(|page| page.0 == frame), "{frame}: {page:?}");
            page.is_some()
        })
        .collect()
}

fn a_hole_is_found_no_more<L: Lookup>() {
    let table = started::<L>(&[(10, 300)]);
    assert!(found(&table, 400).into_iter().eq(10..300));
    table.lock().plug(frames(320, 330)).unwrap();
    table.lock().unplug(frames(100, 200)).unwrap();
    let left = (10..100).chain(200..300).chain(320..330);
    assert!(found(&table, 400).into_iter().eq(left));
    table.lock().check().unwrap();
    assert!(table.lock().iter().all(|segment| !segment.is_empty()));
    let refused = table.lock().unplug(frames(90, 110));
    assert!(matches!(refused, Err(UnplugError::Crosses(_))));
}

#[test]
fn a_hole_in_the_middle_is_found_no_more() {
    a_hole_is_found_no_more::<Array<BinarySearch>>();
    a_hole_is_found_no_more::<Array<Linear>>();
    a_hole_is_found_no_more::<Array<BigFirst>>();
    a_hole_is_found_no_more::<Branchless>();
    a_hole_is_found_no_more::<Tree>();
    a_hole_is_found_no_more::<Direct>();
    a_hole_is_found_no_more::<Flat>();
}

#[test]
fn every_frame_is_found_among_more_segments_than_16_bits_can_count() {
    // One frame in two, so that each block of the index has more segments than fit into its word.
    const SEGMENTS: u64 = (1 << 16) + 200;
    let segments: Vec<_> = (0..SEGMENTS).map(|at| (2 * at, 2 * at + 1)).collect();
    let table = started::<Direct>(&segments);
    let starts = segments.iter().map(|(start, _)| *start);
    assert!(found(&table, 2 * SEGMENTS).into_iter().eq(starts));
    table.lock().check().unwrap();
}
