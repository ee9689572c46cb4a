//! Forgotten values: the lock's guard, tokens, readers and their guards, and refusals.

use std::mem;

use furlong::check::Check;
use furlong::phys::Direct;
use furlong_spec::hostile::Ledger;

use crate::page::{State, Table, frames, is_usable, is_whole, lent, may};

fn states() -> impl Iterator<Item = State> {
    let bases = [0, 1 << 20, 1 << 30].into_iter().cycle();
    (1..=64).zip(bases).map(|(segments, base)| State {
        segments,
        base,
        seed: segments,
        is_started: true,
    })
}

#[test]
fn a_forgotten_guard_of_the_lock_keeps_nobody_from_the_tables_end() {
    let mut ledger = Ledger::new();
    for state in states() {
        let (mut table, watch) = state.table::<Direct>();
        let mut segments = table.lock();
        segments
            .plug(frames(1 << 32, (1 << 32) + 5))
            .expect("there is memory");
        mem::forget(segments);
        ledger.note("phys::Segments", "forget", state);
        // The lock can never be taken again. A caller with exclusive access does not need it.
        let mut segments = table.get_mut();
        segments.check().expect("no invariant is broken");
        segments
            .unplug(frames(1 << 32, (1 << 32) + 5))
            .expect("it may go");
        segments.check().expect("no invariant is broken");
        mem::forget(segments);
        drop(table);
        assert_eq!(watch.alive(), 0);
    }
    ledger.report(60);
}

#[test]
fn frames_of_forgotten_tokens_stay_isolated_until_they_are_adopted() {
    let mut ledger = Ledger::new();
    for state in states() {
        let (table, watch) = state.table::<Direct>();
        for (at, (start, end)) in state.ranges().enumerate() {
            let mut segments = table.lock();
            let token = segments.isolate(frames(start, end));
            ledger.note("phys::Isolated", at, state);
            if token.is_err() {
                assert_eq!(segments.len(), 1, "the last segment stays");
                continue;
            }
            may(token);
            let first = frames(start, end).start();
            let token = segments.adopt(first).expect("they are isolated");
            if at % 3 == 0 {
                segments.abort(token).expect("the token is its own");
            } else {
                may(segments.remove(token));
            }
            drop(segments);
            is_whole(&table, &watch);
        }
        is_usable(table, &watch);
    }
    ledger.report(1_900);
}

#[test]
fn readers_that_are_forgotten_keep_descriptors_and_no_writer() {
    let mut ledger = Ledger::new();
    for state in states() {
        let (table, watch) = state.table::<Direct>();
        let reader = table.rcu().register().expect("there is a slot");
        mem::forget(reader.enter());
        mem::forget(reader);
        for (at, (start, end)) in state.ranges().enumerate() {
            let mut segments = table.lock();
            segments
                .unplug(frames(start, end))
                .expect_err("a reader is inside");
            may(segments.isolate(frames(start, end)));
            segments.check().expect("no invariant is broken");
            drop(segments);
            ledger.note("rcu::Guard", at, state);
        }
        is_whole(&table, &watch);
        is_usable(table, &watch);
    }
    ledger.report(1_900);
}

#[test]
fn a_forgotten_refusal_or_table_loses_what_it_had_and_no_more() {
    let mut ledger = Ledger::new();
    for state in states().step_by(5) {
        let (table, watch) = state.table::<Direct>();
        let range = frames(1 << 31, (1 << 31) + 5000);
        may(table.lock().plug_hosted(range, lent(10)));
        ledger.note("phys::HostError", "forget", state);
        is_whole(&table, &watch);
        let alive = watch.alive();
        mem::forget::<Table<Direct>>(table);
        ledger.note("phys::SegmentTable", "forget", state);
        assert_eq!(watch.alive(), alive, "they are never dropped");
    }
    ledger.report(20);
}
