//! A heap that fails at the k-th call, for every k. Each change of a table of segments is refused
//! or done, in every arm, and a refusal changes nothing.

mod lock;

use furlong::addr::Pfn;
use furlong::check::Check;
use furlong::phys::{
    Array, BinarySearch, Branchless, Custom, Descriptor, Direct, Flat, Lookup, PlugError,
    RestoreError, SegmentTable, StartError, State, Tree, UnplugError,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong_spec::heap::failing_at;

use crate::frames;

/// A descriptor so large that some dozens of them need a heap block of their own.
struct Page(Pfn, [u64; 127]);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame, [7; 127])
    }
}

type Table<L> = SegmentTable<Page, Custom<L>, 4>;

fn empty<L: Lookup>() -> Table<L> {
    let table = Table::with_config(SpinLock::new(), Domain::new());
    table.lock().grow_on_heap();
    table
}

fn boot<L: Lookup>() -> Table<L> {
    let table = empty();
    for start in [0, 100, 4000, 8200] {
        table
            .lock()
            .plug(frames(start, start + 97))
            .expect("there is memory");
    }
    table
}

fn started<L: Lookup>() -> Table<L> {
    let table = boot();
    table.lock().start().expect("there is memory");
    table
}

fn seen<L: Lookup>(table: &Table<L>) -> String {
    let segments = table.lock();
    segments.check().expect("no invariant is broken");
    let view = segments.view();
    let found = |frame: &u64| {
        let page = view.page_of(Pfn::new(*frame));
        assert!(page.is_none_or(|page| page.0 == Pfn::new(*frame) && page.1 == [7; 127]));
        page.is_some()
    };
    let found = (0..9000).filter(found).count();
    format!("{segments:?} {found} {}", segments.managed())
}

/// Makes a change with heap call `failing` failing, for every call that the change makes.
fn survives<L: Lookup>(make: fn() -> Table<L>, change: impl Fn(&Table<L>) -> bool) {
    for failing in 0.. {
        let table = make();
        let before = seen(&table);
        let (done, calls) = failing_at(failing, || change(&table));
        if calls <= failing {
            assert!(done, "nothing failed");
            assert!(
                failing > 0,
                "the heap was asked for {}",
                core::any::type_name_of_val(&change)
            );
            return;
        }
        if !done {
            assert_eq!(seen(&table), before, "k = {failing}");
            assert!(change(&table), "with memory it is done");
        }
        seen(&table);
    }
}

fn is_done<T, E: PartialEq + core::fmt::Debug>(result: Result<T, E>, no_memory: &E) -> bool {
    result
        .map_err(|error| assert_eq!(&error, no_memory))
        .is_ok()
}

fn plug<L: Lookup>(table: &Table<L>) -> bool {
    is_done(table.lock().plug(frames(210, 1300)), &PlugError::NoMemory)
}

fn start<L: Lookup>(table: &Table<L>) -> bool {
    is_done(table.lock().start(), &StartError::NoMemory)
}

/// Isolates single frames within a segment until the table's and the arm's arrays have to grow. An
/// isolation that fails changes nothing; earlier ones stay.
fn split<L: Lookup>(table: &Table<L>) -> bool {
    let hole = |at: u64| frames(20_000 + 3 * at, 20_001 + 3 * at);
    let is_cut = |at| table.lock().isolated().any(|it| it == hole(at));
    let cut = |at| is_done(table.lock().isolate(hole(at)), &UnplugError::NoMemory);
    (1..400).all(|at| is_cut(at) || cut(at) || cut(at))
}

fn large<L: Lookup>() -> Table<L> {
    let table = started();
    table
        .lock()
        .plug(frames(20_000, 21_300))
        .expect("there is memory");
    table
}

/// A state with live segments, a removed segment, and an isolation.
fn saved() -> State {
    let table = started::<Direct>();
    drop(
        table
            .lock()
            .isolate(frames(4010, 4020))
            .expect("it is there"),
    );
    table
        .lock()
        .unplug(frames(0, 97))
        .expect("there are others");
    table.lock().save().expect("there is memory")
}

fn every_change_survives<L: Lookup>() {
    survives::<L>(boot, start);
    survives::<L>(started, plug);
    let state = saved();
    let restore = |table: &Table<L>| is_done(table.lock().restore(&state), &RestoreError::NoMemory);
    survives::<L>(empty, restore);
}

#[test]
fn a_split_for_which_the_heap_has_no_memory_is_refused_or_done() {
    survives::<Direct>(large, split);
    survives::<Tree>(large, split);
    survives::<Branchless>(large, split);
}

#[test]
fn a_change_for_which_the_heap_has_no_memory_is_refused_or_done() {
    every_change_survives::<Direct>();
    every_change_survives::<Tree>();
    every_change_survives::<Branchless>();
    every_change_survives::<Flat>();
    every_change_survives::<Array<BinarySearch>>();
}

#[test]
fn a_state_for_which_there_is_no_memory_is_not_saved() {
    let table = empty::<Direct>();
    table.lock().restore(&saved()).expect("a good state");
    for failing in 0..3 {
        let (saved, calls) = failing_at(failing, || table.lock().save());
        assert!(saved.is_err() && calls > failing, "k = {failing}");
    }
    assert!(table.lock().save().is_ok());
}
