//! Memory that a change has unlinked: a lookup in progress continues in it, and all of it is freed
//! when readers have left.

use core::cell::Cell;

use super::{Page, frames, started};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::index::direct::Root;
use crate::phys::index::lookup::{Arm, Found};
use crate::phys::storage::slab::Slabs;
use crate::phys::{Custom, Direct, Frames, SegmentTable};

type Table = SegmentTable<Page, Custom<Direct>, 4>;

/// Looks a frame up both ways, and makes `change` at the `step`-th cell that the lookup reaches.
/// Memory that is unlinked then is filled with garbage as soon as it is freed.
fn look(table: &Table, frame: u64, step: u32, change: impl Fn(&Table)) -> bool {
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let root: &Root<Page> = &table.shared;
    let seen = Cell::new(0);
    let at = || {
        if seen.replace(seen.get() + 1) == step {
            change(table);
            table.lock().sweep();
        }
    };
    let Found { is_found, index } = Direct::find(root, frame, at);
    assert!(is_found, "frame {frame} stays");
    assert!(index < 100, "an entry");
    seen.set(0);
    let page = Direct::page(root, frame, &table.entries.all(), || ());
    assert!(page.is_some(), "frame {frame} stays");
    seen.set(0);
    let page = Direct::page(root, frame, &table.entries.all(), at);
    let page = page.expect("the frame stays");
    assert!(
        table
            .lock()
            .view()
            .page_of(Pfn::new(frame))
            .map(core::ptr::NonNull::from)
            == Some(page)
    );
    drop(guard);
    seen.get() > step
}

/// A table that has started, with descriptors of neighbours in different slabs.
fn table(segments: &[(u64, u64)]) -> Table {
    let table = started(&[(1000, 1001)]);
    for (start, end) in segments {
        table.lock().plug(frames(*start, *end)).unwrap();
    }
    table
}

/// A frame that stays, its segments, and other segments that come and go.
type Case = (u64, &'static [(u64, u64)], &'static [(u64, u64)]);

const FAR: u64 = 1 << 20;
const HIGH: u64 = 1 << 30;

const CASES: [Case; 7] = [
    // A longer near leaf; sections; pages.
    (
        3,
        &[(0, 4)],
        &[(60_000, 60_001), (FAR, FAR + 9), (HIGH, HIGH + 9)],
    ),
    // Runs in a piece of their own.
    (3, &[(0, 4), (5, 6)], &[(7, 8), (9, 10), (11, 12)]),
    // A longer array of words, and pages that replace it.
    (
        FAR + 3,
        &[(FAR, FAR + 4)],
        &[(FAR * 9, FAR * 9 + 1), (HIGH, HIGH + 9)],
    ),
    // An own cell, and a leaf.
    (
        FAR + 3,
        &[(FAR, FAR + 4)],
        &[(FAR + 100, FAR + 101), (FAR + 5, FAR + 7)],
    ),
    // A shared cell.
    (FAR + 3, &[(FAR, FAR + 4096)], &[(FAR + 4096, FAR + 4097)]),
    (
        HIGH + 3,
        &[(HIGH, HIGH + 4)],
        &[(HIGH + 100, HIGH + 101), (HIGH + 5, HIGH + 7)],
    ),
    // A longer top.
    (HIGH + 3, &[(HIGH, HIGH + 4)], &[(HIGH * 99, HIGH * 99 + 1)]),
];

#[test]
fn a_lookup_goes_on_in_what_is_unlinked_meanwhile() {
    for (frame, segments, others) in CASES {
        for step in 0.. {
            let table = table(segments);
            let change = |table: &Table| {
                for (start, end) in others {
                    let range = frames(*start, *end);
                    if table.lock().plug(range).is_err() {
                        drop(table.lock().isolate(range));
                    }
                }
            };
            let reached = look(&table, frame, step, change);
            table.lock().check().unwrap();
            if !reached {
                assert!(step > 0, "a lookup comes to a cell");
                break;
            }
        }
    }
}

#[test]
fn isolating_beside_the_frame_keeps_what_a_lookup_is_in() {
    for (start, len) in [(0, 40), (FAR, 40), (FAR, 4096), (HIGH, 40), (HIGH, 4096)] {
        for step in 0..8 {
            let table = table(&[(start, start + len)]);
            look(&table, start + 3, step, |table| {
                for hole in [10, 20, 30] {
                    let hole = frames(start + hole, start + hole + 1);
                    drop(table.lock().isolate(hole));
                }
            });
            table.lock().check().unwrap();
        }
    }
}

#[test]
fn all_that_a_change_unlinked_comes_back_when_readers_have_left() {
    for (_, segments, others) in CASES {
        let table = table(segments);
        let reader = table.rcu().register().unwrap();
        let guard = reader.enter();
        for (start, end) in others {
            table.lock().plug(frames(*start, *end)).unwrap();
        }
        let waiting = table.lock().core.deferred.len();
        assert!(waiting > 0, "a reader is inside");
        drop(guard);
        for _ in 0..3 {
            table.lock().sweep();
        }
        let waiting = table.lock().core.deferred.len();
        assert_eq!(waiting, 0, "{others:?}");
    }
}

#[test]
fn all_that_one_change_unlinked_comes_back_together() {
    // Retires the cells at both ends of a segment; the other segments share no section with it.
    let range = (FAR + 100, FAR + 3 * 4096 - 100);
    let table = table(&[range]);
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let before = table.lock().core.deferred.len();
    drop(table.lock().isolate(frames(range.0, range.1)).unwrap());
    let waiting = table.lock().core.deferred.len() - before;
    assert!(waiting >= 2, "{waiting}");
    drop(guard);
    for _ in 0..3 {
        table.lock().sweep();
    }
    assert_eq!(table.lock().core.deferred.len(), 0);
}

#[test]
fn descriptors_that_are_made_late_take_as_much_wherever_their_frames_are() {
    let bytes = |start| Slabs::<Page>::footprint_late(Frames::between(start, start + 40_000));
    assert_eq!(bytes(FAR), bytes(0));
}

#[test]
#[should_panic(expected = "a part of the share")]
fn a_share_has_no_part_beyond_its_frames() {
    let table = table(&[(0, 64)]);
    let segments = table.lock();
    let snapshot = segments.snapshot();
    let index = snapshot.order.last().unwrap();
    let share = snapshot.all.get(index).share().unwrap();
    share.part(Frames::between(0, 65));
}

#[test]
fn places_below_those_that_were_taken_are_found_again() {
    let table = table(&[]);
    let mut segments = table.lock();
    segments.fetch(1 << 16);
    let core = &mut *segments.core;
    let first = Slabs::<Page>::blank(&mut core.memory, 64).unwrap().build();
    core.slabs.add(&first);
    core.slabs.give_back(&mut core.memory, first);
    let mut take = |len| segments.core.slabs.take(len).map(|run| (run.from, run));
    let (low, run) = take(10).unwrap();
    let (next, _) = take(10).unwrap();
    assert_eq!(next, low + 10);
    let core = &mut *segments.core;
    core.slabs.give_back(&mut core.memory, run);
    let mut take = |len| segments.core.slabs.take(len).map(|run| run.from);
    // The free run at the low places is too short for the first, and long enough for the second.
    assert_eq!(take(20), Some(low + 20));
    assert_eq!(take(10), Some(low));
}
