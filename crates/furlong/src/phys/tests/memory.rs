//! Memory that runs out, at every allocation in turn: the call is refused, and nothing has changed.

use super::{Page, found, frames, lent, plugged, started, table};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::{
    Array, BinarySearch, Custom, Direct, Flat, Lookup, PlugError, RestoreError, Segment,
    SegmentTable, StartError, StealError, Tree, UnplugError,
};

type Table<L> = SegmentTable<Page, Custom<L>, 4>;

/// Repeats `change` on fresh tables made by `make`, with all allocations failing from the k-th on,
/// for every k until none fails. Each refusal must leave the table unchanged. When it is retried
/// with memory, the change must not take more memory than without a refusal.
fn refuses_cleanly<L: Lookup>(make: fn() -> Table<L>, change: impl Fn(&Table<L>) -> bool) {
    let table = make();
    assert!(change(&table), "there is memory");
    let bytes = table.lock().memory_bytes();
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
        let after = (list(&table), found(&table, 9000));
        assert!(before == after, "k = {allocations}");
        assert!(change(&table), "with memory it is done");
        table.lock().check().unwrap();
        table.lock().sweep();
        let lost = table.lock().memory_bytes().saturating_sub(bytes);
        assert_eq!(lost, 0, "bytes at k = {allocations}");
    }
}

/// One of them has a whole section.
const FOUR: [(u64, u64); 4] = [(0, 197), (4000, 4097), (8192, 12_300), (20_000, 20_097)];

fn four_segments<L: Lookup>() -> Table<L> {
    plugged(&FOUR)
}

/// Beyond the frames of a near leaf.
const FAR: u64 = 1 << 18;

/// The lowest segment has a whole section.
fn four_far_segments() -> Table<Direct> {
    let far = [5000, 20_000, 60_000].map(|start| (FAR + start, FAR + start + 9000));
    plugged(&[far[0], far[1], far[2], (10, 20)])
}

/// Four segments with whole sections that are found through pages.
fn four_high_segments() -> Table<Direct> {
    plugged(&[5000, FAR + 60_000, 1 << 29, 1 << 30].map(|start| (start, start + 9000)))
}

fn far_started() -> Table<Direct> {
    let table = four_far_segments();
    table.lock().start().unwrap();
    table
}

fn four_started<L: Lookup>() -> Table<L> {
    started(&FOUR)
}

/// True if the call succeeded, false if it was refused for lack of memory.
fn is_done<T, E: PartialEq + core::fmt::Debug>(result: Result<T, E>, no_memory: &E) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(&error, no_memory);
            false
        }
    }
}

#[test]
fn a_start_without_memory_changes_nothing() {
    fn start<L: Lookup>(table: &Table<L>) -> bool {
        is_done(table.lock().start(), &StartError::NoMemory)
    }
    refuses_cleanly(four_segments::<Direct>, start);
    refuses_cleanly(four_far_segments, start);
    refuses_cleanly(four_segments::<Flat>, start);
    refuses_cleanly(four_segments::<Array<BinarySearch>>, start);
}

/// Memory that a refusal keeps for the next try is not allocated again.
#[test]
fn a_start_that_is_refused_again_takes_no_more_memory() {
    fn refused_twice<L: Lookup>(make: fn() -> Table<L>) {
        for allocations in 0.. {
            let table = make();
            let mut segments = table.lock();
            let mut refused = || {
                segments.core.memory.until_failure = Some(allocations);
                let refused = segments.start() == Err(StartError::NoMemory);
                segments.core.memory.until_failure = None;
                refused.then(|| segments.memory_bytes())
            };
            let Some(first) = refused() else {
                assert!(allocations > 0, "nothing was ever refused");
                return;
            };
            // With the memory of the first try, this one may get further.
            let [second, third, fourth] = [(); 3].map(|()| refused());
            let all = [second, third, fourth];
            if all.iter().all(Option::is_some) {
                assert_eq!(third, fourth, "{allocations}: {first} {all:?}");
            }
        }
    }
    refused_twice(four_segments::<Direct>);
    refused_twice(four_far_segments);
    refused_twice(four_high_segments);
    refused_twice(four_segments::<Flat>);
    refused_twice(four_segments::<Tree>);
}

#[test]
fn a_plug_without_memory_changes_nothing() {
    fn plug<L: Lookup>(table: &Table<L>) -> bool {
        is_done(table.lock().plug(frames(210, 3500)), &PlugError::NoMemory)
    }
    refuses_cleanly(four_started::<Direct>, plug);
    refuses_cleanly(four_started::<Flat>, plug);
    refuses_cleanly(four_started::<Array<BinarySearch>>, plug);
}

#[test]
fn a_plug_at_boot_without_memory_changes_nothing() {
    fn plug(table: &Table<Direct>) -> bool {
        is_done(table.lock().plug(frames(210, 3500)), &PlugError::NoMemory)
    }
    refuses_cleanly(four_segments, plug);
}

#[test]
fn a_split_without_memory_changes_nothing() {
    fn unplug<L: Lookup>(table: &Table<L>) -> bool {
        is_done(
            table.lock().unplug(frames(110, 120)),
            &UnplugError::NoMemory,
        )
    }
    refuses_cleanly(four_started::<Direct>, unplug);
    refuses_cleanly(four_started::<Array<BinarySearch>>, unplug);
    refuses_cleanly(four_segments::<Direct>, unplug);
}

