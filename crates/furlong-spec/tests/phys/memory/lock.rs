//! Work under the lock: it never calls the heap, and never the caller's code.

use std::cell::Cell;

use furlong::addr::Pfn;
use furlong::check::Check;
use furlong::phys::{Custom, Descriptor, Direct, SegmentTable};
use furlong::rcu::Domain;
use furlong_spec::heap::{Watched, counted, is_locked};

use crate::frames;

thread_local! {
    /// The number of calls that made, queried or dropped a descriptor, and the number of those
    /// under the lock.
    static CALLS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

fn call() {
    let [all, locked] = CALLS.get();
    CALLS.set([all + 1, locked + u64::from(is_locked())]);
}

struct Page([u64; 8]);

impl Descriptor for Page {
    fn of_frame(_: Pfn) -> Self {
        call();
        Self([1; 8])
    }

    fn is_pinned(&self) -> bool {
        call();
        self.0[0] == 0
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        call();
    }
}

type Table = SegmentTable<Page, Custom<Direct, Watched>, 4>;

/// A table that was started with 64 frames.
fn table() -> Table {
    let table = Table::with_config(Watched::default(), Domain::new());
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.plug(frames(0, 64)).expect("there is memory");
    segments.start().expect("there is memory");
    drop(segments);
    table
}

#[test]
fn plug_and_unplug_call_neither_the_heap_nor_the_caller_under_the_lock() {
    let table = table();
    let [_, user] = CALLS.get();
    // Near frames, in sections, in pages. Few frames, many frames, and enough holes for chunks of
    // segments.
    let places = [100, 1 << 17, 1 << 19, 1 << 24, 1 << 28, 1 << 33];
    let change_at = |start| {
        for len in [1, 70, 30_000] {
            let range = frames(start, start + len);
            table.lock().plug(range).expect("there is memory");
            table.lock().unplug(range).expect("nobody is inside");
        }
        table
            .lock()
            .plug(frames(start, start + 5000))
            .expect("there is memory");
        for hole in (start + 8..start + 4000).step_by(64) {
            table
                .lock()
                .unplug(frames(hole, hole + 3))
                .expect("nobody is inside");
        }
    };
    let ((), calls) = counted(|| places.into_iter().for_each(change_at));
    assert_eq!(calls.under_lock, 0, "{calls:?}");
    let [all, locked] = CALLS.get();
    assert_eq!(locked - user, 0, "of {all} calls of the caller's code");
    assert!(all > 500_000, "{all}");
    assert!(table.lock().len() > 300);
    table.lock().check().expect("no invariant is broken");
}

#[test]
fn a_refused_plug_and_one_that_makes_way_call_nobody_under_the_lock() {
    let table = table();
    let before = CALLS.get();
    let plug = |range| table.lock().plug(range).is_ok();
    let (done, calls) = counted(|| {
        [
            plug(frames(60, 70)),
            plug(frames(1 << 40, (1 << 40) + 1)),
            table.lock().unplug(frames(60, 70)).is_ok(),
        ]
    });
    assert_eq!((done, calls.under_lock), ([false; 3], 0));
    assert_eq!(CALLS.get(), before, "and none is made");
}

#[test]
fn nobody_is_called_under_the_lock_however_many_frames_are_isolated() {
    const FAR: u64 = 1 << 20;
    const HELD: u64 = 200;
    let table = table();
    let range = frames(FAR, FAR + (HELD << 12));
    table.lock().plug(range).expect("there is memory");
    let [_, user] = CALLS.get();
    // Each isolation is in a section of its own, and keeps memory for its removal.
    let (held, calls) = counted(|| {
        let isolate = |section: u64| {
            let (start, beside) = (FAR + (section << 12) + 100, 2 * FAR + (section << 13));
            let isolated = table.lock().isolate(frames(start, start + 10));
            let plugged = table.lock().plug(frames(beside, beside + 70));
            plugged.expect("there is memory");
            isolated.expect("there is memory")
        };
        (0..HELD).map(isolate).collect::<Vec<_>>()
    });
    assert_eq!(calls.under_lock, 0, "{calls:?}");
    let ((), calls) = counted(|| {
        for isolated in held {
            table.lock().abort(isolated).expect("it is isolated");
        }
    });
    assert_eq!((calls.under_lock, CALLS.get()[1]), (0, user), "{calls:?}");
    table.lock().check().expect("no invariant is broken");
}
