//! Changes that drop the lock: other changes come between, and nothing is lost.

use core::cell::{Cell, RefCell};
use std::sync::{Barrier, Mutex};

use super::{frames, lent};
use crate::addr::{Address, Pfn};
use crate::check::Check;
use crate::phys::{Custom, Descriptor, Direct, PlugError, SegmentTable, UnplugError};
use crate::rcu::Domain;
use crate::sync::SpinLock;

type Table = SegmentTable<Page, Custom<Direct>, 8>;
type Meddler = Box<dyn Fn(&'static str, u64)>;

thread_local! {
    /// Called when this thread makes, queries or drops a descriptor.
    static MEDDLER: RefCell<Option<Meddler>> = const { RefCell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

fn meddle(what: &'static str, frame: u64) {
    if DEPTH.replace(DEPTH.get() + 1) == 0 {
        MEDDLER.with_borrow(|meddler| meddler.iter().for_each(|meddle| meddle(what, frame)));
    }
    DEPTH.set(DEPTH.get() - 1);
}

struct Page(u64);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        meddle("made", frame.raw());
        Self(frame.raw())
    }

    fn is_pinned(&self) -> bool {
        meddle("asked", self.0);
        false
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        meddle("dropped", self.0);
    }
}

/// A table that lives for ever, so that meddlers can use it, and stays reachable for leak checkers.
fn table() -> &'static Table {
    static ALL: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());
    let table: &Table = Box::leak(Box::new(Table::with_config(SpinLock::new(), Domain::new())));
    ALL.lock().unwrap().push(table);
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.plug(frames(0, 10)).unwrap();
    segments.start().unwrap();
    drop(segments);
    table
}

/// Runs `work` with a meddler.
fn between(meddler: impl Fn(&'static str, u64) + 'static, work: impl FnOnce()) {
    MEDDLER.set(Some(Box::new(meddler)));
    work();
    MEDDLER.set(None);
}

#[test]
fn whoever_comes_between_has_the_frames_and_the_other_is_refused() {
    let table = table();
    let plug = |what, frame| {
        if (what, frame) == ("made", 105) {
            table.lock().plug(frames(103, 107)).unwrap();
        }
    };
    between(plug, || {
        let mut segments = table.lock();
        let refused = segments.plug(frames(100, 110)).unwrap_err();
        assert_eq!(refused, PlugError::Overlap(segments.last().unwrap()));
    });
    let segments = table.lock();
    segments.check().unwrap();
    assert_eq!(segments.managed(), 14);
}

#[test]
fn what_is_about_to_leave_has_no_other_token_and_others_may_change_all_else() {
    let table = table();
    table.lock().plug(frames(100, 110)).unwrap();
    let meddler = |what, frame| match (what, frame) {
        ("asked", 104) => {
            assert!(table.lock().adopt(Pfn::new(104)).is_none());
            let refused = table.lock().unplug(frames(103, 104));
            assert_eq!(refused, Err(UnplugError::Isolated(frames(103, 106))));
            table.lock().unplug(frames(100, 102)).unwrap();
            table.lock().plug(frames(110, 120)).unwrap();
        }
        ("dropped", 104) => {
            table.lock().plug(frames(103, 106)).unwrap();
            table.lock().check().unwrap();
        }
        _ => {}
    };
    between(meddler, || table.lock().unplug(frames(103, 106)).unwrap());
    table.lock().check().unwrap();
    assert_eq!(table.lock().managed(), 10 + 1 + 3 + 4 + 10);
}

#[test]
fn frames_that_host_descriptors_are_not_plugged_while_these_are_dropped() {
    let table = table();
    let range = frames(4096, 9000);
    let memory = lent(table.lock().hosted_bytes(range).unwrap());
    let hosting = frames(4096, 4096 + (memory.len() as u64).div_ceil(4096));
    table.lock().plug_hosted(range, memory).unwrap();
    table.lock().make(Pfn::new(8000)).unwrap();
    let meddler = move |what, frame| {
        if (what, frame) == ("dropped", 8000) {
            let mut segments = table.lock();
            segments.check().unwrap();
            for taken in [range, frames(4096, 4097), hosting] {
                let refused = segments.plug(taken);
                assert_eq!(refused, Err(PlugError::Leaving(hosting)));
            }
            segments
                .plug(frames(hosting.last().raw() + 1, 9000))
                .unwrap();
            segments.check().unwrap();
        }
    };
    between(meddler, || table.lock().unplug(range).unwrap());
    let mut segments = table.lock();
    assert!(segments.take_back().is_some());
    segments.plug(hosting).unwrap();
    segments.check().unwrap();
}

#[test]
fn the_last_segment_is_not_removed_although_there_was_another() {
    let table = table();
    table.lock().plug(frames(100, 110)).unwrap();
    let meddler = |what, frame| {
        if (what, frame) == ("asked", 105) {
            table.lock().unplug(frames(0, 10)).unwrap();
        }
    };
    between(meddler, || {
        let refused = table.lock().unplug(frames(100, 110));
        assert_eq!(refused, Err(UnplugError::LastSegment));
    });
    let segments = table.lock();
    segments.check().unwrap();
    assert!(segments.view().page_of(Pfn::new(105)).is_some());
}

#[test]
fn of_threads_that_plug_the_same_frames_one_is_refused_and_nothing_is_lost() {
    let table = table();
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let race = |shift: u64| {
            let barrier = &barrier;
            scope.spawn(move || {
                let mut done = 0;
                for round in 0..300 {
                    let start = 1000 + 100 * round;
                    barrier.wait();
                    let range = frames(start + shift, start + shift + 60);
                    done += u64::from(table.lock().plug(range).is_ok());
                }
                done
            })
        };
        let done: u64 = [race(0), race(30)]
            .map(|racer| racer.join().unwrap())
            .iter()
            .sum();
        assert_eq!(done, 300);
    });
    let segments = table.lock();
    segments.check().unwrap();
    assert_eq!((segments.len(), segments.managed()), (301, 10 + 300 * 60));
}
