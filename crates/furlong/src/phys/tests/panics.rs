//! Descriptors that panic when they are made or dropped: nothing is lost, and the table is valid.

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::{frames, lent};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::{Custom, Descriptor, Direct, Lookup, SegmentTable, Tree};
use crate::rcu::Domain;
use crate::sync::SpinLock;

thread_local! {
    /// The number of live descriptors.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
    /// The number of descriptors that are made or dropped before one panics.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

fn step() {
    if let Some(left) = LEFT.get() {
        LEFT.set(left.checked_sub(1));
        assert!(left > 0, "as planned");
    }
}

struct Page(u64);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        step();
        ALIVE.set(ALIVE.get() + 1);
        Self(crate::addr::Address::raw(frame))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
        step();
    }
}

type Table<L> = SegmentTable<Page, Custom<L>, 8>;

fn table<L: Lookup>() -> Table<L> {
    let table = SegmentTable::with_config(SpinLock::new(), Domain::new());
    table.lock().grow_on_heap();
    for (start, end) in [(0, 40), (50, 70), (200, 210), (4090, 4100)] {
        table.lock().plug(frames(start, end)).unwrap();
    }
    table
}

/// Repeats `change` with a panic at the k-th step, for every k until none occurs. After each panic
/// the table is valid and has the right descriptors, and the change succeeds when retried.
fn survives<L: Lookup>(make: fn() -> Table<L>, change: fn(&Table<L>)) {
    for steps in 0.. {
        let before = ALIVE.get();
        let table = make();
        let made = ALIVE.get() - before;
        let listed = format!("{:?}", table.lock());
        LEFT.set(Some(steps));
        let done = catch_unwind(AssertUnwindSafe(|| change(&table))).is_ok();
        LEFT.set(None);
        table.lock().check().unwrap();
        if done {
            assert!(steps > 10, "it panics now and then");
            return;
        }
        assert_eq!(format!("{:?}", table.lock()), listed, "k = {steps}");
        assert_eq!(ALIVE.get() - before, made, "k = {steps}");
        change(&table);
        table.lock().check().unwrap();
        drop(table);
        assert_eq!(ALIVE.get(), before, "k = {steps}");
    }
}

fn started<L: Lookup>() -> Table<L> {
    let table = table();
    table.lock().start().unwrap();
    table
}

#[test]
fn a_start_that_panics_has_not_begun() {
    fn start<L: Lookup>(table: &Table<L>) {
        table.lock().start().unwrap();
    }
    survives::<Direct>(table, start);
    survives::<Tree>(table, start);
}

#[test]
fn a_plug_that_panics_plugs_nothing() {
    fn plug<L: Lookup>(table: &Table<L>) {
        table.lock().plug(frames(70, 130)).unwrap();
    }
    survives::<Direct>(started, plug);
    survives::<Tree>(started, plug);
}

#[test]
fn a_restore_that_panics_restores_nothing() {
    fn empty() -> Table<Direct> {
        let table = SegmentTable::with_config(SpinLock::new(), Domain::new());
        table.lock().grow_on_heap();
        table
    }
    fn restore(table: &Table<Direct>) {
        let mut state = self::table::<Direct>().lock().save().unwrap();
        state.started = true;
        table.lock().restore(&state).unwrap();
    }
    survives(empty, restore);
}

#[test]
fn memory_of_plugs_that_panicked_is_used_again() {
    let table = started::<Direct>();
    let mut used = Vec::new();
    for _ in 0..20 {
        LEFT.set(Some(30));
        let plug = || table.lock().plug(frames(10_000, 10_100));
        assert!(catch_unwind(AssertUnwindSafe(plug)).is_err());
        LEFT.set(None);
        used.push(table.lock().memory_bytes());
    }
    assert_eq!(used[1], used[19], "{used:?}");
}

#[test]
fn a_section_whose_making_panics_is_not_made() {
    fn hosted() -> Table<Direct> {
        let table = SegmentTable::with_config(SpinLock::new(), Domain::new());
        let mut segments = table.lock();
        segments.start().unwrap();
        segments.grow_on_heap();
        let range = frames(0, 40_000);
        let need = segments.hosted_bytes(range).unwrap();
        segments.plug_hosted(range, lent(need)).unwrap();
        for start in [20_500, 20_520, 24_570] {
            segments.unplug(frames(start, start + 10)).unwrap();
        }
        drop(segments);
        table
    }
    for steps in [0, 1, 19, 20, 21, 30, 31, 4064, 4065] {
        let before = ALIVE.get();
        let table = hosted();
        LEFT.set(Some(steps));
        let make = || table.lock().make(Pfn::new(22_000));
        assert!(catch_unwind(AssertUnwindSafe(make)).is_err(), "k = {steps}");
        LEFT.set(None);
        assert_eq!(ALIVE.get(), before, "k = {steps}");
        table.lock().check().unwrap();
        assert!(table.lock().view().page_of(Pfn::new(20_480)).is_none());
        assert_eq!(table.lock().make(Pfn::new(22_000)), Ok(true));
        assert_eq!(
            table.lock().view().page_of(Pfn::new(20_530)).unwrap().0,
            20_530
        );
        assert_eq!(ALIVE.get() - before, 4096 - 26);
        table.lock().check().unwrap();
        drop(table);
        assert_eq!(ALIVE.get(), before, "k = {steps}");
    }
}

#[test]
fn a_descriptor_that_panics_when_dropped_takes_its_frames_along() {
    for steps in [0, 5, 9] {
        let before = ALIVE.get();
        let table = started::<Direct>();
        LEFT.set(Some(steps));
        let unplug = || table.lock().unplug(frames(20, 30));
        assert!(catch_unwind(AssertUnwindSafe(unplug)).is_err());
        LEFT.set(None);
        let mut segments = table.lock();
        segments.check().unwrap();
        assert_eq!(ALIVE.get() - before, 70, "the others were dropped");
        segments.plug(frames(20, 30)).unwrap();
        segments.check().unwrap();
    }
}
