//! Memory that runs out, at every allocation in turn: refused, and nothing has changed.
#![forbid(unsafe_code)]

use core::mem::MaybeUninit;

use super::{Page, found, frames, table};
use crate::check::Check;
use crate::phys::{
    Array, BinarySearch, Custom, Direct, Flat, Lookup, PlugError, Segment, SegmentTable,
    StartError, UnplugError,
};

type Table<L> = SegmentTable<Page, Custom<L>, 4>;

/// Repeats `change` on fresh tables made by `make`, with the k-th allocation failing, for every k
/// until none fails. Each refusal has to leave the table as it was.
fn refuses_cleanly<L: Lookup>(make: fn() -> Table<L>, change: fn(&Table<L>) -> bool) {
    for allocations in 0.. {
        let table = make();
        let list = |table: &Table<L>| -> Vec<Segment> { table.lock().iter().collect() };
        let before = (list(&table), found(&table, 9000));
        table.lock().core.memory.until_failure = Some(allocations);
        let done = change(&table);
        table.lock().core.memory.until_failure = None;
        table.lock().check().unwrap();
        if done {
            assert!(allocations > 0, "nothing was ever refused");
            return;
        }
        assert!(
            before == (list(&table), found(&table, 9000)),
            "k = {allocations}"
        );
        assert!(change(&table), "with memory it is done");
        table.lock().check().unwrap();
    }
}

fn four_segments<L: Lookup>() -> Table<L> {
    let table = table::<L>();
    table.lock().grow_on_heap();
    for start in [0, 100, 4000, 8200] {
        table.lock().plug(frames(start, start + 97)).unwrap();
    }
    table
}

fn started<L: Lookup>() -> Table<L> {
    let table = four_segments();
    table.lock().start().unwrap();
    table
}

#[test]
fn a_start_without_memory_changes_nothing() {
    let start = |table: &Table<Direct>| match table.lock().start() {
        Ok(_) => true,
        Err(error) => error != StartError::NoMemory,
    };
    refuses_cleanly(four_segments::<Direct>, start);
}

#[test]
fn a_plug_without_memory_changes_nothing() {
    fn plug<L: Lookup>(table: &Table<L>) -> bool {
        match table.lock().plug(frames(210, 3500)) {
            Ok(_) => true,
            Err(PlugError::NoMemory | PlugError::Full(4)) => false,
            Err(error) => panic!("{error}"),
        }
    }
    refuses_cleanly(started::<Direct>, plug);
    refuses_cleanly(started::<Flat>, plug);
    refuses_cleanly(started::<Array<BinarySearch>>, plug);
}

#[test]
fn a_split_without_memory_changes_nothing() {
    fn unplug<L: Lookup>(table: &Table<L>) -> bool {
        match table.lock().unplug(frames(110, 120)) {
            Ok(()) => true,
            Err(UnplugError::NoMemory | UnplugError::Full(4)) => false,
            Err(error) => panic!("{error}"),
        }
    }
    refuses_cleanly(started::<Direct>, unplug);
    refuses_cleanly(started::<Array<BinarySearch>>, unplug);
}

#[test]
fn removing_and_aborting_take_no_memory() {
    let table = started::<Direct>();
    let mut segments = table.lock();
    let first = segments.isolate(frames(4010, 4050)).unwrap();
    let second = segments.isolate(frames(20, 70)).unwrap();
    segments.core.memory.until_failure = Some(0);
    segments.remove(first).unwrap();
    segments.abort(second).unwrap();
    segments.check().unwrap();
    drop(segments);
    assert!(!found(&table, 9000).contains(&4020) && found(&table, 9000).contains(&20));
}

#[test]
fn a_table_without_any_memory_is_full_when_its_entries_are() {
    let table = table::<Direct>();
    for start in 0..4 {
        table
            .lock()
            .plug(frames(10 * start, 10 * start + 5))
            .unwrap();
    }
    assert_eq!(table.lock().plug(frames(90, 91)), Err(PlugError::Full(4)));
    assert_eq!(table.lock().unplug(frames(2, 3)), Err(UnplugError::Full(4)));
    assert_eq!(table.lock().start(), Err(StartError::NoMemory));
    table.lock().check().unwrap();
}

#[test]
fn a_table_lives_on_memory_that_it_was_given() {
    let table = four_segments::<Direct>();
    let given = Box::leak(vec![MaybeUninit::uninit(); 1 << 16].into_boxed_slice());
    let bare = super::table::<Direct>();
    for segment in table.lock().iter() {
        bare.lock().plug(segment.frames).unwrap();
    }
    bare.lock().donate(given);
    bare.lock().start().unwrap();
    let segments = bare.lock();
    segments.check().unwrap();
    assert!(segments.memory_bytes() > segments.index_bytes());
    drop(segments);
    assert_eq!(found(&bare, 9000).len(), 4 * 97);
}
