//! User code that re-enters the table, and descriptors that lie.

use std::cell::{Cell, RefCell};

use furlong::addr::{Address, Pfn};
use furlong::check::Check;
use furlong::phys::{Descriptor, SegmentTable};
use furlong_spec::Random;
use furlong_spec::hostile::Ledger;

use crate::page::{frames, may};

thread_local! {
    static TABLE: RefCell<Option<&'static SegmentTable<Liar>>> = const { RefCell::new(None) };
    static RANDOM: RefCell<Random> = const { RefCell::new(Random::new(1)) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static ALIVE: Cell<i64> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// A descriptor that may change the table when it is made, queried or dropped, and whose answers
/// are random.
struct Liar(Box<u64>);

fn below(end: u64) -> u64 {
    RANDOM.with_borrow_mut(|random| random.below(end))
}

/// Occasionally makes a random call, nested at most three deep.
fn meddle() {
    CALLS.set(CALLS.get() + 1);
    let Some(table) = TABLE.with_borrow(|table| *table) else {
        return;
    };
    if DEPTH.get() >= 3 || below(4) > 0 {
        return;
    }
    DEPTH.set(DEPTH.get() + 1);
    let start = below(120);
    let range = frames(start, start + 1 + below(9));
    match below(5) {
        0 => may(table.lock().plug(range)),
        1 => may(table.lock().unplug(range)),
        2 => may(table.lock().isolate(range)),
        3 => {
            let token = table.lock().adopt(range.start());
            may(token.map(|token| table.lock().remove(token)));
        }
        _ => {
            let token = table.lock().adopt(range.start());
            may(token.map(|token| table.lock().abort(token)));
        }
    }
    let segments = table.lock();
    let view = segments.view();
    for frame in start..start + 10 {
        let page = view.page_of(Pfn::new(frame));
        assert!(page.is_none_or(|page| *page.0 == frame));
    }
    drop(segments);
    DEPTH.set(DEPTH.get() - 1);
}

impl Descriptor for Liar {
    fn of_frame(frame: Pfn) -> Self {
        meddle();
        ALIVE.set(ALIVE.get() + 1);
        Self(Box::new(frame.raw()))
    }

    fn is_pinned(&self) -> bool {
        meddle();
        below(20) == 0
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
        assert!(*self.0 < 1 << 40, "it was made once");
        meddle();
    }
}

#[test]
fn user_code_may_change_the_table_that_calls_it() {
    let mut ledger = Ledger::new();
    for seed in 0..30 {
        let alive = ALIVE.get();
        RANDOM.set(Random::new(seed));
        let table: &'static SegmentTable<Liar> = Box::leak(Box::new(SegmentTable::new()));
        let mut segments = table.lock();
        segments.grow_on_heap();
        segments.plug(frames(1000, 1001)).expect("there is memory");
        segments.start().expect("there is memory");
        drop(segments);
        TABLE.set(Some(table));
        for step in 0..80 {
            let start = below(120);
            let range = frames(start, start + 1 + below(12));
            let calls = CALLS.get();
            may(table.lock().plug(range));
            may(table.lock().unplug(range));
            for call in 0..CALLS.get() - calls {
                ledger.note("phys::Descriptor", call, (seed, step));
            }
            let segments = table.lock();
            segments.check().expect("no invariant is broken");
            let frames: u64 = segments.iter().map(|segment| segment.len()).sum();
            assert_eq!(
                ALIVE.get() - alive,
                frames as i64,
                "seed {seed}, step {step}"
            );
        }
        TABLE.set(None);
    }
    ledger.report(10_000);
}