#[test]
fn an_isolation_without_memory_changes_nothing() {
    fn isolate(table: &Table<Direct>) -> bool {
        for frame in [4010, 4020, 4030] {
            let isolated = table.lock().isolate(frames(frame, frame + 5));
            if !is_done(isolated, &UnplugError::NoMemory) {
                abort_all(table);
                return false;
            }
        }
        abort_all(table);
        true
    }
    fn abort_all(table: &Table<Direct>) {
        let mut segments = table.lock();
        let all: Vec<_> = segments.isolated().collect();
        for frames in all {
            let isolated = segments.adopt(frames.start()).unwrap();
            segments.abort(isolated).unwrap();
        }
    }
    refuses_cleanly(four_started, isolate);
}

#[test]
fn a_restore_without_memory_changes_nothing() {
    fn empty<L: Lookup>() -> Table<L> {
        let table = table::<L>();
        table.lock().grow_on_heap();
        table
    }
    fn restore<L: Lookup>(table: &Table<L>) -> bool {
        let saved = four_started::<Direct>();
        for start in [10, 60, 4010, 9000] {
            let isolated = saved.lock().isolate(frames(start, start + 5));
            drop(isolated.unwrap());
        }
        saved.lock().unplug(frames(20, 21)).unwrap();
        let state = saved.lock().save().unwrap();
        is_done(table.lock().restore(&state), &RestoreError::NoMemory)
    }
    refuses_cleanly(empty::<Direct>, restore);
    refuses_cleanly(empty::<Flat>, restore);
    refuses_cleanly(empty::<Array<BinarySearch>>, restore);
}

#[test]
fn a_steal_without_memory_changes_nothing() {
    fn steal(table: &Table<Direct>) -> bool {
        let mut segments = table.lock();
        let first = segments.first().unwrap();
        segments
            .set_avail(first, Pfn::new(10), Pfn::new(20))
            .unwrap();
        let stolen = segments.steal_forced(first);
        if stolen.is_err() {
            segments
                .set_avail(first, Pfn::new(0), Pfn::new(197))
                .unwrap();
        }
        is_done(stolen, &StealError::NoMemory)
    }
    refuses_cleanly(four_segments, steal);
}

#[test]
fn a_plug_beyond_the_leaf_of_few_frames_without_memory_changes_nothing() {
    let plug = |start: u64| {
        move |table: &Table<Direct>| match table.lock().plug(frames(start, start + 9000)) {
            Ok(_) => true,
            Err(PlugError::NoMemory | PlugError::Full(4)) => false,
            Err(error) => panic!("{error}"),
        }
    };
    refuses_cleanly(four_started::<Direct>, plug(FAR - 100));
    refuses_cleanly(four_started::<Direct>, plug(FAR + 77));
    refuses_cleanly(four_started::<Direct>, plug(1 << 30));
    refuses_cleanly(far_started, plug(FAR + 100_000));
    refuses_cleanly(far_started, plug(1000));
    refuses_cleanly(far_started, |table| {
        match table.lock().unplug(frames(FAR + 6000, FAR + 6001)) {
            Ok(()) => true,
            Err(UnplugError::NoMemory | UnplugError::Full(4)) => false,
            Err(error) => panic!("{error}"),
        }
    });
}

#[test]
fn removing_and_aborting_take_no_memory() {
    for (table, base) in [(four_started::<Direct>(), 0), (far_started(), FAR + 5000)] {
        removing_and_aborting_in(&table, base);
    }
}

fn removing_and_aborting_in(table: &Table<Direct>, base: u64) {
    let stretch = |start: u64, end: u64| frames(base + start, base + end);
    let mut segments = table.lock();
    let first = segments.isolate(stretch(4010, 4050)).unwrap();
    let second = segments.isolate(stretch(20, 70)).unwrap();
    segments.core.memory.until_failure = Some(0);
    segments.remove(first).unwrap();
    segments.abort(second).unwrap();
    segments.check().unwrap();
    let finds = |frame: u64| segments.view().find(Pfn::new(base + frame)).is_some();
    assert!(!finds(4020) && finds(20));
    segments.core.memory.until_failure = None;
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
    // With some memory, but too little for more entries, it is memory that is missing.
    table.lock().donate(lent(256));
    assert_eq!(table.lock().plug(frames(90, 91)), Err(PlugError::NoMemory));
    table.lock().check().unwrap();
}

#[test]
fn a_table_lives_on_memory_that_it_was_given() {
    let table = four_segments::<Direct>();
    let bare = super::table::<Direct>();
    for segment in table.lock().iter() {
        bare.lock().plug(segment.frames).unwrap();
    }
    bare.lock().donate(lent(1 << 17));
    bare.lock().start().unwrap();
    let segments = bare.lock();
    segments.check().unwrap();
    assert!(segments.memory_bytes() > segments.index_bytes());
    drop(segments);
    assert_eq!(found(&bare, 9000).len(), 197 + 97 + 9000 - 8192);
}
